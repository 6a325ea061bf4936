"""One level of load against the vendor's own unloaded answers: figures, limits, outcome; it decides no next level.

Failing under load depends on the moment and not on the question, so success is judged over requests (Clopper–Pearson),
percentiles over requests too (order statistics); both count requests for as many independent ones as their order in
time shows. Quality is paired with the same questions unloaded: F1 and schema
accuracy minus what the unloaded answers give against each other. F1 is taken over what was answered, because failures
have a limit of their own. A figure on the right side of a limit keeps the level up even where its interval reaches
over; one on the wrong side brings it down only where the interval does not.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import structs

from vendor_verifier.features.capacity.values import (
    Aspect,
    LevelOutcome,
    LimitOutcome,
    LimitVerdict,
    Point,
    Session,
    Stage,
)
from vendor_verifier.gates.judge import decide
from vendor_verifier.gates.thresholds import REQUEST_METRICS, meets
from vendor_verifier.metrics.base import distribution
from vendor_verifier.scoring.observation import Observation, Traits
from vendor_verifier.scoring.observation_table import ObservationTable
from vendor_verifier.stats.bootstrap import Resampled, bootstrap
from vendor_verifier.stats.intervals import LEVEL, estimate_of, gap_to, percentile_interval, rate_in_order, ratio
from vendor_verifier.stats.noise_floor import gap
from vendor_verifier.stats.panel import Panel, build_panel
from vendor_verifier.stats.ratio_table import Trials, trials_of
from vendor_verifier.suites import TRIGGER
from vendor_verifier.values.estimate import Estimate
from vendor_verifier.values.judgement import Threshold

if TYPE_CHECKING:
    import numpy as np

_REFERENCE, _LOADED = "unloaded", "loaded"
_RATES = ("success_rate", "first_attempt_success_rate")
_ASPECTS: tuple[Aspect, ...] = ("rate_limit", "success", "latency", "speed", "quality", "other")
# The aspects that lateness of our own process can spoil: success and times, not the content of answers, not refusals.
_OURS: frozenset[Aspect] = frozenset({"success", "latency", "speed"})


@dataclass(slots=True)
class LevelEvidence:
    """The evidence of one level's records; ``add`` them in any order.

    ``spans`` are (first sending, last end) in seconds of wall time by session.
    """

    table: ObservationTable = field(default_factory=ObservationTable)
    spans: dict[str, tuple[float, float]] = field(default_factory=dict)
    failures: Counter[str] = field(default_factory=Counter)
    rate_limited: int = 0
    repetitions: int = 0
    busy_s: float = 0.0
    output_tokens: float = 0.0

    def add(self, session: str, row: Observation) -> None:
        """Count one record of a session."""
        self.table.add(row)
        self.repetitions = max(self.repetitions, row.repetition + 1)
        if row.traits.failure is not None:
            self.failures[row.traits.failure] += 1
            self.rate_limited += row.traits.is_rate_limited
        for each in row.tries:
            if each.begin_s is not None and each.seconds is not None:
                first, last = self.spans.get(session, (each.begin_s, each.begin_s))
                self.spans[session] = (min(first, each.begin_s), max(last, each.begin_s + each.seconds))
                self.busy_s += each.seconds
            self.output_tokens += each.usage.output or 0 if each.answered else 0

    @property
    def seconds(self) -> float | None:
        """The seconds during which the level was sent, without the pauses between its sessions."""
        return sum(end - begin for begin, end in self.spans.values()) or None


def judge_level(
    stage: Stage,
    level: float,
    evidence: LevelEvidence,
    reference: LevelEvidence,
    sessions: Sequence[Session],
    thresholds: Sequence[Threshold],
    samples: Sequence[str],
    rng: np.random.Generator,
) -> Point:
    """The level's figures and what they mean; ``reference`` is the evidence of the unloaded level, perhaps the same.

    ``rng`` serves the bootstrap. ``samples`` are the planned ids in the order of sending.
    """
    quality = Quality.of(evidence, reference, thresholds, samples, rng)
    table = evidence.table
    is_limited = any(session.client_limited for session in sessions)
    limits = tuple(
        _verdict(one, estimate, evidence)
        for one in thresholds
        if not (one.is_relative and stage == "unloaded")
        for estimate in [_estimate(one, evidence, reference, quality)]
    )
    limits = tuple(sorted(limits, key=lambda limit: _ASPECTS.index(limit.aspect)))
    is_lost = any(limit.outcome == "unmeasured" and _is_lost(limit.threshold, table) for limit in limits)
    cut = next((session.cut for session in sessions if session.cut), None)
    succeeded, seconds = table.count(lambda traits: traits.succeeded), evidence.seconds
    # From the moment it was due, where there is one: the wait of a user who came at that moment.
    ttft = distribution(table.values("ttft_from_schedule_ms") or table.values("ttft_ms"))
    return Point(
        stage=stage,
        level=level,
        requests=len(table),
        succeeded=succeeded,
        rate_limited=evidence.rate_limited,
        failures=dict(evidence.failures.most_common()),
        outcome="cut" if cut else _outcome(limits, client_limited=is_limited, is_lost=is_lost),
        limits=limits,
        ttft_p50_ms=ttft.p50,
        ttft_p95_ms=ttft.p95,
        e2e_p50_ms=distribution(table.values("e2e_from_schedule_ms") or table.values("e2e_ms")).p50,
        tps=table.pooled("tps"),
        seconds=seconds,
        requests_per_s=succeeded / seconds if seconds else None,
        tokens_per_s=evidence.output_tokens / seconds if seconds and evidence.output_tokens else None,
        in_flight=evidence.busy_s / seconds if seconds else None,
        f1=quality.value("f1"),
        schema_accuracy=quality.value("schema_accuracy"),
        lag_p99_ms=_most(session.lag_p99_ms for session in sessions),
        core_share=_most(session.core_share for session in sessions),
        client_limited=is_limited,
        cut=cut,
    )


def _most(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


@dataclass(frozen=True)
class Quality:
    """Reference and level side by side over the same questions; the level is the reference itself when unloaded."""

    panel: Panel
    rng: np.random.Generator
    reference: Trials
    own: Trials

    @classmethod
    def of(
        cls,
        evidence: LevelEvidence,
        reference: LevelEvidence,
        thresholds: Sequence[Threshold],
        samples: Sequence[str],
        rng: np.random.Generator,
    ) -> Quality:
        first = _trials(_REFERENCE, reference, samples)
        both = (first,) if evidence is reference else (first, _trials(_LOADED, evidence, samples))
        metrics = tuple(dict.fromkeys(["f1", "schema_accuracy", *(one.metric for one in thresholds)]))
        samples = _as_sent(both[-1], samples)
        panel = build_panel(both, samples, baseline=_REFERENCE, metrics=metrics, undecided="exclude")
        return cls(panel, rng, first, both[-1])

    @cached_property
    def resampled(self) -> Resampled:
        """The resamples, drawn where something asks for them."""
        return bootstrap(self.panel, self.rng)

    def value(self, metric: str) -> float | None:
        return self.panel.value(self.own.label, metric)

    def estimate(self, metric: str) -> Estimate:
        return estimate_of(self.panel, self.resampled, self.own.label, metric, exact=True)

    def over_ceiling(self, metric: str, level: float = LEVEL) -> Estimate:
        """The level's figure minus what the unloaded answers give, paired by question."""
        if metric == "f1":
            return gap(self.panel, self.reference, self.own, level=level).delta
        return gap_to(self.panel, self.resampled, self.own.label, _REFERENCE, metric, level)

    def times(self, metric: str) -> Estimate:
        """The level's figure in times of the unloaded one."""
        return ratio(self.estimate(metric), estimate_of(self.panel, self.resampled, _REFERENCE, metric, exact=True))


