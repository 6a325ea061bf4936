"""An account book that closes at a moment."""

from __future__ import annotations

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
