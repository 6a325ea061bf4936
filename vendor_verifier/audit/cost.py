"""What answers cost, per request and per valid call, and when failures eat a cheaper price; prices are given.

cost of an attempt = ((input − cached)·p_input + cached·p_cached + (output − reasoning)·p_output
                      + reasoning·p_reasoning) ÷ 10⁶ + p_request, times the currency's rate in US dollars.
Output includes reasoning and input includes cached tokens, whatever the wire's own convention.

price of an answer a = Σ cost of the attempts that a success ends in ÷ answered requests: what the price list promises.
price of a valid call c = Σ cost of all attempts ÷ valid calls: what is paid in the end.
With a₁ < a₂ the advantage on paper is 1 − a₁ ÷ a₂ and the real one 1 − c₁ ÷ c₂. c₁ grows as 1 ÷ (valid calls), so the
cheaper vendor may lose the share 1 − c₁ ÷ c₂ of its valid calls before both cost the same. Its interval comes from the
resamples of both (:mod:`vendor_verifier.stats.bootstrap`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

from msgspec import structs

from vendor_verifier.metrics.tokens import reported_usage
from vendor_verifier.stats.bootstrap import Resampled, spread
from vendor_verifier.stats.ratio_table import RatioColumn, Unit, Units
from vendor_verifier.values.event import Usage
from vendor_verifier.values.failure_kinds import KINDS
from vendor_verifier.values.judgement import BreakEven, Estimate, Money, Price
from vendor_verifier.values.record import Attempt, Record

# Below this two prices of an answer are the same price.
LEAST_ADVANTAGE = 0.01
_PER_CALL = "cost_per_valid_call_usd"


def break_evens(money: Mapping[str, Money], prices: Mapping[str, Price], resampled: Resampled) -> tuple[BreakEven, ...]:
    """Every two vendors with known prices, in the order of ``money``; pairs within 1 % of each other are left out.

    ``resampled`` without the cost metric gives no interval.
    """
    found = (_break_even(one, other, money, prices, resampled) for one, other in combinations(money, 2))
    return tuple(each for each in found if each is not None)


def break_even_mix(one: Price, other: Price) -> float | None:
    """Output tokens per input token at which both cost the same, fees per request aside.

    r = (input₁ − input₂) ÷ (output₂ − output₁) in US dollars; ``None`` when one of them is cheaper at every mix.
    """
    inputs = one.input * one.rate - other.input * other.rate
    outputs = other.output * other.rate - one.output * one.rate
    if outputs == 0 or inputs / outputs <= 0:
        return None
    return inputs / outputs


def _break_even(
    one: str, other: str, money: Mapping[str, Money], prices: Mapping[str, Price], resampled: Resampled
) -> BreakEven | None:
    first, second = money[one].per_answer_usd, money[other].per_answer_usd
    if first is None or second is None or not max(first, second):
        return None
    cheap, dear = (one, other) if first < second else (other, one)
    advantage = 1.0 - min(first, second) / max(first, second)
    real = _per_valid_call(money[cheap], money[dear])
    if real is None or advantage < LEAST_ADVANTAGE:
        return None
    return BreakEven(
        cheap, dear, advantage, _interval(real, cheap, dear, resampled), break_even_mix(prices[cheap], prices[dear])
    )


def _per_valid_call(cheap: Money, dear: Money) -> float | None:
    if cheap.per_valid_call_usd is None or not dear.per_valid_call_usd:
        return None
    return 1.0 - cheap.per_valid_call_usd / dear.per_valid_call_usd


def _interval(value: float, cheap: str, dear: str, resampled: Resampled) -> Estimate:
    import numpy as np

    if _PER_CALL not in resampled.metrics:
        return Estimate(value)
    column = resampled.metrics.index(_PER_CALL)
    costs = [resampled.draws[:, resampled.labels.index(label), column] for label in (cheap, dear)]
    with np.errstate(divide="ignore", invalid="ignore"):
        return spread(value, 1.0 - costs[0] / costs[1], 0)


@dataclass(frozen=True, slots=True)
class BilledAttempt:
    """One try that may be on the bill.

    ``useful``: it is part of what a record that succeeded ends in; ``retried``: another try of that record was.
    """

    unit: Unit
    usage: Usage
    useful: bool
    retried: bool = False


def billed_attempts(record: Record) -> Iterator[BilledAttempt]:
    """The attempts of a record that reached the model or may have; refusals (4xx, 5xx, no connection) cost nothing."""
    for turn in record.turns:
        for position, attempt in enumerate(turn.attempts, 1):
            if attempt.resent:
                # The first sending: whoever closed the connection may have read it before.
                yield BilledAttempt((record.sample, record.repetition), Usage(), useful=False)
            if _may_be_billed(attempt):
                useful = record.succeeded and position == len(turn.attempts)
                retried = record.succeeded and not useful
                yield BilledAttempt((record.sample, record.repetition), reported_usage(attempt), useful, retried)


def cost_usd(usage: Usage, price: Price) -> float | None:
    """US dollars of one attempt; ``None`` unless input and output tokens are known or neither is charged for."""
    cached, reasoning = usage.cached or 0, usage.reasoning or 0
    if (usage.input is None and price.input) or (usage.output is None and price.output):
        return None
    shown, hidden = max(0, (usage.output or 0) - reasoning), min(reasoning, usage.output or 0)
    fresh, reused = max(0, (usage.input or 0) - cached), min(cached, usage.input or 0)
    cached_price = price.input if price.cached is None else price.cached
    reasoning_price = price.output if price.reasoning is None else price.reasoning
    tokens = fresh * price.input + reused * cached_price + shown * price.output + hidden * reasoning_price
    return (tokens / 1e6 + price.request) * price.rate


def money(
    attempts: Iterable[BilledAttempt],
    price: Price,
    *,
    requests: int,
    valid_calls: int,
    duplicates: Iterable[BilledAttempt] = (),
) -> Money:
    """Sums over one vendor. ``requests`` are the records asked for, ``valid_calls`` the tool calls that are valid.

    wasted = what attempts cost that are part of no success: retries, cut answers, failed conversations.
    ``duplicates`` are attempts of records made twice by our own doing: in the total, and in no other figure.
    """
    twice = [cost for each in duplicates if (cost := cost_usd(each.usage, price)) is not None]
    total, wasted, retried, reported, comparable, undiscounted = [], [], [], [], [], []
    answered: set[Unit] = set()
    count = unpriced = 0
    for attempt in attempts:
        count += 1
        ours = cost_usd(attempt.usage, price)
        said = attempt.usage.cost_usd
        if said is not None:
            reported.append(said)
        if ours is None:
            unpriced += 1
            continue
        total.append(ours)
        if attempt.useful:
            answered.add(attempt.unit)
        else:
            wasted.append(ours)
        if attempt.retried:
            retried.append(ours)
        if said is not None:
            comparable.append((said, ours))
            undiscounted.append(cost_usd(structs.replace(attempt.usage, cached=None), price) or 0.0)
    whole = math.fsum(total)
    said_too, ours_too = (math.fsum(each) for each in zip(*comparable, strict=True)) if comparable else (0.0, 0.0)
    full = math.fsum(undiscounted)
    return Money(
        total_usd=math.fsum([whole, *twice]),
        wasted_usd=math.fsum(wasted),
        per_1000_requests_usd=1000 * whole / requests if requests and total else None,
        per_valid_call_usd=whole / valid_calls if valid_calls and total else None,
        requests=requests,
        valid_calls=valid_calls,
        attempts=count,
        unpriced=unpriced,
        reported_usd=math.fsum(reported) if reported else None,
        reported_ratio=said_too / ours_too if ours_too else None,
        per_answer_usd=(whole - math.fsum(wasted)) / len(answered) if answered else None,
        wasted_on_retries_usd=math.fsum(retried),
        undiscounted_ratio=said_too / full if full > ours_too > 0 else None,
        duplicates_usd=math.fsum(twice) if twice else None,
    )


def cost_ratios(
    attempts: Iterable[BilledAttempt], price: Price, asked: Iterable[Unit], valid_calls: dict[Unit, int]
) -> dict[str, RatioColumn]:
    """The cost metrics as ratios of sums by unit, to join ``Trials.ratios``, so that they get intervals too.

    Units with an attempt that cannot be priced are left out of both: a partial sum would flatter.
    """
    known = dict.fromkeys(asked, 0.0)
    wasted: dict[Unit, float] = {}
    for attempt in attempts:
        ours = cost_usd(attempt.usage, price)
        if ours is None:
            known.pop(attempt.unit, None)
        elif attempt.unit in known:
            known[attempt.unit] += ours
            wasted[attempt.unit] = wasted.get(attempt.unit, 0.0) + (0.0 if attempt.useful else ours)
    units = Units()
    each_cost, each_waste, by_call = (RatioColumn(units) for _ in range(3))
    for unit, cost in known.items():
        place = units.place_of(unit)
        each_cost.add(place, 1000 * cost, 1.0)
        each_waste.add(place, 1000 * wasted.get(unit, 0.0), 1.0)
        by_call.add(place, cost, float(valid_calls.get(unit, 0)))
    return {
        "cost_per_1000_requests_usd": each_cost,
        "wasted_per_1000_requests_usd": each_waste,
        "cost_per_valid_call_usd": by_call,
    }


def _may_be_billed(attempt: Attempt) -> bool:
    if attempt.response is not None:
        return True
    return attempt.failure is not None and KINDS[attempt.failure.kind].maybe_billed
