"""Vendors with figures chosen by hand and what the statistics said of them, as the verdict takes both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sample_reports import vendor

from vendor_verifier.audit.choice import advise
from vendor_verifier.audit.verdict_table import Subject
from vendor_verifier.records.estimate import Estimate
from vendor_verifier.records.judgement import (
    Difference,
    Finding,
    Gap,
    GateOutcome,
    GateVerdict,
    IrfInterval,
    ModelVerdict,
    NoiseFloor,
    PairedTest,
    RankingJudgement,
    ScoreDifference,
    Threshold,
)
from vendor_verifier.records.money import Money
from vendor_verifier.records.score import ModelScore, SuiteScore, TriggerCounts, VendorScore
from vendor_verifier.records.verdict import Advice

BASELINE = "official"
N = 300
_RANKING = {
    "labels": (), "metrics": (), "resamples": 0, "blocks": None, "estimates": {}, "per_metric": (), "joint": (),
    "tie_groups": {}, "irf_gaps": {}, "not_distinguishable": frozenset(),

}  # fmt: skip


def asked(label: str, answered: int = N, of: int = N, **changes: object) -> VendorScore:
    """A vendor that answered so many of its requests, the others failing by its own doing."""
    failures = changes.pop("failures", {"http_5xx": of - answered} if answered < of else {})
    base = {
        "is_baseline": label == BASELINE,
        "planned": of,
        "recorded": of,
        "succeeded": answered,
        "succeeded_first_try": answered,
        "failures": failures,
        "measured": {"avg_tokens": answered},
        "trigger": TriggerCounts(tp=min(100, answered), fp=0, fn=0, tn=max(0, answered - 100)),
        "suites": {},
        "served_models": {"acme/model-1": answered},
        "irf": 0.5,
        "irf_metrics": 6,
    }
    return vendor(label, **{**base, **changes})


def found(name: str, label: str = "v", samples: tuple[str, ...] = (), **evidence: float | str) -> Finding:
    """A finding with its evidence; what it says is its name."""
    return Finding(name, label, f"says {name}", evidence, samples)


def gap(label: str = "v", *, value: float = 0.0, high: float = 0.02, p_value: float = 1.0) -> Gap:
    """An F1 that lies by ``value`` beside the ceiling, with one p-value for both tests."""
    delta = Estimate(value, value - 0.05, high, N)
    return Gap(label, delta, p_value, PairedTest(0, 0, 1.0, 1.0), PairedTest(0, 0, p_value, p_value))


def gate(outcome: GateOutcome, metric: str = "f1", label: str = "v") -> GateVerdict:
    return GateVerdict(label, Threshold(metric, ">=", 0.9), outcome, Estimate(0.5, 0.4, 0.6), "too low")


def score_difference(
    first: str, second: str, value: float, p_value: float | None, *, n: int = N, suite: str = "toolbench"
) -> ScoreDifference:
    """``first`` − ``second`` with an interval of 3 points on either side."""
    return ScoreDifference(suite, first, second, Estimate(value, value - 0.03, value + 0.03, n), p_value)


def ranking(ranks: Mapping[str, tuple[float, float]], differences: Sequence[Difference] = ()) -> RankingJudgement:
    """A judged order with these rank intervals."""
    irf = tuple(
        IrfInterval(label, Estimate(0.5), 0.5, Estimate(low, low, high)) for label, (low, high) in ranks.items()
    )
    return RankingJudgement(**_RANKING, irf=irf, differences=tuple(differences))  # type: ignore[arg-type]


def scores(value: float | None = 0.9) -> dict[str, SuiteScore]:
    """The result of one evaluation."""
    return {"toolbench": SuiteScore(N, N, {"resolved": value}, {"resolved": N})}


def paid(per_valid_call_usd: float | None) -> Money:
    return Money(1.0, 0.0, 1.0, per_valid_call_usd, N, N, N, 0)


@dataclass(frozen=True)
class World:
    """One model's vendors, the baseline first, and all that is known of them."""

    vendors: tuple[VendorScore, ...]
    findings: tuple[Finding, ...] = ()
    gaps: tuple[Gap, ...] = ()
    gates: tuple[GateVerdict, ...] = ()
    differences: tuple[ScoreDifference, ...] = ()
    ranking: RankingJudgement | None = None
    money: Mapping[str, Money] = field(default_factory=dict)
    ceiling: float | None = 1.0

    @property
    def model(self) -> ModelScore:
        labels = [each.label for each in self.vendors if each.is_baseline]
        return ModelScore("m", labels[0] if labels else None, self.vendors)

    @property
    def verdict(self) -> ModelVerdict:
        floor = None if self.ceiling is None else NoiseFloor(2, Estimate(self.ceiling))
        return ModelVerdict(
            ranking=self.ranking,
            noise_floor=floor,
            gaps=self.gaps,
            gates=self.gates,
            findings=self.findings,
            score_differences=self.differences,
            money=self.money,
        )

    def about(self, label: str = "v") -> Subject:
        """One vendor as the verdict table sees it."""
        by_label = {each.label: each for each in self.vendors}
        reference = by_label.get(BASELINE) if label != BASELINE else None
        return Subject(by_label[label], self.model, self.verdict, reference)

    @property
    def advice(self) -> Advice:
        return advise(self.model, self.verdict)


def field_of(*labels: str, **more: object) -> World:
    """Faultless vendors beside the baseline, each held against the ceiling."""
    vendors = (asked(BASELINE), *(asked(label) for label in labels))
    base: dict[str, object] = {"gaps": tuple(gap(label) for label in labels)}
    return World(vendors, **{**base, **more})  # type: ignore[arg-type]
