"""The choice between the vendors of a model: the one to take, else the tie and what parts it, else that there is none.

Only a vendor that is as sold is ever named to be taken. One of several leads only where its rank interval does not
overlap theirs; in a run with evaluations only, where it scores provably higher than each of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from msgspec import structs

from vendor_verifier.audit.verdicts import judge_vendors
from vendor_verifier.records.judgement import IrfInterval, ModelVerdict
from vendor_verifier.records.score import ModelScore, VendorScore
from vendor_verifier.records.verdict import Advice, Choice, ChoiceKind, VendorVerdict

_LEVEL = 0.05
# The kinds of choice that name vendors as sold.
_NAMES_THE_BEST: frozenset[ChoiceKind] = frozenset({"take", "only", "tie"})


def advise(model: ModelScore, verdict: ModelVerdict) -> Advice:
    """The verdicts on all vendors of a model and the choice between them."""
    vendors = judge_vendors(model, verdict)
    return Advice(vendors, choose(model, verdict, vendors))


def choose(model: ModelScore, verdict: ModelVerdict, vendors: Mapping[str, VendorVerdict]) -> Choice:
    """The choice between the vendors beside the baseline, in the order of the ranking."""
    others = [vendor for vendor in model.vendors if not vendor.is_baseline]
    counts = Counter(vendors[vendor.label].status for vendor in others)
    by = model.ranked_by

    def chosen(kind: ChoiceKind, found: Sequence[VendorScore] = ()) -> Choice:
        labels = tuple(vendor.label for vendor in found)
        hidden = _unseen_loss(vendors[label] for label in labels) if kind in _NAMES_THE_BEST else None
        return Choice(kind, labels, len(others), dict(counts), by, unseen_loss=hidden)

    if any(vendor.recorded for vendor in model.vendors) and not any(vendor.succeeded for vendor in model.vendors):
        return chosen("nobody_answered", model.vendors)
    if not others:
        return chosen("reference_alone", model.vendors)
    sold = [vendor for vendor in others if vendors[vendor.label].status == "as_sold"]
    if not sold:
        # Of a vendor that answered nothing it would be odd to say that nothing speaks against it.
        open_ones = [
            vendor for vendor in others if vendor.succeeded and vendors[vendor.label].status == "too_little_evidence"
        ]
        if open_ones or (counts["too_little_evidence"] and len(others) > 1):
            return chosen("undecided", open_ones)
        return chosen("none", others if len(others) == 1 else ())
    if len(sold) == 1:
        return chosen("only", sold)
    ahead = [
        vendor for vendor in sold if all(_is_ahead(vendor, other, verdict, by) for other in sold if other is not vendor)
    ]
    if ahead:
        return chosen("take", ahead)
    prices = _prices(sold, verdict)
    cheapest = min(prices, key=lambda label: prices[label]) if _parts(prices) else None
    return structs.replace(
        chosen("tie", sold),
        cheapest=cheapest,
        cheapest_usd=prices.get(cheapest or ""),
        fastest=_fastest(sold, verdict),
    )


def _unseen_loss(verdicts: Iterable[VendorVerdict]) -> float | None:
    """The greatest loss in tool calls that may be there unseen; None where none is known."""
    return max((loss for each in verdicts if (loss := each.facet("tool_calls").unseen_loss) is not None), default=None)


def _is_ahead(one: VendorScore, other: VendorScore, verdict: ModelVerdict, by: str) -> bool:
    if by == "score":
        return _scores_higher(one.label, other.label, verdict)
    if one.irf_metrics != other.irf_metrics:
        # Sums of more and of fewer terms cannot be compared.
        return False
    places = {each.label: each for each in (() if verdict.ranking is None else verdict.ranking.irf)}
    first, second = _ends(places.get(one.label)), _ends(places.get(other.label))
    return first is not None and second is not None and first[1] < second[0]


def _ends(place: IrfInterval | None) -> tuple[float, float] | None:
    if place is None or place.rank.low is None or place.rank.high is None:
        return None
    return place.rank.low, place.rank.high


def _scores_higher(one: str, other: str, verdict: ModelVerdict) -> bool:
    """Whether ``one`` scores provably higher in an evaluation, and provably lower in none."""
    level = _LEVEL / max(1, len(verdict.score_differences))
    signs = [
        (each.delta.value or 0.0) * (1 if each.first == one else -1)
        for each in verdict.score_differences
        if {each.first, each.second} == {one, other} and each.p_value is not None and each.p_value <= level
    ]
    return any(sign > 0 for sign in signs) and all(sign > 0 for sign in signs)


def _prices(vendors: Sequence[VendorScore], verdict: ModelVerdict) -> dict[str, float]:
    """US dollars per valid call by label, of those for whom it is known."""
    spent = {vendor.label: verdict.money[vendor.label] for vendor in vendors if vendor.label in verdict.money}
    return {label: cost for label, one in spent.items() if (cost := one.per_valid_call_usd) is not None}


def _parts(figures: Mapping[str, float]) -> bool:
    """Whether there are several figures and one is below all others."""
    ordered = sorted(figures.values())
    return len(ordered) > 1 and ordered[0] < ordered[1]


def _fastest(vendors: Sequence[VendorScore], verdict: ModelVerdict) -> str | None:
    """The vendor whose first token comes provably sooner than every other's; None without one."""
    faster: Counter[str] = Counter()
    labels = {vendor.label for vendor in vendors}
    for each in () if verdict.ranking is None else verdict.ranking.differences:
        if each.metric == "avg_ttft_ms" and each.differs and {each.first, each.second} <= labels:
            faster[each.first if each.value < 0 else each.second] += 1
    return next((label for label, count in faster.items() if count == len(labels) - 1), None)
