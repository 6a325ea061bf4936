"""Everything the statistics say of a scored run, model by model; it reads no record and renders nothing.

What was counted while scoring comes in as columns, what bills and identities are judged by as audits. numpy and scipy
are loaded when the first model is judged, which no sending waits for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

from vendor_verifier.audit.cost import break_evens
from vendor_verifier.audit.failure_causes import blame, outcomes_of
from vendor_verifier.audit.identity import served_names
from vendor_verifier.gates.thresholds import COST_METRICS
from vendor_verifier.pipeline.audit import (
    Audit,
    Audits,
    Recounted,
    bill_findings,
    conduct,
    prompt_findings,
    who_answered,
)
from vendor_verifier.pipeline.gates import judge_panel, own_metrics, read_gates
from vendor_verifier.pipeline.prices import money_of, prices_of, with_costs
from vendor_verifier.pipeline.stored_observations import StoredTrials, trials_in
from vendor_verifier.scoring.observation_table import Columns
from vendor_verifier.stats.bootstrap import bootstrap, build_panel
from vendor_verifier.stats.intervals import estimates_of
from vendor_verifier.stats.judge_ranking import judge_ranking
from vendor_verifier.stats.noise_floor import gap, noise_floor
from vendor_verifier.stats.ratio_table import TRIGGER, Trials
from vendor_verifier.values.judgement import BlameCounts, Finding, ModelVerdict, Money, Price, ServedNames
from vendor_verifier.values.sample import JoinedSamples, Samples
from vendor_verifier.values.score import ModelScore, Report

if TYPE_CHECKING:
    import numpy as np

EntryKey = tuple[str, str]


@dataclass(frozen=True, slots=True)
class _Model:
    """One model's part of the run."""

    score: ModelScore
    stored: StoredTrials
    columns: Mapping[str, Columns]
    audits: Mapping[str, Audit]
    prices: Mapping[str, Price]
    samples: Samples
    recounted: Mapping[str, Mapping[str, tuple[int, int]]]

    @property
    def baseline(self) -> str | None:
        return self.score.baseline


def judge_report(
    report: Report,
    columns: Mapping[EntryKey, Columns],
    audits: Audits,
    recounts: Mapping[str, Recounted],
) -> dict[str, ModelVerdict]:
    """The verdict on every model of ``report``; ``audits`` are over its samples, ``recounts`` by model.

    Neighbours in time may be alike, so that everything is resampled in the order in which samples were sent.

    The same records give the same numbers: the generator is seeded by the run's own seed.
    """
    import numpy as np

    if not any(audits.samples.values()):
        return {}
    samples = audits.in_sending_order()
    stored = trials_in(report.manifest, columns, samples, complete=report.complete)
    # Digests begin like nothing: without the texts nothing is said of common beginnings.
    asked = JoinedSamples([] if report.manifest.get("redacted") else list(samples.values()))
    seed = int(report.manifest.get("settings", {}).get("seed") or 0)
    verdicts = {}
    for model in report.models:
        labels = [vendor.label for vendor in model.vendors]
        part = _Model(
            score=model,
            stored=stored,
            columns={label: columns[model.model, label] for label in labels},
            audits={label: audits.of(model.model, label) for label in labels},
            prices=dict(prices_of(model.model, labels, audits.entries, report.manifest)),
            samples=asked,
            recounted=recounts[model.model].vendors if model.model in recounts else {},
        )
        verdicts[model.model] = _judge_model(part, report, np.random.default_rng(abs(seed)))
    return verdicts


def _judge_model(model: _Model, report: Report, rng: np.random.Generator) -> ModelVerdict:
    trials = [
        with_costs(each, model.columns[each.label], model.audits[each.label], model.prices.get(each.label))
        for each in model.stored.trials.get(model.score.model, ())
    ]
    money = dict(_money(model))
    compared = _compare(model, trials, money, report, rng) if trials else ModelVerdict()
    about_names, served = _names(model)
    found = chain(
        conduct(model.columns, model.baseline, compared.ranking, compared.gaps),
        prompt_findings(trials, model.baseline),
        bill_findings(model.audits, money, model.samples, model.recounted),
        about_names,
    )
    return replace(
        compared,
        findings=tuple(found),
        money=money,
        prices=model.prices,
        blame=_blame(model),
        served=served,
    )


def _compare(
    model: _Model, trials: Sequence[Trials], money: Mapping[str, Money], report: Report, rng: np.random.Generator
) -> ModelVerdict:
    """Everything that is resampled: intervals, ranks, ceiling, gates, break-evens."""
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
    return ModelVerdict(
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
        break_evens=break_evens(money, model.prices, resampled),
    )  # fmt: skip


def _held(trials: Sequence[Trials], metric: str) -> bool:
    return any(each.ratios.get(metric) for each in trials)


def _names(model: _Model) -> tuple[list[Finding], dict[str, ServedNames]]:
    """What names, ids and bytes say, and which names there were by label; the rows are let go again."""
    rows = {label: list(audit.rows) for label, audit in model.audits.items()}
    return list(who_answered(rows)), {label: served_names(found) for label, found in rows.items() if found}


def _money(model: _Model) -> Iterator[tuple[str, Money]]:
    for vendor in model.score.vendors:
        spent = money_of(vendor, model.audits[vendor.label], model.prices.get(vendor.label))
        if spent is not None:
            yield vendor.label, spent


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
