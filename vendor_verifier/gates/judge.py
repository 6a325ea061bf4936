"""PASS, FAIL or UNDECIDED of a threshold, by interval; the point estimate alone never decides.

PASS: every value in the interval meets the threshold. FAIL: none does. UNDECIDED: some do, or nothing was measured:
more samples are needed, and :func:`samples_to_decide` estimates how many.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from vendor_verifier.gates.thresholds import COST_METRICS
from vendor_verifier.records.estimate import Estimate
from vendor_verifier.records.judgement import (
    Finding,
    FindingGate,
    Gate,
    GateOutcome,
    GateVerdict,
    Threshold,
    VerdictGate,
)
from vendor_verifier.records.score import VendorScore
from vendor_verifier.records.verdict import BEST_FIRST, VendorVerdict
from vendor_verifier.stats.ratio_table import TIMES
from vendor_verifier.words import english

_MOST_SAMPLES = 1_000_000
# Rates that an outage lowers for as long as it lasts.
_ANSWERED = frozenset({"success_rate", "first_attempt_success_rate"})


def judge_gate(
    label: str, threshold: Threshold, estimates: Mapping[str, Estimate], gaps: Mapping[str, Estimate]
) -> GateVerdict:
    """The verdict on one vendor by one threshold.

    ``estimates``: subject (``f1``, ``avg_ttft_ms.p95``) → the vendor's figure; ``gaps``: metric → the vendor's figure
    minus the baseline's own, for thresholds relative to the ceiling. Rates should come with exact intervals.
    """
    if threshold.ceiling:
        found = gaps.get(threshold.metric, Estimate(None))
    else:
        found = estimates.get(threshold.subject, Estimate(None))
    outcome = decide(threshold, found)
    return GateVerdict(label, threshold, outcome, found, _reason(threshold, found, outcome))


def judge_gates(
    label: str, thresholds: Sequence[Threshold], estimates: Mapping[str, Estimate], gaps: Mapping[str, Estimate]
) -> tuple[GateVerdict, ...]:
    """The verdicts on one vendor by all thresholds, in their order."""
    return tuple(judge_gate(label, threshold, estimates, gaps) for threshold in thresholds)


def judge_status(gate: VerdictGate, verdict: VendorVerdict) -> GateVerdict:
    """The outcome of a gate on the verdict; too little evidence leaves it undecided."""
    outcome: GateOutcome = "UNDECIDED"
    if verdict.status != "too_little_evidence":
        outcome = "PASS" if BEST_FIRST.index(verdict.status) <= BEST_FIRST.index(gate.least) else "FAIL"
    reason = english("gate_status", status=english(f"status_{verdict.status}"), reason=verdict.reason)
    return GateVerdict(verdict.label, gate, outcome, Estimate(None), reason)


def judge_finding(gate: FindingGate, vendor: VendorScore, findings: Sequence[Finding]) -> GateVerdict:
    """The outcome of a gate on one finding; a vendor that answered nothing leaves it undecided."""
    found = next((each for each in findings if (each.name, each.label) == (gate.metric, vendor.label)), None)
    if found is not None:
        return GateVerdict(vendor.label, gate, "FAIL", Estimate(None), found.statement)
    outcome: GateOutcome = "PASS" if vendor.succeeded else "UNDECIDED"
    return GateVerdict(vendor.label, gate, outcome, Estimate(None), english("gate_not_found", n=vendor.succeeded))


def overall(verdicts: Sequence[GateVerdict]) -> GateOutcome:
    """FAIL if any fails, else UNDECIDED if any is, else PASS."""
    outcomes = {verdict.outcome for verdict in verdicts}
    return "FAIL" if "FAIL" in outcomes else "UNDECIDED" if "UNDECIDED" in outcomes else "PASS"


def decide(threshold: Threshold, estimate: Estimate) -> GateOutcome:
    """The outcome for one interval, whose open sides reach to infinity; a value on the threshold meets it."""
    if estimate.value is None:
        return "UNDECIDED"
    low = -math.inf if estimate.low is None else estimate.low
    high = math.inf if estimate.high is None else estimate.high
    if threshold.comparison == "<=":
        return "PASS" if high <= threshold.number else "FAIL" if low > threshold.number else "UNDECIDED"
    return "PASS" if low >= threshold.number else "FAIL" if high < threshold.number else "UNDECIDED"


def shows_no_outage(threshold: Threshold, found: Estimate, outcome: GateOutcome) -> bool:
    """Whether a rate of answers passes in a run that shows no outage, so that it cannot tell how long one lasts."""
    at_least = threshold.metric in _ANSWERED and threshold.comparison == ">="
    return outcome == "PASS" and at_least and found.value is not None and found.effective is None


def _why_not(threshold: Threshold) -> str:
    """The reason for a missing figure, as far as the threshold alone shows it; "" where it does not."""
    if threshold.ceiling:
        return english("gate_not_overlapping" if threshold.metric in TIMES else "gate_no_ceiling")
    return english("gate_no_price") if threshold.metric in COST_METRICS else ""


def _reason(threshold: Threshold, found: Estimate, outcome: GateOutcome) -> str:
    """The reason of an outcome in words: the interval, and the samples needed where it is undecided."""
    what = english("gate_over_ceiling", subject=threshold.subject) if threshold.ceiling else threshold.subject
    if found.value is None:
        return english("gate_not_measured", what=what, why=_why_not(threshold))
    low = "−∞" if found.low is None else f"{found.low:.6g}"
    high = "∞" if found.high is None else f"{found.high:.6g}"
    figures = {"value": f"{found.value:.6g}", "level": f"{found.level:.0%}", "low": low, "high": high, "size": found.n}
    interval = english("gate_interval", what=what, **figures)
    if found.effective is not None:
        interval = english("gate_alike", said=interval, effective=f"{found.effective:.0f}")
    elif shows_no_outage(threshold, found, outcome):
        interval = english("gate_no_outage", said=interval)
    if outcome != "UNDECIDED":
        return interval
    if not threshold.ceiling and found.value == threshold.number == 1.0:
        return english("gate_never_sure", said=interval)
    enough = samples_to_decide(threshold, found)
    more = english("gate_more") if enough is None else english("gate_enough", enough=enough)
    return english("gate_inside", said=interval, more=more)


def samples_to_decide(threshold: Gate, found: Estimate) -> int | None:
    """About how many samples would take the threshold out of the interval if the figure stayed as it is.

    An interval shrinks as 1 ÷ √n, at the edge of a rate (no failure, or nothing but) as 1 ÷ n; a twentieth is added for
    the approximation. ``None`` where there is no such number: the gate is no threshold, the figure lies on it, the
    deciding end is open, or a million would not do.
    """
    if not isinstance(threshold, Threshold) or found.value is None or found.value == threshold.number:
        return None
    above = found.value > threshold.number
    end = found.low if above else found.high
    if end is None:
        return None
    times = abs(found.value - end) / abs(found.value - threshold.number)
    needed = math.ceil(1.05 * found.n * (times if found.value in (0.0, 1.0) else times**2))
    return needed if found.n < needed <= _MOST_SAMPLES else None
