"""The values of the statistics: estimates with intervals, verdicts and findings; nothing is computed here.

``None`` is "not measured", or for a bound "open": the data set no limit on that side.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from vendor_verifier.records.blame import BlameCounts
from vendor_verifier.records.estimate import NOT_MEASURED, Estimate
from vendor_verifier.records.money import BreakEven, Money, Price
from vendor_verifier.records.probes import ProbesTest

GateOutcome = Literal["PASS", "FAIL", "UNDECIDED"]
Percentile = Literal["p50", "p90", "p95", "p99"]
Comparison = Literal["<=", ">="]
PartName = Literal["length", "kind", "half", "provider"]
# What a gate can ask of a verdict, from good to bad.
Standing = Literal["as_sold", "doubtful", "not_as_sold", "unusable"]


class PairedTest(msgspec.Struct, frozen=True):
    """An exact binomial test: of ``n`` samples that tell two sides apart ``first`` went one way, ``second`` the other.

    ``p_mid`` counts only half of what was observed itself, see :mod:`vendor_verifier.stats.noise_floor`.
    """

    first: int
    second: int
    p_exact: float
    p_mid: float

    @property
    def n(self) -> int:
        return self.first + self.second


class NoiseFloor(msgspec.Struct, frozen=True):
    """The baseline's figures against itself: the ceiling no honest vendor can be expected to exceed.

    ``ceiling`` is the self-F1, ``schema`` its own schema accuracy, ``ttft_ratio`` the geometric mean of second run ÷
    first run. ``runs`` is the number of repetitions.
    """

    runs: int
    ceiling: Estimate
    schema: Estimate = NOT_MEASURED
    ttft_ratio: Estimate = NOT_MEASURED


class Gap(msgspec.Struct, frozen=True):
    """Delta = F1 − ceiling of one vendor with a paired interval, and the two tests on decisions.

    ``bias``: calls where the baseline does not (first) against misses (second). ``excess``: of the two answers of the
    baseline and the vendor's one, the odd one out is the vendor's (first) or one of the baseline's (second).
    """

    label: str
    delta: Estimate
    p_value: float | None
    bias: PairedTest
    excess: PairedTest

    @property
    def proof(self) -> float:
        """The larger p-value of F1 and excess disagreement; where no sample moves F1, as with a vendor that never
        calls, only the other."""
        return max(self.p_value or 0.0, self.excess.p_exact)


class Blocks(msgspec.Struct, frozen=True):
    """The grouping of samples for resampling, with its reasons.

    ``autocorrelation`` is lag 1 per column as ``label/metric``; ``correlation_time`` the longest found, in samples
    (``None`` for blocks that were given). ``enough`` is False below 30 blocks, or below 20 independent stretches of a
    figure: intervals may then be too narrow.
    """

    size: int
    count: int
    correlation_time: float | None
    autocorrelation: Mapping[str, float | None] = {}
    enough: bool = True


class Difference(msgspec.Struct, frozen=True):
    """``first`` − ``second`` on one metric with a simultaneous interval. ``differs`` when the interval excludes 0.

    ``stretches``: the independent stretches of the run where they are too few to tell a difference apart that
    independent requests would show; None otherwise.
    """

    metric: str
    first: str
    second: str
    value: float
    low: float
    high: float
    stretches: float | None = None

    @property
    def differs(self) -> bool:
        return self.low > 0 or self.high < 0


class FewStretches(msgspec.Struct, frozen=True):
    """A figure of ``label`` whose neighbours in time are alike, in a run with too few independent stretches.

    With ``other``: the difference from it, which independent requests would show and these do not.
    """

    metric: str
    label: str
    other: str | None
    stretches: float


class Overlap(msgspec.Struct, frozen=True):
    """The rows of two vendors sent while both were being asked, of all their rows; times are compared over them."""

    first: str
    second: str
    first_n: int
    first_of: int
    second_n: int
    second_of: int


class RankInterval(msgspec.Struct, frozen=True):
    """The ranks a vendor can have on a metric: 1 + #significantly better … V − #significantly worse."""

    label: str
    metric: str
    low: int
    high: int


class IrfInterval(msgspec.Struct, frozen=True):
    """IRF and the place it gives, with bootstrap intervals; ``p_first`` is the share of resamples the vendor leads."""

    label: str
    irf: Estimate
    p_first: float
    rank: Estimate


class RankingJudgement(msgspec.Struct, frozen=True):
    """The certain and uncertain parts of the order of one model's vendors.

    ``per_metric`` are rank intervals corrected within a metric, ``joint`` over all metrics together, as are
    ``differences``. ``irf_gaps`` hold leader − other. ``not_distinguishable`` lists pairs without any difference.
    ``overlaps`` are the pairs whose times were compared over less than all their rows.
    """

    labels: tuple[str, ...]
    metrics: tuple[str, ...]
    resamples: int
    blocks: Blocks
    estimates: Mapping[str, Mapping[str, Estimate]]
    per_metric: tuple[RankInterval, ...]
    joint: tuple[RankInterval, ...]
    differences: tuple[Difference, ...]
    tie_groups: Mapping[str, tuple[tuple[str, ...], ...]]
    irf: tuple[IrfInterval, ...]
    irf_gaps: Mapping[str, Estimate]
    not_distinguishable: frozenset[tuple[str, str]]
    overlaps: tuple[Overlap, ...] = ()


