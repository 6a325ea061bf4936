"""What live progress counts: numbers of the sitting's vendors, at moments that the test names."""

from __future__ import annotations

from collections import Counter

import pytest
from small_records import answer, failure

from vendor_verifier.cli.progress import Tally, whole
from vendor_verifier.pipeline.run import Outlook
from vendor_verifier.records.event import Usage

A, B = ("m", "a"), ("m", "b")


def test_a_row_says_done_failed_in_flight_speed_and_time_left() -> None:
    """Four of ten in two seconds, one failed: two a second, three seconds left, median of the three that answered."""
    tally = Tally(Outlook({A: 10}, {A: 0}, in_flight={A: 5}), 100.0)
    for ttft in (100, 300, 200):
        tally.add(answer("a", ttft), 101.0)
    tally.add(failure("a"), 102.0)
    [row] = tally.rows(102.0)
    assert (row.name, row.done, row.due, row.failed, row.in_flight) == ("a", 4, 10, 1, 5)
    assert (row.rate, row.ttft_p50_ms, row.left_s) == (2.0, 200, 3.0)


def test_what_is_not_known_is_none_and_never_0() -> None:
    """Before the first answer, without a price, and where the vendor's own speed decides how many there will be."""
    tally = Tally(Outlook({A: None}, {A: 0}), 0.0)
    [row] = tally.rows(5.0)
    assert (row.due, row.in_flight, row.rate, row.ttft_p50_ms, row.cost_usd, row.left_s) == (None,) * 6
    assert not tally.is_complete


def test_answers_of_earlier_sittings_are_done_but_do_not_make_this_one_faster() -> None:
    """Going on with 90 of 100 done: 1 of the 10 in a second is one a second, nine left."""
    tally = Tally(Outlook({A: 10}, {A: 90}), 0.0)
    tally.add(answer("a"), 1.0)
    [row] = tally.rows(1.0)
    assert (row.done, row.due, row.rate, row.left_s) == (91, 100, 1.0, 9.0)


def test_speed_is_of_the_latest_answers() -> None:
    """A vendor that answered 1,000 a second and now one a second is told as it is now."""
    tally = Tally(Outlook({A: 2000}, {A: 0}), 0.0)
    for number in range(1000):
        tally.add(answer("a", 1), number / 1000)
    for number in range(200):
        tally.add(answer("a", 50), 1.0 + number)
    [row] = tally.rows(200.0)
    assert row.rate == pytest.approx(200 / 199)
    assert row.ttft_p50_ms == 50


def test_cost_is_the_vendors_own_figure_else_by_price_and_none_without_either() -> None:
    """Two dollars told by the vendor and three by price make five; nobody's price makes no figure."""
    tally = Tally(Outlook({A: 3, B: 1}, Counter(), {A: lambda usage: float(usage.output or 0)}), 0.0)
    tally.add(answer("a", usage=Usage(1, 7, cost_usd=2.0)), 1.0)
    tally.add(answer("a", usage=Usage(1, 3)), 1.0)
    tally.add(failure("a"), 1.0)
    tally.add(answer("b", usage=Usage(1, 3)), 1.0)
    first, second = tally.rows(2.0)
    assert (first.cost_usd, second.cost_usd) == (5.0, None)
    assert whole([first, second]).cost_usd == 5.0


def test_all_together_take_as_long_as_the_slowest() -> None:
    """Sums of counts and speeds, the longest time left, and none while one vendor's is unknown."""
    tally = Tally(Outlook({A: 2, B: 10}, Counter(), in_flight=Counter({A: 1, B: 4})), 0.0)
    tally.add(answer("a"), 1.0)
    assert whole(tally.rows(1.0)).left_s is None
    tally.add(answer("b"), 1.0)
    row = whole(tally.rows(1.0))
    assert (row.done, row.due, row.in_flight, row.rate, row.left_s) == (2, 12, 5, 2.0, 9.0)


def test_the_model_is_named_where_there_are_several() -> None:
    """One label under two models is two rows that can be told apart."""
    tally = Tally(Outlook({("m", "a"): 1, ("n", "a"): 1}, Counter()), 0.0)
    assert [row.name for row in tally.rows(1.0)] == ["m / a", "n / a"]
