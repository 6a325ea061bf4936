"""Everything the statistics say of a scored run, model by model; it reads no record and renders nothing.

What was counted while scoring comes in as columns, what bills and identities are judged by as audits. numpy and scipy
are loaded when the first model is judged, which no sending waits for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from vendor_verifier.compare.billing import (
    cache_finding,
    hidden_reasoning_finding,
    prompt_pairs,
    prompt_token_findings,
    prompt_tokens,
    same_counter_findings,
)
from vendor_verifier.compare.blame import blame, outcomes_of
from vendor_verifier.compare.bootstrap import bootstrap
from vendor_verifier.compare.columns import Columns
from vendor_verifier.compare.estimates import estimates_of
from vendor_verifier.compare.identity import identity_findings, pass_through_findings
from vendor_verifier.compare.judging import judge_ranking
from vendor_verifier.compare.money import cost_ratios, money
from vendor_verifier.compare.noise_floor import gap, noise_floor
from vendor_verifier.compare.panel import build_panel
from vendor_verifier.compare.thresholds import COST_METRICS
from vendor_verifier.compare.trials import TRIGGER, Trials, Unit
from vendor_verifier.errors import UsageError
from vendor_verifier.pipeline.auditing import Audit, Audits
from vendor_verifier.pipeline.gating import judge_panel, own_metrics, read_gates
from vendor_verifier.pipeline.stored_trials import StoredTrials, trials_in
from vendor_verifier.prices import listed_price, price_from_config
from vendor_verifier.values.judgement import BlameCounts, Finding, Money, Price
from vendor_verifier.values.sample import Sample
from vendor_verifier.values.score import ModelScore, Report, VendorScore
from vendor_verifier.values.verdict import ModelVerdict

if TYPE_CHECKING:
    import numpy as np

EntryKey = tuple[str, str]
_GOOD_CALLS = ("valid", "empty_arguments")


@dataclass(frozen=True, slots=True)
class _Model:
    """One model's part of the run."""

    score: ModelScore
    stored: StoredTrials
    columns: Mapping[str, Columns]
    audits: Mapping[str, Audit]
    prices: Mapping[str, Price]

    @property
    def baseline(self) -> str | None:
        return self.score.baseline


def judge_report(
    report: Report, columns: Mapping[EntryKey, Columns], samples: Mapping[str, Sequence[Sample]], audits: Audits
) -> dict[str, ModelVerdict]:
    """The verdict on every model of ``report``; ``samples`` by suite, in sending order, without those apart.

    The same records give the same numbers: the generator is seeded by the run's own seed.
    """
    import numpy as np

    if not any(samples.values()):
        return {}
    stored = trials_in(report.manifest, columns, samples, complete=report.complete)
    seed = int(report.manifest.get("settings", {}).get("seed") or 0)
    verdicts = {}
    for model in report.models:
        labels = [vendor.label for vendor in model.vendors]
        part = _Model(
            score=model,
            stored=stored,
            columns={label: columns[model.model, label] for label in labels},
            audits={label: audits.of(model.model, label) for label in labels},
            prices=dict(_prices(model.model, labels, audits.entries, report.manifest)),
        )
        verdicts[model.model] = _judge_model(part, report, np.random.default_rng(abs(seed)))
    return verdicts


def _judge_model(model: _Model, report: Report, rng: np.random.Generator) -> ModelVerdict:
    trials = [_with_costs(each, model) for each in model.stored.trials.get(model.score.model, ())]
    others = ModelVerdict(
        findings=tuple(_findings(model, trials)),
        money={vendor.label: spent for vendor in model.score.vendors if (spent := _money(vendor, model)) is not None},
        blame=_blame(model),
    )
    if not trials:
        return others
    score, by_label = model.stored.score, {each.label: each for each in trials}
    baseline = by_label.get(model.baseline or "")
    name = None if baseline is None else baseline.label
    thresholds = read_gates(score.gates_of(model.score.model), model.stored.planned)
    wanted = [*report.rank_metrics, *model.stored.scores, *COST_METRICS, *own_metrics(trials, thresholds)]
    metrics = tuple(metric for metric in dict.fromkeys(wanted) if metric == "f1" or _held(trials, metric))
    panel = build_panel(trials, model.stored.samples, baseline=name, metrics=metrics, undecided=score.undecided)
    resampled = bootstrap(panel, rng)
    twice = baseline is not None and len(baseline.runs) > 1
    ranking = None
    if len(trials) > 1:
        ranking = judge_ranking(
            trials, model.stored.samples, rng, baseline=name, metrics=report.rank_metrics,
            baseline_f1=score.baseline_f1, undecided=score.undecided, k=report.k,
        )  # fmt: skip
    return replace(
        others,
        ranking=ranking,
        noise_floor=noise_floor(panel, resampled, baseline) if twice and baseline is not None else None,
        gaps=tuple(gap(panel, baseline, each) for each in trials if each is not baseline and baseline.runs)
        if twice and baseline is not None
        else (),
        gates=judge_panel(
            panel, resampled, trials, baseline, thresholds,
            {each.label: model.stored.requests.get((model.score.model, each.label), {}) for each in trials},
        )
        if thresholds
        else (),
        intervals=estimates_of(panel, resampled),
    )  # fmt: skip