def _trials(label: str, evidence: LevelEvidence, samples: Sequence[str]) -> Trials:
    return trials_of(label, evidence.table, {TRIGGER: samples}, repeat=evidence.repetitions, complete=False)


def _as_sent(trials: Trials, samples: Sequence[str]) -> Sequence[str]:
    """The samples in the order in which they were first sent; those that were not stand last."""
    first: dict[str, float] = {}
    for (sample, _), (moment, _) in (trials.sent or {}).items():
        first[sample] = min(moment, first.get(sample, moment))
    return sorted(samples, key=lambda sample: first.get(sample, math.inf))


def _estimate(threshold: Threshold, evidence: LevelEvidence, reference: LevelEvidence, quality: Quality) -> Estimate:
    if threshold.ceiling:
        return quality.over_ceiling(threshold.metric)
    if threshold.metric in _RATES:
        own = _rate(evidence.table, threshold.metric)
        return ratio(own, _rate(reference.table, threshold.metric)) if threshold.times else own
    if threshold.percentile is not None:
        own = _percentile(evidence.table, threshold)
        return ratio(own, _percentile(reference.table, threshold)) if threshold.times else own
    return quality.times(threshold.metric) if threshold.times else quality.estimate(threshold.metric)


def _rate(table: ObservationTable, metric: str) -> Estimate:
    """The share of requests, as they were sent, that count; one that was never sent stands where its record came."""
    import numpy as np

    traits, sent = table.traits(), table.sent()
    moments = np.where(np.isnan(sent), np.fmax.accumulate(sent), sent) if sent.size else sent
    order = moments.argsort(kind="stable").tolist()
    return rate_in_order([_COUNTS[metric](traits[place]) for place in order if traits[place].charged])


