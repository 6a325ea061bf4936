"""The values of a history of runs: nightly figures, changes of level, verdicts; nothing is judged here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from vendor_verifier.records.estimate import Estimate
from vendor_verifier.records.judgement import Finding, GateVerdict, ServedNames
from vendor_verifier.records.verdict import Status, VendorVerdict

TrendVerdict = Literal["no_verdict", "steady", "warning", "regression", "improvement"]
Scale = Literal["ratio", "difference"]


class HistoryEntry(msgspec.Struct, frozen=True):
    """One vendor of one stored run. ``figures``: metric → (value, how many records it was taken over).

    ``verdict`` is None in runs that were added before verdicts were kept.
    """

    model: str
    label: str
    vendor: str
    model_id: str
    is_baseline: bool
    planned: int
    succeeded: int
    figures: Mapping[str, tuple[float, int]] = {}
    served: ServedNames = msgspec.field(default_factory=ServedNames)
    verdict: Status | None = None


class HistoryRun(msgspec.Struct, frozen=True):
    """One scored run as the history keeps it.

    ``at`` is UTC, ISO 8601, when it began. ``question`` is a digest of what was asked (samples, suites, repetitions):
    only runs that share it belong in one series. ``folder`` is where it lay when it was added.
    """

    run: str
    at: str
    folder: str
    question: str
    complete: bool
    version: str
    entries: tuple[HistoryEntry, ...] = ()


class Night(msgspec.Struct, frozen=True):
    """One run's figure in a series. ``relative`` is the value with the others' common shift of that run taken out.

    ``verdict`` is the one on the vendor in that run, None where it is not known.
    """

    run: str
    at: str
    value: float
    n: int
    relative: float
    verdict: Status | None = None


class LevelChange(msgspec.Struct, frozen=True):
    """A change of level from ``position`` (index into the series) on.

    ``effect`` is the Hodges–Lehmann shift after − before, of the relative series: a share of the old level on the
    ``ratio`` scale (+0.15 = 15 % more), the plain difference on the other. ``raw_effect`` is the same before the
    others' shift is taken out. ``worse`` says whether it goes the wrong way for this metric.
    """

    position: int
    run: str
    effect: float
    raw_effect: float
    p_value: float
    worse: bool


class Trend(msgspec.Struct, frozen=True):
    """The judgement of one vendor on one metric over its history.

    ``regression``: the level got worse within the last runs and has not come back. ``warning``: the newest run alone
    is far off. ``no_verdict``: fewer runs than a verdict needs. ``z`` is the newest run's robust z, positive = worse.
    """

    model: str
    label: str
    metric: str
    scale: Scale
    verdict: TrendVerdict
    reason: str
    nights: tuple[Night, ...] = ()
    changes: tuple[LevelChange, ...] = ()
    z: float | None = None


CheckStatus = Literal["passed", "failed", "incomplete", "interrupted", "error"]


class CheckResult(msgspec.Struct, frozen=True):
    """``gates`` and ``verdicts`` stand with their model; ``unfinished`` vendors and ``notices`` are sentences.

    ``leaders``: model → the one vendor to take, where there is one; ``identity``: by model, who answers under other
    names than in the last run, or unlike the baseline over the nights, which fails nothing. ``error`` is why nothing
    could be checked.
    """

    status: CheckStatus
    exit_code: int
    run: str | None = None
    folder: str | None = None
    gates: tuple[tuple[str, GateVerdict], ...] = ()
    trends: tuple[Trend, ...] = ()
    unfinished: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    leaders: Mapping[str, str] = {}
    identity: tuple[tuple[str, Finding], ...] = ()
    error: str | None = None
    verdicts: tuple[tuple[str, VendorVerdict], ...] = ()


ChangeVerdict = Literal["improved", "same", "worse", "undecided"]


class MetricChange(msgspec.Struct, frozen=True):
    """One figure of one vendor, before and after, over the ``effect.n`` samples that both runs measured.

    ``effect`` is the paired change with its interval: a share of ``before`` on the ``ratio`` scale (+0.15 = 15 % more),
    after − before on the other. ``shared`` is the other vendors' own change, already taken out of ``effect``.
    """

    model: str
    label: str
    metric: str
    scale: Scale
    before: float
    after: float
    effect: Estimate
    verdict: ChangeVerdict
    shared: float = 0.0


class Flip(msgspec.Struct, frozen=True):
    """One sample that ended otherwise; ``what`` is ``success``, ``called``, ``schema`` or a suite's name."""

    model: str
    label: str
    what: str
    sample: str
    repetition: int
    before: str
    after: str


class SettingChange(msgspec.Struct, frozen=True):
    """A part of the question that differs; ``None`` where one run has no such thing."""

    where: str
    before: str | None
    after: str | None


class VerdictChange(msgspec.Struct, frozen=True):
    """The verdict on one vendor in two runs; None where a run was scored before there were verdicts."""

    model: str
    label: str
    before: Status | None
    after: Status | None


class RunComparison(msgspec.Struct, frozen=True):
    """The comparison of two runs.

    ``flip_counts``: ``model / label / what`` → how many samples. ``identity``: by model, whose answers bear other
    names; ``verdicts`` are those on the vendors of both runs.
    """

    before: str
    after: str
    common_samples: int
    settings: tuple[SettingChange, ...] = ()
    changes: tuple[MetricChange, ...] = ()
    flips: tuple[Flip, ...] = ()
    flip_counts: Mapping[str, int] = {}
    notes: tuple[str, ...] = ()
    identity: tuple[tuple[str, Finding], ...] = ()
    verdicts: tuple[VerdictChange, ...] = ()
