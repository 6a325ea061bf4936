"""Fewer requests at a time for an account that keeps refusing, and slowly more again when it stops."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.run.rate_limiter import ConcurrencyBackoff


def heard(backoff: ConcurrencyBackoff, share: float, answers: int, seed: int = 1) -> ConcurrencyBackoff:
    """Let the account refuse this share of its answers."""
    rng = random.Random(seed)
    for _ in range(answers):
        backoff.attempt_ended(is_limited=rng.random() < share)
    return backoff


def test_a_vendor_that_refuses_now_and_then_keeps_its_places() -> None:
    """One refusal in eight is what Retry-After is for."""
    assert not heard(ConcurrencyBackoff(8), 0.125, 1000).was_lowered


def test_a_vendor_that_mostly_refuses_goes_down_to_one_and_comes_back() -> None:
    """Nine in ten refused: the limit is real. Then quiet: every place returns, and no more than were given."""
    backoff = heard(ConcurrencyBackoff(8), 0.9, 100)
    assert (backoff.now, backoff.lowest) == (1, 1)
    assert heard(backoff, 0.0, 200).now == 8


@given(st.lists(st.booleans(), max_size=300), st.integers(1, 32))
def test_places_stay_between_one_and_what_was_given(answers: list[bool], given_places: int) -> None:
    """Whatever a vendor answers, somebody may ask, and never more than the plan allows."""
    backoff = ConcurrencyBackoff(given_places)
    in_use = given_places
    for is_limited in answers:
        backoff.attempt_ended(is_limited=is_limited)
        in_use += backoff.places_back() - 1
        assert 1 <= backoff.lowest <= backoff.now <= given_places
        assert 0 <= in_use <= given_places
