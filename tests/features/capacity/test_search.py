"""The search for the load a vendor bears: bounded whatever the vendor does, and right where it can be."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from changing import replace
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.features.capacity.curve import next_step, requests_at, resolution
from vendor_verifier.features.capacity.values import Ended, LevelOutcome, LoadKind, SearchBounds, Step, Tried

BOUNDS = SearchBounds("concurrency", highest=256, samples=20, max_requests=20_000)
UNLOADED = Tried(1, "holds", 40)

kinds = st.sampled_from(["concurrency", "rate"])


def search(
    judge: Callable[[float], LevelOutcome], bounds: SearchBounds = BOUNDS, first: Tried = UNLOADED
) -> tuple[list[Tried], Ended]:
    """Play a whole search against a vendor who answers ``judge(level)``."""
    seen = [first]
    for _ in range(1000):
        step = next_step(seen, bounds)
        if isinstance(step, Ended):
            return seen, step
        asked = requests_at(step.level, bounds)
        outcome = judge(step.level)
        if seen[-1].level == step.level:
            seen[-1] = replace(seen[-1], outcome=outcome, requests=seen[-1].requests + asked)
        else:
            seen.append(Tried(step.level, outcome, asked))
    raise AssertionError("the search does not end")


@given(edge=st.floats(1, 400), kind=kinds, highest=st.integers(2, 300), step=st.floats(0.01, 0.5))
def test_the_edge_of_a_steady_vendor_is_found_within_one_step(
    edge: float, kind: LoadKind, highest: int, step: float
) -> None:
    """Who holds up to an edge and never above is told to within one step of it, or to hold to the highest level."""
    bounds = SearchBounds(kind, highest, samples=20, max_requests=10**9, step=step)
    _, ended = search(lambda level: "holds" if level <= edge else "broken", bounds)
    assert ended.capacity is not None
    assert ended.capacity <= max(edge, 1)
    if ended.reason == "highest":
        assert ended.capacity == highest
    else:
        # Three digits of a rate are the finest step there is.
        assert min(edge, highest) - ended.capacity <= max(resolution(ended.capacity, bounds), 0.01 * edge) + 1e-9
        assert ended.reason == "edge"


@given(seed=st.integers(0, 10_000), kind=kinds, max_requests=st.integers(0, 3000))
def test_no_vendor_makes_a_search_pass_its_budget_or_its_highest_level(
    seed: int, kind: LoadKind, max_requests: int
) -> None:
    """Whatever the outcomes, the search ends, within the requests and the levels it was given."""
    dice = random.Random(seed)
    bounds = replace(BOUNDS, kind=kind, max_requests=max_requests)
    outcomes: list[LevelOutcome] = ["holds", "holds", "undecided", "broken", "client"]
    seen, ended = search(lambda _: dice.choice(outcomes), bounds)
    assert sum(tried.requests for tried in seen[1:]) <= max(0, max_requests - UNLOADED.requests)
    assert all(UNLOADED.level <= tried.level <= bounds.highest for tried in seen)
    held = [tried.level for tried in seen if tried.outcome == "holds"]
    assert ended.capacity in held


@given(levels=st.integers(2, 60), noise=st.floats(0, 0.4), seed=st.integers(0, 1000))
def test_a_level_that_held_above_one_that_did_not_is_never_the_capacity(levels: int, noise: float, seed: int) -> None:
    """Noise may misplace the edge, but what is told lies below every level that failed."""
    dice = random.Random(seed)
    seen, ended = search(lambda level: "holds" if (level <= levels) != (dice.random() < noise) else "broken")
    failed = [tried.level for tried in seen if tried.outcome == "broken"]
    assert ended.capacity is not None
    assert all(ended.capacity < level for level in failed)


def test_levels_double_and_are_then_halved_in_between() -> None:
    """The order of levels is 2, 4, 8 … and then the middle, so that the first finding comes early."""
    seen, ended = search(lambda level: "holds" if level <= 11 else "broken")
    assert [tried.level for tried in seen] == [1, 2, 4, 8, 16, 12, 10, 11]
    assert ended == Ended("edge", 11)


def test_a_highest_rate_below_the_unloaded_one_is_tried_by_the_clock() -> None:
    """One request after the other may make more than the highest rate asked for: that one is tried, and told."""
    bounds = SearchBounds("rate", highest=5, samples=20, max_requests=20_000)
    unloaded = Tried(11.1, "holds", 40)
    seen, ended = search(lambda _: "holds", bounds, unloaded)
    assert [tried.level for tried in seen[1:]] == [5]
    assert ended == Ended("highest", 5)
    assert search(lambda _: "broken", bounds, unloaded)[1] == Ended("edge", None)


def test_a_level_that_stays_undecided_is_asked_more_and_then_does_not_hold() -> None:
    """Undecided levels get up to three times the requests; after that they bound the search from above."""
    seen, ended = search(lambda level: "holds" if level < 8 else "undecided")
    by_level = {tried.level: tried.requests for tried in seen}
    assert by_level[4] == 20 + 2 * 4
    assert by_level[8] == 3 * requests_at(8, BOUNDS) == 3 * (40 + 2 * 8)
    assert ended == Ended("edge", 7)


def test_a_vendor_that_misses_a_limit_unloaded_is_not_loaded() -> None:
    """Nothing is sent to find the capacity of who fails without any load."""
    assert next_step([replace(UNLOADED, outcome="broken")], BOUNDS) == Ended("unloaded", None)


def test_a_vendor_that_answers_nothing_has_no_rate_to_begin_with() -> None:
    """Limits that a silent vendor keeps do not make a search begin at 0 requests a second."""
    bounds = SearchBounds("rate", highest=5, samples=20, max_requests=20_000)
    assert next_step([Tried(0.0, "holds", 40)], bounds) == Ended("unloaded", None)


def test_the_client_s_limit_is_not_the_vendor_s() -> None:
    """Where our own process was the limit, the search says so instead of naming an edge."""
    _, ended = search(lambda level: "holds" if level <= 32 else "client")
    assert ended == Ended("client", 32)


def test_a_budget_that_runs_out_says_what_was_known_by_then() -> None:
    """The last level that held is told with the reason why nothing higher was tried."""
    _, ended = search(lambda _: "holds", replace(BOUNDS, max_requests=200))
    assert ended == Ended("requests", 8)


def test_every_place_is_filled_several_times() -> None:
    """A level of 64 in flight takes at least four times as many requests, in whole rounds of the samples."""
    assert next_step([UNLOADED, Tried(32, "holds", 140)], BOUNDS) == Step(64, 13)


def test_a_search_without_the_unloaded_level_is_a_mistake() -> None:
    """There is nothing to compare quality with."""
    with pytest.raises(ValueError, match="unloaded"):
        next_step([], BOUNDS)
