"""When a cheaper price is eaten by failures, retries and invalid calls: two vendors at a time; it looks up no price.

price of an answer a = Σ cost of the attempts that a success ends in ÷ answered requests: what the price list promises.
price of a valid call c = Σ cost of all attempts ÷ valid calls: what is paid in the end.
With a₁ < a₂ the advantage on paper is 1 − a₁ ÷ a₂ and the real one 1 − c₁ ÷ c₂. c₁ grows as 1 ÷ (valid calls), so the
cheaper vendor may lose the share 1 − c₁ ÷ c₂ of its valid calls before both cost the same. Its interval comes from the
resamples of both (:mod:`vendor_verifier.compare.bootstrap`).
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

from vendor_verifier.compare.bootstrap import Resampled, spread
from vendor_verifier.values.judgement import BreakEven, Estimate, Money, Price

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