class Threshold(msgspec.Struct, frozen=True):
    """``metric[.percentile] comparison number``; with ``ceiling`` the number is what is added to the baseline's own."""

    metric: str
    comparison: Comparison
    number: float
    percentile: Percentile | None = None
    ceiling: bool = False

    @property
    def subject(self) -> str:
        return self.metric if self.percentile is None else f"{self.metric}.{self.percentile}"

    def __str__(self) -> str:
        size = repr(abs(self.number)).removesuffix(".0")
        sign = "-" if self.number < 0 else "+"
        if not self.ceiling:
            return f"{self.subject} {self.comparison} {size if sign == '+' else sign + size}"
        return f"{self.subject} {self.comparison} ceiling {sign} {size}"


class VerdictGate(msgspec.Struct, frozen=True):
    """``verdict >= doubtful``: the verdict on a vendor is at least as good as ``least``."""

    least: Standing
    metric: str = "verdict"

    def __str__(self) -> str:
        return f"verdict >= {self.least.replace('_', ' ')}"


class FindingGate(msgspec.Struct, frozen=True):
    """``no another_model_served``: nothing of that name was found about a vendor; ``metric`` is the finding's name."""

    metric: str

    def __str__(self) -> str:
        return f"no {self.metric}"


Gate = Threshold | VerdictGate | FindingGate


class GateVerdict(msgspec.Struct, frozen=True):
    """A gate held against a vendor; ``estimate`` is what a threshold was compared with, value − ceiling if relative."""

    label: str
    threshold: Gate
    outcome: GateOutcome
    estimate: Estimate
    reason: str


class ScoreDifference(msgspec.Struct, frozen=True):
    """``first`` − ``second`` in an evaluation's main score; ``p_value`` is None where no sample moves it."""

    suite: str
    first: str
    second: str
    delta: Estimate
    p_value: float | None


class AnswersPart(msgspec.Struct, frozen=True):
    """The answers test on a part of the questions; ``name`` is the kind of part, ``value`` which one."""

    name: PartName
    value: str
    n: int
    z: float
    p_value: float


class AnswersTest(msgspec.Struct, frozen=True):
    """Whether a vendor's answers could be the baseline's own, over ``n`` questions that the baseline answered twice.

    ``z`` > 0: unlike the baseline, < 0: nearer to it than it is to itself; ``p_value`` is two-sided and corrected for
    the number of vendors. ``equal`` is the share of answers byte for byte as the baseline's
    first, ``baseline_equal`` that of its second. ``seen_mixture`` is the share of answers from another model that would
    be seen in 8 of 10 such runs. ``parts`` tell where, each corrected for their number; ``since`` is the UTC time from
    which on, with ``since_p``. ``not_measurable`` names the reason where there is no test.
    """

    n: int
    z: float | None = None
    p_value: float | None = None
    equal: float | None = None
    baseline_equal: float | None = None
    seen_mixture: float | None = None
    parts: tuple[AnswersPart, ...] = ()
    since: str | None = None
    since_p: float | None = None
    not_measurable: str | None = None


class Finding(msgspec.Struct, frozen=True):
    """An observation with the numbers it rests on, in neutral words; ``samples`` are the clearest examples."""

    name: str
    label: str
    statement: str
    evidence: Mapping[str, float | int | str] = {}
    samples: tuple[str, ...] = ()


class ServedNames(msgspec.Struct, frozen=True):
    """The names in one entry's answers of a whole run: models and deployments (fingerprints), sorted."""

    models: tuple[str, ...] = ()
    fingerprints: tuple[str, ...] = ()


class ModelVerdict(msgspec.Struct, frozen=True):
    """Judgements of one model.

    ``intervals`` are by label, then metric; ``answers``, ``probes``, ``money``, ``prices``,
    ``blame`` and ``served`` by label.

    A renderer shows the parts that are there and leaves out the others.
    """

    ranking: RankingJudgement | None = None
    noise_floor: NoiseFloor | None = None
    gaps: tuple[Gap, ...] = ()
    gates: tuple[GateVerdict, ...] = ()
    findings: tuple[Finding, ...] = ()
    score_differences: tuple[ScoreDifference, ...] = ()
    answers: Mapping[str, AnswersTest] = {}
    probes: Mapping[str, ProbesTest] = {}
    intervals: Mapping[str, Mapping[str, Estimate]] = {}
    money: Mapping[str, Money] = {}
    prices: Mapping[str, Price] = {}
    break_evens: tuple[BreakEven, ...] = ()
    served: Mapping[str, ServedNames] = {}
    blame: Mapping[str, BlameCounts] = {}
    few_stretches: tuple[FewStretches, ...] = ()

    def few_stretches_of(self, label: str) -> dict[str, float]:
        """Metric → the fewest independent stretches among a vendor's own figure and its differences, if too few."""
        found: dict[str, float] = {}
        for each in self.few_stretches:
            if label in (each.label, each.other):
                found[each.metric] = min(each.stretches, found.get(each.metric, each.stretches))
        return found
