"""An account book that closes at a moment."""

from __future__ import annotations

import pickle

from vendor_verifier.run.budgets import GuardedSpending


def test_nothing_is_given_after_the_moment_and_what_was_counted_stays() -> None:
    """Before it requests are counted as ever, from it on they are refused, and it is told apart from a spent budget."""
    now = [0.0]
    guard = GuardedSpending(until_s=10.0, clock=lambda: now[0])
    assert guard.take()
    now[0] = 10.0
    assert not guard.take()
    assert (guard.requests, guard.is_late, guard.reason) == (1, True, None)


def test_money_still_ends_it_first() -> None:
    """A used-up cost limit refuses before time is up, and says which limit it was."""
    guard = GuardedSpending(max_cost_usd=1.0, cost_usd=1.0, until_s=10.0, clock=lambda: 0.0)
    assert not guard.take()
    assert not guard.is_late
    assert "--max-cost 1 was reached" in str(guard.reason)


def test_books_that_travel_take_the_time_that_is_left_and_come_back() -> None:
    """A machine whose clock shows something else closes them after as many seconds; what it counted goes on here."""
    guard = GuardedSpending(max_cost_usd=5.0, cost_usd=1.0, requests=7, until_s=110.0, clock=lambda: 100.0)
    there = pickle.loads(pickle.dumps(guard))
    assert 0 < there.until_s - there.clock() <= 10.0
    assert (there.requests, there.cost_usd, there.max_cost_usd) == (7, 1.0, 5.0)
    assert there.take()
    there.until_s = there.clock()
    assert not there.take()
    guard.take_over(there.books())
    assert (guard.requests, guard.is_late, guard.until_s) == (8, True, 110.0)
    # Without an end there is none elsewhere either.
    assert pickle.loads(pickle.dumps(GuardedSpending())).take()
