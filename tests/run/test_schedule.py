"""Due times of an open loop and the opening of places."""

from __future__ import annotations

import math
from itertools import islice, pairwise, takewhile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.records.plan import LoadShape
from vendor_verifier.run.schedule import due_times, offered, opening_times


def times(shape: LoadShape, count: int, seed: int = 0) -> list[float]:
    return list(islice(due_times(shape, seed), count))


def test_a_constant_rate_is_evenly_spaced() -> None:
    """At R a second the k-th request is due after k ÷ R seconds."""
    assert times(LoadShape(request_rate=4), 5) == [0, 0.25, 0.5, 0.75, 1.0]


def test_poisson_gaps_have_the_mean_and_the_spread_of_an_exponential() -> None:
    """Gaps at R a second have mean 1 ÷ R and the same standard deviation, and are not all alike."""
    found = times(LoadShape(request_rate=50, arrival="poisson"), 20_000)
    gaps = [later - earlier for earlier, later in pairwise(found)]
    mean = sum(gaps) / len(gaps)
    deviation = math.sqrt(sum((gap - mean) ** 2 for gap in gaps) / len(gaps))
    assert mean == pytest.approx(0.02, rel=0.03)
    assert deviation == pytest.approx(0.02, rel=0.05)


def test_the_seed_decides_a_poisson_schedule() -> None:
    """The same seed offers every vendor the same load, another seed another one."""
    shape = LoadShape(request_rate=50, arrival="poisson")
    assert times(shape, 50, 1) == times(shape, 50, 1) != times(shape, 50, 2)


@given(rate=st.floats(0.1, 500), ramp_s=st.floats(0.1, 100), share=st.floats(0.1, 3))
def test_a_rate_grows_linearly(rate: float, ramp_s: float, share: float) -> None:
    """Until t, R·t² ÷ 2r requests were due while the rate grew, and R·(t − r ÷ 2) afterwards, to within one."""
    t = share * ramp_s
    offered = rate * t * t / (2 * ramp_s) if t < ramp_s else rate * (t - ramp_s / 2)
    due = times(LoadShape(request_rate=rate, ramp_up_s=ramp_s), int(offered) + 3)
    assert abs(sum(moment < t for moment in due) - offered) <= 1 + 1e-6
    assert due == sorted(due)


def test_a_given_schedule_is_kept() -> None:
    """A schedule is replayed as it stands and ends."""
    schedule = (0.5, 0.5, 2.0)
    assert tuple(due_times(LoadShape(schedule=schedule), 0)) == schedule


def test_places_open_one_after_the_other() -> None:
    """The first place opens at once, the last when the ramp is over; without a ramp all open at once."""
    assert opening_times(5, 2.0) == [0, 0.5, 1.0, 1.5, 2.0]
    assert opening_times(1, 2.0) == [0]
    assert opening_times(3, 0.0) == [0, 0, 0]


@given(places=st.integers(1, 40), turns=st.integers(1, 6), at=st.floats(0, 1))
def test_entries_that_share_places_open_them_in_turn(places: int, turns: int, at: float) -> None:
    """Until the ramp is over as many are open as one entry alone would have; then each entry may use them all."""
    alone = sum(opens_s <= at for opens_s in opening_times(places, 1.0))
    shared = [opening_times(places, 1.0, turn, turns) for turn in range(turns)]
    together = sum(opens_s <= at for times in shared for opens_s in times)
    assert at == 1 or places == 1 or together == alone
    assert all(times[-1] == (1.0 if places > 1 else 0.0) for times in shared)


@given(rate=st.floats(0.5, 500), ramp_s=st.floats(0, 20), at_s=st.floats(0, 60))
def test_what_is_offered_until_then_is_what_was_due_by_then(rate: float, ramp_s: float, at_s: float) -> None:
    """Λ(t) and the due times are each other's inverse: between them lies less than one request."""
    shape = LoadShape(request_rate=rate, ramp_up_s=ramp_s)
    due = sum(1 for _ in takewhile(lambda due_s: due_s < at_s, due_times(shape, 0)))
    assert due == pytest.approx(offered(shape, at_s), abs=1.001)
