"""Judges a scored run by the statistics, model by model, from the tables of observations.

numpy and scipy are loaded when the first model is judged, so that sending does not wait for them.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import structs

from vendor_verifier.audit.answers import Answers, answers_findings, answers_tests
from vendor_verifier.audit.behaviour import conduct
from vendor_verifier.audit.billing import bill_findings, prompt_findings, rewordings
from vendor_verifier.audit.cost import break_evens, monthly_usd
from vendor_verifier.audit.failure_causes import NO_OUTCOMES, blame, outcomes_of
from vendor_verifier.audit.identity import served_names, who_answered
from vendor_verifier.audit.output_tokens import output_token_findings
from vendor_verifier.audit.streaming import streaming_findings
from vendor_verifier.gates.thresholds import COST_METRICS
from vendor_verifier.pipeline.gates import judge_panel, own_metrics, read_gates
from vendor_verifier.pipeline.prices import money_of, prices_of, with_costs
from vendor_verifier.pipeline.stored_observations import StoredTrials, trials_in
from vendor_verifier.records.blame import BlameCounts
from vendor_verifier.records.judgement import Finding, ModelVerdict, ServedNames, Threshold
from vendor_verifier.records.money import Money, Price
from vendor_verifier.records.sample import ChosenSamples, JoinedSamples, Samples
from vendor_verifier.records.score import ModelScore, Report
from vendor_verifier.scoring.answer_texts import AnswerTexts
from vendor_verifier.scoring.observation_table import ObservationTable
from vendor_verifier.stats.bootstrap import bootstrap
from vendor_verifier.stats.dependence import ENOUGH_STRETCHES
from vendor_verifier.stats.few_stretches import few_stretches
from vendor_verifier.stats.intervals import estimates_of
from vendor_verifier.stats.judge_ranking import judge_ranking
from vendor_verifier.stats.noise_floor import gap, noise_floor
from vendor_verifier.stats.panel import build_panel
from vendor_verifier.stats.ratio_table import Trials
from vendor_verifier.stats.score_differences import score_differences
from vendor_verifier.suites import compares
from vendor_verifier.words import english

if TYPE_CHECKING:
    import numpy as np

EntryKey = tuple[str, str]
_MOST_NAMED = 6


class _Model(msgspec.Struct, frozen=True):
    """One model's part of the run."""

    score: ModelScore
    stored: StoredTrials
    tables: Mapping[str, ObservationTable]
    entries: Mapping[str, Mapping[str, Any]]
    prices: Mapping[str, Price]
    samples: Samples
    answers: Mapping[str, Answers]

    @property
    def baseline(self) -> str | None:
        return self.score.baseline


def judge_report(
    report: Report,
    tables: Mapping[EntryKey, ObservationTable],
    samples: Mapping[str, Samples],
    texts: AnswerTexts,
    apart: Mapping[EntryKey, ObservationTable] = MappingProxyType({}),
) -> dict[str, ModelVerdict]:
    """The verdict on every model of ``report``; ``samples`` are by suite, without suites outside
    the ranking, ``texts`` the answers that are compared, ``apart`` the observations of suites
    outside the ranking.

    Neighbours in time may be correlated, so samples are resampled in blocks, in the order in which they were sent.

    The same records give the same numbers: the generator is seeded by the run's own seed.
    """
    probed = _probed(report, apart) if any(map(len, apart.values())) else {}
    if not any(samples.values()):
        return probed
    samples = in_sending_order(samples, tables.values())
    entries = {(entry["model"], entry["label"]): entry for entry in report.manifest.raw["entries"]}
    stored = trials_in(report.manifest, tables, samples, complete=report.complete)
    # Digests have no common beginnings, so a redacted run has no finding on them.
    asked = JoinedSamples([] if report.manifest.redacted else list(samples.values()))
    seed = report.manifest.settings.seed or 0
    verdicts = {}
    for model in report.models:
        labels = [vendor.label for vendor in model.vendors]
        part = _Model(
            score=model,
            stored=stored,
            tables={label: tables[model.model, label] for label in labels},
            entries={label: entries[model.model, label] for label in labels},
            prices=dict(prices_of(model.model, labels, entries, report.manifest.created_at)),
            samples=asked,
            answers={label: texts.kept.get((model.model, label), {}) for label in labels},
        )
        verdict, more = _judge_model(part, report, abs(seed)), probed.get(model.model, ModelVerdict())
        found = (*verdict.findings, *more.findings)
        verdicts[model.model] = structs.replace(verdict, probes=more.probes, findings=found)
    return verdicts


def _probed(report: Report, apart: Mapping[EntryKey, ObservationTable]) -> dict[str, ModelVerdict]:
    from vendor_verifier.pipeline.probes import judge_probes

    return judge_probes(report, apart)


def stretches_warnings(verdicts: Mapping[str, ModelVerdict]) -> Iterator[str]:
    """For each model, the figures and pairs that too few independent stretches say too little of."""
    for model, verdict in verdicts.items():
        own = [f"{each.metric} {each.label} ({each.stretches:.0f})" for each in verdict.few_stretches if not each.other]
        pairs = [
            f"{each.metric} {each.label} ≈ {each.other} ({each.stretches:.0f})"
            for each in verdict.few_stretches
            if each.other
        ]
        for name, found in (("warn_stretches", own), ("warn_stretches_pairs", pairs)):
            if found:
                more = f", … +{len(found) - _MOST_NAMED}" if len(found) > _MOST_NAMED else ""
                named = ", ".join(found[:_MOST_NAMED]) + more
                yield english(name, model=model, least=ENOUGH_STRETCHES, named=named)


