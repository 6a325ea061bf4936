"""What answers cost, by hand."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_records import CALL, RIVAL, WRONG, bad, frames, ok, record
from msgspec import structs

from vendor_verifier.records.plan import Price
from vendor_verifier.records.record import Attempt, Record, Usage
from vendor_verifier.scoring.money import Money, cost_usd, costs_usd, money

PRICE = Price(input=1.0, output=10.0)
LOST = structs.replace(ok(usage=Usage(1000, 100)), failure=bad("truncated", None).failure)


@pytest.mark.parametrize(
    ("usage", "price", "expected"),
    [
        (Usage(1000, 100), PRICE, 0.002),
        (Usage(1000, 100, cached=400), Price(1.0, 10.0, cached=0.1), 0.00164),
        (Usage(1000, 100, cached=400), PRICE, 0.002),
        (Usage(1000, 100, reasoning=50), Price(1.0, 10.0, reasoning=20.0), 0.0025),
        (Usage(1000, 100, cached=5000, reasoning=900), Price(1.0, 10.0, cached=0.1, reasoning=20.0), 0.0021),
        (Usage(1000, 100), Price(1.0, 10.0, request=0.01, rate=0.5), 0.006),
        (Usage(), Price(0.0, 0.0, request=0.01), 0.01),
        (Usage(1000), PRICE, None),
        (Usage(None, 100), PRICE, None),
        (Usage(None, 100), Price(0.0, 10.0), 0.001),
    ],
)
def test_cost_of_an_attempt(usage: Usage, price: Price, expected: float | None) -> None:
    """Cached and reasoning tokens are parts of input and output; without the tokens there is no price."""
    assert cost_usd(usage, price) == (None if expected is None else pytest.approx(expected))


COUNTS = st.one_of(st.none(), st.integers(1, 10**6))


@given(st.lists(st.builds(Usage, COUNTS, COUNTS, COUNTS, COUNTS), min_size=1, max_size=4))
def test_rows_cost_what_attempts_cost(usages: list[Usage]) -> None:
    price = Price(1.5, 7.0, cached=0.2, reasoning=9.0, request=0.001, rate=0.9)
    rows = frames([record(RIVAL, at, ok((), text="x", usage=usage)) for at, usage in enumerate(usages)]).records
    found = [None if cost != cost else cost for cost in costs_usd(rows, price)]
    assert found == [None if (cost := cost_usd(usage, price)) is None else pytest.approx(cost) for usage in usages]


def spent(*records: Record, price: Price = PRICE, **options: Any) -> Money:
    found = frames(records)
    return money(found.records, found.attempts, price, **options)


def priced(*, said: float | None = None, cached: int | None = None, calls: Any = CALL) -> Attempt:
    return ok(calls, usage=Usage(1000, 100, cached, None, said))


def test_a_vendor_that_answers() -> None:
    """A request costs the price by the list, and a valid call as much as all."""
    found = spent(record(RIVAL, 0, priced()), record(RIVAL, 1, priced(calls=WRONG)), record(RIVAL, 2, priced(calls=())))
    assert found.total_usd == pytest.approx(0.006)
    assert (found.requests, found.unpriced) == (3, 0)
    assert found.per_1000_requests_usd == pytest.approx(2.0)
    assert found.per_valid_call_usd == pytest.approx(0.006)
    assert found.per_answer_usd == pytest.approx(0.002)
    assert (found.wasted_usd, found.reported_ratio) == (0.0, None)


def test_retries_and_failures_are_wasted() -> None:
    """What is part of no success is paid as well; a refusal costs nothing."""
    found = spent(record(RIVAL, 0, LOST, priced()), record(RIVAL, 1, LOST), record(RIVAL, 2, bad()))
    assert found.total_usd == pytest.approx(0.006)
    assert found.wasted_usd == pytest.approx(0.004)
    assert found.per_answer_usd == pytest.approx(0.002)


def test_what_cannot_be_priced_is_counted() -> None:
    """Unknown tokens are in no sum; a request that was sent twice may have been billed twice."""
    twice = structs.replace(priced(), resent=True)
    found = spent(
        record(RIVAL, 0, ok(usage=None)), record(RIVAL, 1, bad("timeout_total", None)), record(RIVAL, 2, twice)
    )
    assert (found.unpriced, found.total_usd) == (3, pytest.approx(0.002))
    # Half of the answers are no measure of the others; one in five is left out.
    assert (found.per_1000_requests_usd, found.per_valid_call_usd, found.wasted_usd) == (None, None, None)
    most = spent(*(record(RIVAL, at, priced() if at else ok(usage=None)) for at in range(5)))
    assert (most.per_1000_requests_usd, most.requests) == (pytest.approx(2.0), 4)
    unknown = spent(record(RIVAL, 0, ok(usage=None)))
    assert (unknown.total_usd, unknown.per_1000_requests_usd, unknown.per_answer_usd) == (None, None, None)


def test_what_the_vendor_says_it_charged() -> None:
    price = Price(1.0, 10.0, cached=0.0)
    found = spent(record(RIVAL, 0, priced(said=0.003, cached=500)), record(RIVAL, 1, priced()), price=price)
    assert found.reported_ratio == pytest.approx(2.0)
