"""Costs follow the bill's arithmetic, waste is counted, and what is unknown is not called free."""

from __future__ import annotations

import pytest
from changing import replace
from hypothesis import given
from hypothesis import strategies as st
from observed import observed, table_of

from vendor_verifier.audit.cost import cost_ratios, cost_usd, money, monthly_usd
from vendor_verifier.records.event import ToolCall, Usage
from vendor_verifier.records.money import Price
from vendor_verifier.records.record import Attempt, Failure, Record, Response, TurnRecord
from vendor_verifier.scoring.observation import Try
from vendor_verifier.scoring.row_keys import Unit

PRICE = Price(input=1.0, output=4.0)


def billed(record: Record) -> list[tuple[Unit, Try]]:
    """What of a record may be on the bill."""
    return list(table_of([observed(record)]).billed())


def test_every_kind_of_token_has_its_price() -> None:
    """Cached tokens are part of the input and reasoning part of the output; each is charged once."""
    usage = Usage(input=1000, output=500, cached=400, reasoning=200)
    price = Price(input=2.0, output=10.0, cached=0.5, reasoning=6.0, request=0.001)
    assert cost_usd(usage, price) == pytest.approx((600 * 2 + 400 * 0.5 + 300 * 10 + 200 * 6) / 1e6 + 0.001)


def test_cached_and_reasoning_fall_back_to_the_whole() -> None:
    """Without a price of their own they cost what input and output cost."""
    assert cost_usd(Usage(1000, 500, 400, 200), PRICE) == pytest.approx((1000 + 2000) / 1e6)


def test_another_currency_is_changed_at_its_rate() -> None:
    """7.5 yuan at 0.14 dollars each."""
    assert cost_usd(Usage(1_000_000, 0), Price(7.5, 1.0, currency="CNY", rate=0.14)) == pytest.approx(1.05)


def test_unknown_tokens_have_no_cost() -> None:
    """Usage that was not reported is ``None``, not free, unless nothing is charged for tokens."""
    assert cost_usd(Usage(), PRICE) is None
    assert cost_usd(Usage(input=5), PRICE) is None
    assert cost_usd(Usage(), Price(0.0, 0.0, request=0.01)) == 0.01


@given(st.integers(0, 10_000), st.integers(0, 10_000), st.integers(0, 20_000), st.integers(0, 20_000))
def test_claims_of_cache_and_reasoning_never_exceed_the_whole(i: int, o: int, cached: int, reasoning: int) -> None:
    """Even impossible claims give a cost between all cheap and all dear."""
    found = cost_usd(Usage(i, o, cached, reasoning), Price(2.0, 3.0, cached=1.0, reasoning=5.0))
    assert found is not None
    assert (i + 3 * o) / 1e6 - 1e-12 <= found <= (2 * i + 5 * o) / 1e6 + 1e-12


def test_money_counts_waste_and_what_is_missing() -> None:
    """Two requests, one of them tried twice and one attempt without usage."""
    attempts = [
        (("a", 0), Try(Usage(1000, 250), useful=False)),
        (("a", 0), Try(Usage(1000, 250, cost_usd=0.003), useful=True)),
        (("b", 0), Try(Usage(), useful=False)),
    ]
    found = money(attempts, PRICE, requests=2, valid_calls=1)
    assert found.total_usd == pytest.approx(0.004)
    assert found.wasted_usd == pytest.approx(0.002)
    assert found.per_1000_requests_usd == pytest.approx(2.0)
    assert found.per_valid_call_usd == pytest.approx(0.004)
    assert (found.attempts, found.unpriced) == (3, 1)
    assert found.reported_ratio == pytest.approx(1.5)
    assert found.per_answer_usd == pytest.approx(0.002)
    assert found.wasted_on_retries_usd == 0.0


def test_waste_on_retries_is_told_from_waste_on_failures() -> None:
    """A first try of what succeeded later, and both tries of what never did."""
    attempts = [
        (("a", 0), Try(Usage(1000, 0), useful=False, retried=True)),
        (("a", 0), Try(Usage(1000, 0), useful=True)),
        (("b", 0), Try(Usage(1000, 0), useful=False)),
        (("b", 0), Try(Usage(1000, 0), useful=False)),
    ]
    found = money(attempts, PRICE, requests=2, valid_calls=1)
    assert (found.wasted_usd, found.wasted_on_retries_usd) == (pytest.approx(0.003), pytest.approx(0.001))


def test_nothing_measured_costs_nothing_known() -> None:
    """No priced attempt, no cost per anything; no valid call, no cost per one."""
    empty = money([(("a", 0), Try(Usage(), useful=True))], PRICE, requests=1, valid_calls=1)
    assert (empty.per_1000_requests_usd, empty.per_valid_call_usd, empty.reported_ratio) == (None, None, None)
    assert money([(("a", 0), Try(Usage(5, 5), True))], PRICE, requests=1, valid_calls=0).per_valid_call_usd is None