def in_sending_order(samples: Mapping[str, Samples], tables: Iterable[ObservationTable]) -> dict[str, Samples]:
    """The samples by suite, each in the order in which it was first sent to any vendor; unsent ones come last."""
    moments = {suite: dict.fromkeys(found.ids, math.inf) for suite, found in samples.items()}
    for table in tables:
        for (suite, sample), sent_s in table.first_sent():
            own = moments.get(suite, {})
            if sent_s < own.get(sample, -math.inf):
                own[sample] = sent_s
    order = {suite: list(own.values()) for suite, own in moments.items()}
    return {
        suite: ChosenSamples(found, array("Q", sorted(range(len(found)), key=order[suite].__getitem__)))
        for suite, found in samples.items()
    }


def _judge_model(model: _Model, report: Report, seed: int) -> ModelVerdict:
    import numpy as np

    trials = [
        with_costs(each, model.tables[each.label], model.prices.get(each.label))
        for each in model.stored.trials.get(model.score.model, ())
    ]
    money = dict(_money(model))
    compared = _compare(model, trials, money, report, np.random.default_rng(seed)) if trials else ModelVerdict()
    about_names, served = _names(model)
    answers = answers_tests(
        None if report.manifest.redacted else model.answers,
        model.baseline,
        list(model.answers),
        np.random.default_rng(seed),
    )
    about_prompts = tuple(prompt_findings(trials, model.baseline, rewordings(model.tables)))
    found = chain(
        conduct(model.tables, model.baseline, compared.ranking, compared.gaps),
        about_prompts,
        bill_findings(model.tables, money, model.samples),
        about_names,
        answers_findings(answers, about_prompts),
        output_token_findings(model.answers, model.baseline),
        streaming_findings(model.tables, model.baseline),
    )
    return structs.replace(
        compared,
        answers=answers,
        findings=tuple(found),
        money=money,
        prices=model.prices,
        blame=_blame(model),
        served=served,
    )


def _compare(
    model: _Model, trials: Sequence[Trials], money: Mapping[str, Money], report: Report, rng: np.random.Generator
) -> ModelVerdict:
    """The verdict from the resamples: intervals, ranks, ceiling, gates, break-evens."""
    score, by_label = model.stored.score, {each.label: each for each in trials}
    baseline = by_label.get(model.baseline or "")
    name = None if baseline is None else baseline.label
    gates = read_gates(score.gates_of(model.score.model), model.stored.planned)
    # Those on verdicts and findings are judged when these are known.
    thresholds = [gate for gate in gates if isinstance(gate, Threshold)]
    wanted = [*report.rank_metrics, *model.stored.scores, *COST_METRICS, *own_metrics(trials, thresholds)]
    metrics = tuple(metric for metric in dict.fromkeys(wanted) if metric == "f1" or _held(trials, metric))
    panel = build_panel(trials, model.stored.samples, baseline=name, metrics=metrics, undecided=score.undecided)
    resampled = bootstrap(panel, rng)
    twice = baseline is not None and len(baseline.runs) > 1
    ranking = None
    if len(trials) > 1:
        ranking = judge_ranking(
            trials, model.stored.samples, rng, baseline=name, metrics=report.rank_metrics,
            unranked=model.score.unranked, baseline_f1=score.baseline_f1, undecided=score.undecided, k=report.k,
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
        score_differences=tuple(score_differences(panel, resampled, model.stored.scores)),
        few_stretches=tuple(few_stretches(panel, () if ranking is None else ranking.differences)),
    )  # fmt: skip


def _held(trials: Sequence[Trials], metric: str) -> bool:
    return any(each.ratios.get(metric) for each in trials)


def _names(model: _Model) -> tuple[list[Finding], dict[str, ServedNames]]:
    """The identity findings, and the served names by label; the rows are not kept."""
    rows = {label: table.answers() for label, table in model.tables.items()}
    asked = {label: str(entry.get("model_id") or model.score.model) for label, entry in model.entries.items()}
    limits = {label: _limit(entry.get("parameters") or {}) for label, entry in model.entries.items()}
    served = {
        label: served_names({(traits.served_model, traits.fingerprint) for traits in found.kinds()})
        for label, found in rows.items()
        if len(found)
    }
    return list(who_answered(rows, asked, limits, model.baseline)), served


def _limit(parameters: Mapping[str, Any]) -> float | None:
    """The ``max_tokens`` that an entry states, infinite for none; ``None`` where it states nothing."""
    stated = parameters.get("max_tokens", 0)
    return None if stated == 0 else stated if isinstance(stated, int) else math.inf


def _money(model: _Model) -> Iterator[tuple[str, Money]]:
    for vendor in model.score.vendors:
        spent = money_of(vendor, model.tables[vendor.label], model.prices.get(vendor.label))
        if spent is not None:
            volume = model.stored.score
            monthly = monthly_usd(spent, volume.monthly_requests, volume.monthly_tokens)
            yield vendor.label, structs.replace(spent, monthly_usd=monthly)


def _blame(model: _Model) -> dict[str, BlameCounts]:
    """Failure causes by label, of the evaluation that compares with the baseline, else of the first one."""
    suite = next(filter(compares, model.stored.planned), next(iter(model.stored.planned)))
    outcomes = {label: outcomes_of(table, suite) for label, table in model.tables.items() if len(table)}
    return {
        label: blame(
            own,
            NO_OUTCOMES if label == model.baseline else outcomes.get(model.baseline or "", NO_OUTCOMES),
            [other for name, other in outcomes.items() if name != label],
        )
        for label, own in outcomes.items()
    }
