"""Fewer requests at a time for an account that keeps refusing, and slowly more again when it stops."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.run.rate_limiter import Easing


def heard(easing: Easing, share: float, answers: int, seed: int = 1) -> Easing:
    """Let the account refuse this share of its answers."""
    rng = random.Random(seed)
    for _ in range(answers):
        easing.heard(is_limited=rng.random() < share)
    return easing


def test_a_vendor_that_refuses_now_and_then_keeps_its_places() -> None:
    """One refusal in eight is what Retry-After is for."""
    assert not heard(Easing(8), 0.125, 1000).was_lowered


def test_a_vendor_that_mostly_refuses_goes_down_to_one_and_comes_back() -> None:
    """Nine in ten refused: the limit is real. Then quiet: every place returns, and no more than were given."""
    easing = heard(Easing(8), 0.9, 100)
    assert (easing.now, easing.lowest) == (1, 1)
    assert heard(easing, 0.0, 200).now == 8


@given(st.lists(st.booleans(), max_size=300), st.integers(1, 32))
def test_places_stay_between_one_and_what_was_given(answers: list[bool], given_places: int) -> None:
    """Whatever a vendor answers, somebody may ask, and never more than the plan allows."""
    easing = Easing(given_places)
    in_use = given_places
    for is_limited in answers:
        easing.heard(is_limited=is_limited)
        in_use += easing.places_back() - 1
        assert 1 <= easing.lowest <= easing.now <= given_places
        assert 0 <= in_use <= given_places
