"""Two runs beside each other: what was measured, what changed in the question, which samples flipped; plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from vendor_verifier.values.judgement import Estimate, Finding
from vendor_verifier.values.trend import Scale

ChangeVerdict = Literal["improved", "same", "worse", "undecided"]


@dataclass(frozen=True, slots=True)
class MetricChange:
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


@dataclass(frozen=True, slots=True)
class Flip:
    """One sample that ended otherwise: ``what`` is ``success``, ``called``, ``schema`` or a suite's name."""

    model: str
    label: str
    what: str
    sample: str
    repetition: int
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class SettingChange:
    """Something of the question that is not the same; ``None`` where one run has no such thing."""

    where: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class RunComparison:
    """Everything that can be said about two runs.

    ``flip_counts``: ``model / label / what`` → how many samples. ``identity``: by model, whose answers bear other
    names.
    """

    before: str
    after: str
    common_samples: int
    settings: tuple[SettingChange, ...] = ()
    changes: tuple[MetricChange, ...] = ()
    flips: tuple[Flip, ...] = ()
    flip_counts: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    identity: tuple[tuple[str, Finding], ...] = ()