def test_what_was_sent_again_may_be_billed_twice() -> None:
    """The sending that a closing connection lost is a second one that may be on the bill, of unknown size."""
    attempt = Attempt(1, response=Response(usage=Usage(10, 5)), resent=True)
    record = Record("run", "m", "v", "v", "trigger", "s", 0, (TurnRecord((attempt,)),))
    assert [(each.usage.input, each.useful) for _, each in billed(record)] == [(None, False), (10, True)]
    found = money(billed(record), PRICE, requests=1, valid_calls=1)
    assert (found.attempts, found.unpriced, found.wasted_on_retries_usd) == (2, 1, 0.0)


def test_a_record_lists_what_may_be_billed() -> None:
    """A refusal costs nothing, a cut answer and a time-out may; only the attempt that succeeded is useful."""
    answer = Response(tool_calls=(ToolCall("f", "{}"),), usage=Usage(10, 5))
    attempts = (
        Attempt(1, failure=Failure("rate_limited", "headers", "slow down", 429)),
        Attempt(2, failure=Failure("timeout_idle", "stream", "silence")),
        Attempt(3, response=Response(text="par"), failure=Failure("truncated", "stream", "cut")),
        Attempt(4, response=answer),
    )
    record = Record("run", "m", "v", "v", "trigger", "s", 0, (TurnRecord(attempts),))
    found = [each for _, each in billed(record)]
    assert [each.useful for each in found] == [False, False, True]
    assert [each.usage.input for each in found] == [None, None, 10]


def test_costs_join_the_trials_as_ratios() -> None:
    """Per unit, so that they get intervals like any metric; a unit that cannot be priced is left out."""
    attempts = [
        (("a", 0), Try(Usage(1000, 0), useful=False)),
        (("a", 0), Try(Usage(1000, 0), useful=True)),
        (("b", 0), Try(Usage(), useful=True)),
    ]
    found = cost_ratios(attempts, PRICE, {("a", 0): 2, ("b", 0): 0, ("c", 0): 0})
    assert found["cost_per_1000_requests_usd"] == {("a", 0): (pytest.approx(2.0), 1.0), ("c", 0): (0.0, 1.0)}
    assert found["wasted_per_1000_requests_usd"] == {("a", 0): (pytest.approx(1.0), 1.0), ("c", 0): (0.0, 1.0)}
    assert found["cost_per_valid_call_usd"] == {("a", 0): (pytest.approx(0.002), 2.0), ("c", 0): (0.0, 0.0)}


def test_records_made_twice_are_in_the_total_and_in_no_other_figure() -> None:
    """What our own cluster cost raises the bill, not the price of an answer or a valid call, nor the waste."""
    once = [(("a", 0), Try(Usage(1000, 250), useful=True))]
    twice = [(("a", 0), Try(Usage(500, 125), useful=True)), (("b", 0), Try(Usage(), useful=False))]
    plain = money(once, PRICE, requests=1, valid_calls=1)
    found = money(once, PRICE, requests=1, valid_calls=1, duplicates=twice)
    assert plain.duplicates_usd is None
    assert found.duplicates_usd == pytest.approx(0.001)
    assert found.total_usd == pytest.approx(0.003)
    assert replace(found, total_usd=plain.total_usd, duplicates_usd=None) == plain


def test_a_month_costs_its_requests_or_its_tokens_as_this_run_did() -> None:
    """Failures and retries are part of what a request costs; a token costs what the run's own mix of them did."""
    dear, cheap = Try(Usage(input=900, output=100), useful=True), Try(Usage(input=1000, output=0), useful=False)
    spent = money([(1, dear), (1, cheap)], Price(input=1.0, output=10.0), requests=1, valid_calls=1)
    whole = (900 + 10 * 100 + 1000) / 1e6
    assert monthly_usd(spent, requests=5000) == pytest.approx(5000 * whole)
    assert spent.tokens == 2000
    assert monthly_usd(spent, tokens=10**6) == pytest.approx(whole * 10**6 / 2000)


def test_a_month_is_unknown_where_the_cost_or_the_volume_is() -> None:
    """Nothing priced is no zero, and without a volume nothing is told."""
    unpriced = money([(1, Try(Usage()))], Price(input=1.0, output=1.0), requests=1, valid_calls=0)
    assert (monthly_usd(unpriced, requests=10), monthly_usd(unpriced, tokens=10)) == (None, None)
    spent = money([(1, Try(Usage(input=1, output=1)))], Price(input=1.0, output=1.0), requests=1, valid_calls=0)
    assert monthly_usd(spent) is None


def test_duplicates_of_our_own_doing_cost_no_month() -> None:
    """They are in the total and in no price."""
    one = (1, Try(Usage(input=10, output=0), useful=True))
    spent = money([one], Price(input=1.0, output=1.0), requests=1, valid_calls=0, duplicates=[one])
    assert monthly_usd(spent, tokens=10) == pytest.approx(10 / 1e6)
