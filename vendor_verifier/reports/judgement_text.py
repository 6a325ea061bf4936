"""What the statistics and break-evens say, in sentences for terminals and Markdown; nothing is judged here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Literal

from vendor_verifier.reports import number_format
from vendor_verifier.values.judgement import BreakEven, Estimate, ModelVerdict, RankingJudgement

MAX_TOLD = 12
# The advantage holds for valid calls too; it is gone; or which of both is not known at this number of samples.
Case = Literal["holds", "eaten", "open"]


def told_break_evens(verdict: ModelVerdict, baseline: str | None) -> Iterator[tuple[BreakEven, Case]]:
    """Those with the baseline first, ``MAX_TOLD`` at most; all of them stand in scores.json."""
    ordered = sorted(verdict.break_evens, key=lambda each: baseline not in (each.cheap, each.dear))
    for each in ordered[:MAX_TOLD]:
        yield each, case_of(each)


def case_of(found: BreakEven) -> Case:
    """By the interval of what is left of the advantage per valid call."""
    real = found.per_valid_call
    if real.low is not None and real.low > 0:
        return "holds"
    return "eaten" if real.high is not None and real.high < 0 else "open"


Escape = Callable[[str], str]
_MAX_LISTED = 12
# Vendors never begin and end at quite the same moment; so much of both is as good as all.
_WORTH_A_LINE = 0.9
_MINUS = "−"


def short_lines(verdict: ModelVerdict, escape: Escape) -> Iterator[str]:
    """At most six: the order, what times were compared over, the ceiling, gates, money, findings."""
    if verdict.ranking is not None:
        yield order_line(verdict.ranking, escape)
        if (cut := overlap_line(verdict.ranking, escape, _WORTH_A_LINE)) is not None:
            yield cut
    if verdict.noise_floor is not None and verdict.noise_floor.ceiling.value is not None:
        floor = verdict.noise_floor
        yield f"ceiling: the baseline against itself has F1 {interval(floor.ceiling)} over {floor.runs} runs"
    if verdict.gates:
        yield gates_line(verdict, escape)
    if (cheapest := _cheapest(verdict)) is not None:
        label, cost = cheapest
        usd = number_format.quantity(cost)
        yield f"money: a valid call costs least at {escape(label)}, {usd} USD; more in report.md"
    if verdict.findings:
        tally = Counter(finding.name for finding in verdict.findings)
        yield f"findings, in report.md: {number_format.tally(tally, escape)}"


def _cheapest(verdict: ModelVerdict) -> tuple[str, float] | None:
    """Who asks least for a valid call, of two or more whose cost is known."""
    known = {label: cost for label, spent in verdict.money.items() if (cost := spent.per_valid_call_usd) is not None}
    return min(known.items(), key=lambda item: item[1]) if len(known) > 1 else None


def order_line(ranking: RankingJudgement, escape: Escape) -> str:
    """Who cannot be told apart, or that everybody can."""
    pairs = sorted(ranking.not_distinguishable)
    if not pairs:
        return "order: every two vendors differ in some metric"
    named = [f"{escape(one)} ≈ {escape(other)}" for one, other in pairs[:_MAX_LISTED]]
    more = f" and {len(pairs) - _MAX_LISTED} pairs more" if len(pairs) > _MAX_LISTED else ""
    return f"order: not distinguishable: {', '.join(named)}{more}"


def overlap_line(ranking: RankingJudgement, escape: Escape, most_left: float = 1.0) -> str | None:
    """Over how many rows times were compared, of pairs of which at most so large a share is left; None without any."""
    cut = [
        each
        for each in ranking.overlaps
        if min(each.first_n / each.first_of, each.second_n / each.second_of) <= most_left
    ]
    if not cut:
        return None
    told = [
        f"{escape(each.first)} {number_format.of(each.first_n, each.first_of)} and "
        f"{escape(each.second)} {number_format.of(each.second_n, each.second_of)}"
        for each in cut[:_MAX_LISTED]
    ]
    more = f"; and {len(cut) - _MAX_LISTED} pairs more" if len(cut) > _MAX_LISTED else ""
    return f"times are compared over what was sent while both were asked: {'; '.join(told)}{more}"


def gates_line(verdict: ModelVerdict, escape: Escape) -> str:
    """How many of each outcome, and whose fail."""
    tally = Counter(gate.outcome for gate in verdict.gates)
    told = ", ".join(f"{tally[outcome]} {outcome}" for outcome in ("PASS", "FAIL", "UNDECIDED") if tally[outcome])
    worst_first = sorted(verdict.gates, key=lambda gate: gate.outcome != "FAIL")
    bad = [f"{escape(gate.label)}: {gate.threshold} {gate.outcome}" for gate in worst_first if gate.outcome != "PASS"]
    more = f" and {len(bad) - _MAX_LISTED} more" if len(bad) > _MAX_LISTED else ""
    return f"gates: {told}" + (f" ({'; '.join(bad[:_MAX_LISTED])}{more})" if bad else "")


def leader_lines(ranking: RankingJudgement, escape: Escape) -> Iterator[str]:
    """What the lead hangs on, and who is beaten by nobody everywhere."""
    for change in ranking.leader_changes:
        leaders = ", ".join(map(escape, change.leaders)) or "nobody"
        yield f"Without the {change.kind} {escape(change.dropped)} the lead goes to {leaders}."
    if ranking.pareto:
        yield f"Beaten everywhere by nobody (Pareto front): {', '.join(map(escape, ranking.pareto))}."


def interval(estimate: Estimate, *, signed: bool = False) -> str:
    """``value, low … high``; an open side is ∞, nothing measured is "–"."""
    if number_format.finite(estimate.value) is None:
        return number_format.MISSING
    value, low, high = (_number(each, signed) for each in (estimate.value, estimate.low, estimate.high))
    return f"{value}, {low or _MINUS + '∞'} … {high or '∞'}"


def ranks(low: float | None, high: float | None) -> str:
    """``2`` or ``2–4``."""
    if low is None or high is None:
        return number_format.MISSING
    return f"{low:g}" if low == high else f"{low:g}–{high:g}"


def _number(value: float | None, signed: bool) -> str:
    if value is None or number_format.finite(value) is None:
        return ""
    return (f"{value:+.4f}" if signed else f"{value:.4g}").replace("-", _MINUS)