def _percentile(table: ObservationTable, threshold: Threshold) -> Estimate:
    """The percentile over requests as they were sent. Unloaded, a request is due the moment it is sent."""
    metric = REQUEST_METRICS[threshold.metric]
    values = table.values(metric) or table.values(metric.replace("_from_schedule", ""))
    assert threshold.percentile is not None
    return percentile_interval(values, float(threshold.percentile[1:]), in_order=True)


_COUNTS: Mapping[str, Callable[[Traits], bool]] = {
    "success_rate": lambda traits: traits.succeeded,
    "first_attempt_success_rate": lambda traits: traits.succeeded_first_try,
}


def _verdict(threshold: Threshold, found: Estimate, evidence: LevelEvidence) -> LimitVerdict:
    return LimitVerdict(threshold, _aspect(threshold, evidence), limit_outcome(threshold, found), found)


def limit_outcome(threshold: Threshold, found: Estimate) -> LimitOutcome:
    """Kept or broken where the whole interval lies on one side of the limit; else met or missed, by the figure."""
    decided = decide(threshold, found)
    if found.value is None:
        return "unmeasured"
    if decided != "UNDECIDED":
        return "kept" if decided == "PASS" else "broken"
    # The estimate of a relative threshold has the other figure taken off already.
    return "met" if meets(structs.replace(threshold, ceiling=False), found.value) else "missed"


def _aspect(threshold: Threshold, evidence: LevelEvidence) -> Aspect:
    metric = threshold.metric
    if metric in _RATES:
        return "rate_limit" if 2 * evidence.rate_limited > evidence.failures.total() else "success"
    if metric in ("f1", "schema_accuracy"):
        return "quality"
    return "latency" if metric.endswith("_ms") else "speed" if metric.endswith("tps") else "other"


def _is_lost(threshold: Threshold, table: ObservationTable) -> bool:
    """Whether our own lateness alone kept the limit from being measured."""
    column = REQUEST_METRICS.get(threshold.metric)
    return column is not None and table.is_lost(column)


def _outcome(limits: Sequence[LimitVerdict], *, client_limited: bool, is_lost: bool) -> LevelOutcome:
    """The outcome of a level. ``is_lost``: our own lateness kept a limit from being measured, so it stays undecided."""
    missed = [limit for limit in limits if limit.outcome in ("missed", "broken")]
    if not missed:
        return "client" if is_lost else "holds"
    if client_limited and all(limit.aspect in _OURS for limit in missed):
        return "client"
    return "broken" if any(limit.outcome == "broken" for limit in missed) else "undecided"
