"""Cost of answers, per request and per valid call, and the failure rate at which a cheaper price stops paying off.

cost of an attempt = ((input − cached)·p_input + cached·p_cached + (output − reasoning)·p_output
                      + reasoning·p_reasoning) ÷ 10⁶ + p_request, times the currency's rate in US dollars.
Output includes reasoning and input includes cached tokens, whatever the wire's own convention.

price of an answer a = Σ cost of the attempts that a success ends in ÷ answered requests: the price by the list.
price of a valid call c = Σ cost of all attempts ÷ valid calls: the price really paid.
With a₁ < a₂ the advantage on paper is 1 − a₁ ÷ a₂ and the real one 1 − c₁ ÷ c₂. c₁ grows as 1 ÷ (valid calls), so the
cheaper vendor may lose the share 1 − c₁ ÷ c₂ of its valid calls before both cost the same. Its interval comes from the
resamples of both (:mod:`vendor_verifier.stats.bootstrap`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import combinations

from msgspec import structs

from vendor_verifier.records.estimate import Estimate
from vendor_verifier.records.event import Usage
from vendor_verifier.records.money import BreakEven, Money, Price
from vendor_verifier.scoring.observation import Try
from vendor_verifier.scoring.row_keys import Unit, Units
from vendor_verifier.stats.bootstrap import Resampled, spread
from vendor_verifier.stats.ratio_table import RatioColumn

# Below this two prices of an answer are the same price.
LEAST_ADVANTAGE = 0.01
_PER_CALL = "cost_per_valid_call_usd"


def break_evens(money: Mapping[str, Money], prices: Mapping[str, Price], resampled: Resampled) -> tuple[BreakEven, ...]:
    """The break-even of every two vendors with known prices, in the order of ``money``; none within 1 % of each other.

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
    attempts: Iterable[tuple[object, Try]],
    price: Price,
    *,
    requests: int,
    valid_calls: int,
    duplicates: Iterable[tuple[object, Try]] = (),
) -> Money:
    """Sums over one vendor, whose attempts come with their unit.

    ``requests`` are the records asked for, ``valid_calls`` the tool calls that are valid.

    wasted = what attempts cost that are part of no success: retries, cut answers, failed conversations.
    ``duplicates`` are attempts of records made twice by our own doing: in the total, and in no other figure.
    """
    twice = [cost for _, each in duplicates if (cost := cost_usd(each.usage, price)) is not None]
    total, wasted, retried, reported, comparable, undiscounted = [], [], [], [], [], []
    answered: set[object] = set()
    count = unpriced = tokens = 0
    for unit, attempt in attempts:
        count += 1
        ours = cost_usd(attempt.usage, price)
        stated = attempt.usage.cost_usd
        if stated is not None:
            reported.append(stated)
        if ours is None:
            unpriced += 1
            continue
        total.append(ours)
        tokens += (attempt.usage.input or 0) + (attempt.usage.output or 0)
        if attempt.useful:
            answered.add(unit)
        else:
            wasted.append(ours)
        if attempt.retried:
            retried.append(ours)
        if stated is not None:
            comparable.append((stated, ours))
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
        tokens=tokens,
    )


def monthly_usd(spent: Money, requests: int | None = None, tokens: int | None = None) -> float | None:
    """The cost of a month of so many requests, or so many tokens, as this run's cost on average; ``None`` if unknown.

    A request costs what one cost here, retries and failures included. A token costs what one cost here, so input,
    output and cached ones have the run's own mix.
    """
    if requests is not None:
        return None if spent.per_1000_requests_usd is None else requests * spent.per_1000_requests_usd / 1000
    if tokens is None or not spent.tokens:
        return None
    return tokens * (spent.total_usd - (spent.duplicates_usd or 0.0)) / spent.tokens


def cost_ratios(
    attempts: Iterable[tuple[Unit, Try]], price: Price, valid_calls: Mapping[Unit, int]
) -> dict[str, RatioColumn]:
    """The cost metrics as ratios of sums by the units of ``valid_calls``, to join ``Trials.ratios``.

    So they get intervals too. Units with an attempt that cannot be priced are left out: a partial sum would flatter.
    """
    known = dict.fromkeys(valid_calls, 0.0)
    wasted: dict[Unit, float] = {}
    for unit, attempt in attempts:
        ours = cost_usd(attempt.usage, price)
        if ours is None:
            known.pop(unit, None)
        elif unit in known:
            known[unit] += ours
            wasted[unit] = wasted.get(unit, 0.0) + (0.0 if attempt.useful else ours)
    units = Units.of(known)
    places = range(len(units))
    return {
        "cost_per_1000_requests_usd": RatioColumn(units, places, [1000 * cost for cost in known.values()]),
        "wasted_per_1000_requests_usd": RatioColumn(units, places, [1000 * wasted.get(unit, 0.0) for unit in units]),
        "cost_per_valid_call_usd": RatioColumn(
            units, places, list(known.values()), [float(valid_calls[unit]) for unit in units]
        ),
    }
