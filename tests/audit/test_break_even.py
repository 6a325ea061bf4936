"""A cheaper price is held against what it buys."""

from __future__ import annotations

import numpy as np
import pytest
from given_blocks import given_blocks

from vendor_verifier.audit.cost import break_even_mix, break_evens, cost_ratios, cost_usd, money
from vendor_verifier.records.event import Usage
from vendor_verifier.records.money import BreakEven, Money, Price
from vendor_verifier.scoring.observation import Try
from vendor_verifier.scoring.row_keys import Unit
from vendor_verifier.stats.bootstrap import bootstrap
from vendor_verifier.stats.panel import build_panel
from vendor_verifier.stats.ratio_table import Trials

DEAR, CHEAP = Price(1.0, 4.0), Price(0.7, 2.8)
N = 200
UNITS: list[Unit] = [(f"s{number}", 0) for number in range(N)]


def vendor(label: str, price: Price, *, invalid: int = 0, retried: int = 0) -> tuple[Trials, Money]:
    """Two hundred answers of the same tokens with one call each, some invalid, some answered on the second try."""
    attempts = [(unit, Try(Usage(1000, 100), useful=True)) for unit in UNITS]
    attempts += [(unit, Try(Usage(1000, 100), useful=False, retried=True)) for unit in UNITS[:retried]]
    valid = {unit: int(number >= invalid) for number, unit in enumerate(UNITS)}
    spent = money(attempts, price, requests=N, valid_calls=N - invalid)
    return Trials(label, ratios=cost_ratios(attempts, price, valid)), spent


def judged(*vendors: tuple[Trials, Money], prices: tuple[Price, ...] = (DEAR, CHEAP)) -> tuple[BreakEven, ...]:
    trials = [each for each, _ in vendors]
    panel = build_panel(trials, [sample for sample, _ in UNITS], metrics=["cost_per_valid_call_usd"])
    resampled = bootstrap(panel, np.random.default_rng(1), resamples=500, blocks=given_blocks(range(N)))
    labels = [each.label for each in trials]
    spent = {each.label: found for each, found in vendors}
    return break_evens(spent, dict(zip(labels, prices, strict=True)), resampled)


def test_a_clean_vendor_keeps_its_advantage() -> None:
    """30 % cheaper on paper and in fact: it may lose 30 % of its valid calls."""
    [found] = judged(vendor("dear", DEAR), vendor("cheap", CHEAP))
    assert (found.cheap, found.dear, found.mix) == ("cheap", "dear", None)
    assert found.per_answer == pytest.approx(0.3)
    assert found.per_valid_call.value == pytest.approx(0.3)


def test_retries_and_invalid_calls_eat_the_advantage() -> None:
    """A tenth retried and a third invalid make 30 % cheaper dearer: 1 − 0.7 · 1.1 ÷ ⅔, with an interval around it."""
    [found] = judged(vendor("dear", DEAR), vendor("cheap", CHEAP, invalid=N // 3, retried=N // 10))
    assert found.per_answer == pytest.approx(0.3)
    real = found.per_valid_call
    assert real.value == pytest.approx(1 - 0.7 * 1.1 / ((N - N // 3) / N))
    assert real.low is not None
    assert real.high is not None
    assert real.low < real.value < real.high < 0


def test_the_break_even_is_where_both_cost_the_same() -> None:
    """When the cheaper one loses that share of its valid calls, one costs as much at both."""
    cheap, dear = vendor("cheap", CHEAP, retried=20)[1], vendor("dear", DEAR)[1]
    [found] = judged(vendor("dear", DEAR), vendor("cheap", CHEAP, retried=20))
    lost = found.per_valid_call.value
    assert lost is not None
    assert cheap.total_usd / (cheap.valid_calls * (1 - lost)) == pytest.approx(dear.per_valid_call_usd)


def test_equal_prices_and_unknown_ones_have_no_break_even() -> None:
    """Within 1 % they are one price; without a valid call there is nothing to hold against each other."""
    assert judged(vendor("a", DEAR), vendor("b", DEAR), prices=(DEAR, DEAR)) == ()
    assert judged(vendor("a", DEAR), vendor("b", CHEAP, invalid=N)) == ()


def test_break_even_between_two_price_lists() -> None:
    """Cheaper input against cheaper output meet at one mix; cheaper at both meet nowhere."""
    one, other = Price(1.0, 8.0), Price(3.0, 4.0)
    mix = break_even_mix(one, other)
    assert mix == pytest.approx(0.5)
    assert cost_usd(Usage(1000, 500), one) == pytest.approx(cost_usd(Usage(1000, 500), other))
    assert break_even_mix(one, Price(2.0, 9.0)) is None
    assert break_even_mix(one, Price(2.0, 8.0)) is None