def _held(trials: Sequence[Trials], metric: str) -> bool:
    return any(each.ratios.get(metric) for each in trials)


def _with_costs(trials: Trials, model: _Model) -> Trials:
    """The same with what its answers cost, if its price is known."""
    price = model.prices.get(trials.label)
    if price is None:
        return trials
    valid: dict[Unit, int] = {}
    for (_, sample, repetition), facts in model.columns[trials.label].rows.items():
        good = sum(each in _GOOD_CALLS for each in facts.classes)
        valid[sample, repetition] = valid.get((sample, repetition), 0) + good
    costs = cost_ratios(model.audits[trials.label].attempts, price, valid, valid)
    return replace(trials, ratios={**trials.ratios, **costs})


def _money(vendor: VendorScore, model: _Model) -> Money | None:
    price = model.prices.get(vendor.label)
    if price is None or not vendor.recorded:
        return None
    schema = vendor.schema
    valid = schema.valid_strict if schema.policy == "strict" else schema.valid_lenient
    return money(model.audits[vendor.label].attempts, price, requests=vendor.recorded, valid_calls=valid)


def _blame(model: _Model) -> dict[str, BlameCounts]:
    """Of the evaluation that compares with the baseline, or of the first there is."""
    suite = TRIGGER if TRIGGER in model.stored.planned else next(iter(model.stored.planned))
    outcomes = {label: outcomes_of(columns, suite) for label, columns in model.columns.items() if columns.rows}
    return {
        label: blame(
            own,
            None if label == model.baseline else outcomes.get(model.baseline or ""),
            [other for name, other in outcomes.items() if name != label],
        )
        for label, own in outcomes.items()
    }


def _findings(model: _Model, trials: Sequence[Trials]) -> Iterator[Finding]:
    by_label = {each.label: each for each in trials}
    baseline = by_label.get(model.baseline or "")
    repeating = False
    for label, audit in model.audits.items():
        if baseline is not None and label in by_label and label != baseline.label:
            yield from prompt_token_findings(label, prompt_pairs(baseline, by_label[label]))
        bill = (
            hidden_reasoning_finding(label, ((key[1], *told) for key, told in audit.reasoning.items())),
            cache_finding(label, ((key[1], *told) for key, told in audit.cached.items())),
        )
        yield from (finding for finding in bill if finding is not None)
        own = identity_findings(label, list(audit.rows.values()))
        repeating = repeating or any(finding.name == "answers_repeated" for finding in own)
        yield from own
    counts = {label: prompt_tokens(each) for label, each in by_label.items()}
    yield from same_counter_findings(counts, model.baseline)
    for finding in pass_through_findings({label: audit.rows.values() for label, audit in model.audits.items()}):
        # Where a vendor answers itself byte for byte, equal bytes elsewhere say nothing about a common source.
        if finding.name != "identical_answers" or not repeating:
            yield finding


def _prices(
    model: str, labels: Sequence[str], entries: Mapping[EntryKey, Mapping[str, Any]], manifest: Mapping[str, Any]
) -> Iterator[tuple[str, Price]]:
    """What is known of prices; a price that cannot be meant was refused before anything was sent."""
    at = _moment(manifest.get("created_at"))
    for label in labels:
        entry = entries.get((model, label), {})
        url = str(entry.get("url") or "")
        price = None
        if entry.get("price"):
            try:
                price = price_from_config(entry["price"], f"{model}: {label}")
            except UsageError:
                continue
        elif url and not url.startswith("sim://"):
            price = listed_price(str(entry.get("model_id") or ""), url, str(entry.get("vendor") or ""), at)
        if price is not None:
            yield label, price


def _moment(told: object) -> datetime:
    """When the run began, for prices that change; an unreadable time is the oldest there is."""
    try:
        found = datetime.fromisoformat(str(told))
    except ValueError:
        return datetime.min.replace(tzinfo=UTC)
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
