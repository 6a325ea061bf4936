"""What the statistics say of one model's vendors, gathered for the renderers; every part may be absent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from vendor_verifier.values.judgement import (
    BlameCounts,
    BreakEven,
    Estimate,
    Finding,
    Gap,
    GateVerdict,
    Money,
    NoiseFloor,
    Price,
    RankingJudgement,
    ServedNames,
)


@dataclass(frozen=True, slots=True)
class ModelVerdict:
    """Judgements of one model.

    ``intervals`` are by label, then metric; ``money``, ``prices``, ``blame`` and ``served`` by label.

    A renderer shows the parts that are there and says nothing of the others.
    """

    ranking: RankingJudgement | None = None
    noise_floor: NoiseFloor | None = None
    gaps: tuple[Gap, ...] = ()
    gates: tuple[GateVerdict, ...] = ()
    findings: tuple[Finding, ...] = ()
    intervals: Mapping[str, Mapping[str, Estimate]] = field(default_factory=dict)
    money: Mapping[str, Money] = field(default_factory=dict)
    prices: Mapping[str, Price] = field(default_factory=dict)
    break_evens: tuple[BreakEven, ...] = ()
    served: Mapping[str, ServedNames] = field(default_factory=dict)
    blame: Mapping[str, BlameCounts] = field(default_factory=dict)
