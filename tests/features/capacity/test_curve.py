"""What the levels of one vendor say together: capacity, what gave way first, and what they cannot say."""

from __future__ import annotations

from changing import replace
from load_levels import BOUNDS, SAMPLES, Conduct, curve, visit

from vendor_verifier.features.capacity.curve import standing
from vendor_verifier.features.capacity.text import verdict
from vendor_verifier.features.capacity.values import Ended, Session, Step
from vendor_verifier.words import Texts

GOOD, SLOW, MISSING = Conduct(), Conduct(ttft_ms=2500), Conduct(misses=0.5)


def test_the_first_to_give_way_is_named_with_its_level() -> None:
    """Between eight that holds and nine that does not, the vendor bears eight; what broke at nine is the cause."""
    known = curve()
    visit(known, GOOD, "unloaded", 1, repetitions=2)
    for level, conduct in ((4, GOOD), (8, GOOD), (16, SLOW), (12, MISSING), (10, MISSING), (9, MISSING)):
        visit(known, conduct, "level", level)
    found = known.concluded()
    assert (found.capacity, found.reason, found.broke_at) == (8, "edge", 9)
    assert [limit.threshold.metric for limit in found.gave_way] == ["f1"]
    assert [point.level for point in found.points] == [1, 4, 8, 9, 10, 12, 16]


def test_refusals_are_named_before_what_they_bring_about() -> None:
    """Where several limits break at once, a rate limit comes first and latency before quality."""
    known = curve()
    visit(known, GOOD, "unloaded", 1, repetitions=2)
    refusing = Conduct(fails=0.3, failure="rate_limited", status=429, misses=0.6, ttft_ms=2500)
    point = visit(known, refusing, "level", 2)
    assert [limit.aspect for limit in point.missed] == ["rate_limit", "latency", "quality"]


def test_a_vendor_that_got_worse_meanwhile_is_not_said_to_have_given_way() -> None:
    """When the unloaded answers afterwards miss the same limit, load is not the cause."""
    known = curve()
    visit(known, GOOD, "unloaded", 1, repetitions=2)
    visit(known, MISSING, "level", 2)
    visit(known, MISSING, "afterwards", 1)
    assert known.concluded().reason == "drifted"
    healthy = curve()
    visit(healthy, GOOD, "unloaded", 1, repetitions=2)
    visit(healthy, MISSING, "level", 2)
    visit(healthy, GOOD, "afterwards", 1)
    assert healthy.concluded().reason == "edge"


def test_more_of_an_undecided_level_is_one_level() -> None:
    """What is asked in a second session joins the first: requests add up, repetitions are not mixed up."""
    known = curve()
    visit(known, GOOD, "unloaded", 1, repetitions=2)
    visit(known, GOOD, "level", 8)
    point = visit(known, GOOD, "level", 8, repetitions=2)
    assert point.requests == 3 * len(SAMPLES)
    assert [tried.requests for tried in known.tried()] == [80, 120]


def test_a_cut_level_changes_nothing_but_the_reason() -> None:
    """A level that time ran out on neither holds nor fails."""
    known = curve()
    visit(known, GOOD, "unloaded", 1, repetitions=2)
    visit(known, GOOD, "level", 2)
    visit(known, SLOW, "level", 4, session=Session("cut", "level", 4, 0, 1, 40, cut="time"))
    found = known.concluded("time")
    assert (found.capacity, found.reason, found.broke_at) == (2, "time", None)


def test_a_search_judged_again_says_where_nothing_was_measured() -> None:
    """Other limits move the edge to where no level was tried; that is told instead of being guessed."""
    known = curve()
    visit(known, GOOD, "unloaded", 1, repetitions=2)
    visit(known, GOOD, "level", 8)
    visit(known, MISSING, "level", 16)
    found = known.concluded()
    assert (found.capacity, found.reason) == (8, "edge")
    assert "nothing was measured between 8 and 16" in found.notes


def test_what_is_missed_without_load_is_told_with_its_own_figure() -> None:
    """Judged again by a limit that nothing keeps: the answers without load are named, not the lowest level."""
    known = curve()
    visit(known, Conduct(ttft_ms=2500), "unloaded", 1, repetitions=2)
    visit(known, Conduct(ttft_ms=3500), "level", 2)
    found = known.concluded()
    assert (found.reason, found.broke_at) == ("unloaded", None)
    (limit,) = found.gave_way
    assert limit.estimate.value == 2500


def test_nothing_sent_is_nothing_found() -> None:
    """A search that was interrupted before its first answer has no points and no capacity."""
    found = curve().concluded("interrupted")
    assert (found.capacity, found.reason, found.points) == (None, "interrupted", ())


def test_a_limit_without_a_figure_is_told_and_not_held_against_anybody() -> None:
    """Questions that make nobody call a tool leave F1 unmeasured; the level holds and the note says why."""
    known = curve()
    silent = Conduct(misses=1.0)
    visit(known, silent, "unloaded", 1, repetitions=2)
    assert visit(known, silent, "level", 2).outcome == "holds"
    notes = " ".join(known.concluded("requests").notes)
    assert "not measured, so not judged: f1 >= ceiling - 0.05" in notes


def test_a_rate_begins_with_what_one_request_after_the_other_makes() -> None:
    """By rate the unloaded level is its own throughput, half a request a second for answers of two seconds."""
    known = curve(bounds=replace(BOUNDS, kind="rate"))
    point = visit(known, GOOD, "unloaded", 1, repetitions=2)
    assert point.level == 0.5
    assert known.tried()[0].level == 0.5


def test_a_session_that_we_spoilt_is_paid_for_and_judged_by_nobody() -> None:
    """The level is sent once more, numbered on; what it took is gone from the budget and not from the level's share."""
    known = curve(bounds=replace(BOUNDS, max_requests=2 * len(SAMPLES) + 200))
    visit(known, Conduct(), "unloaded", 1, repetitions=2)
    assert isinstance(known.next_step(), Step)
    known.set_aside(Session("lost", "level", 2, 0, 1, 150, lost=1, words="told"))
    assert known.repetitions_at("level", 2) == 1
    assert not known.has_room_for(60)
    visit(known, Conduct(), "level", 2)
    assert [tried.requests for tried in known.tried()] == [2 * len(SAMPLES), len(SAMPLES)]
    assert known.next_step() == Ended("requests", 2)
    found = known.concluded()
    assert (found.requests, found.notes[:1]) == (150 + 3 * len(SAMPLES), ("told",))
    assert [(point.level, point.outcome) for point in found.points] == [(1, "holds"), (2, "holds")]


def test_a_level_that_could_not_be_measured_is_no_verdict_on_the_vendor() -> None:
    """Workers of ours were lost in it twice: it is neither borne nor broken, and what was shown before stays."""
    known = curve()
    visit(known, Conduct(), "unloaded", 1, repetitions=2)
    visit(known, Conduct(), "level", 2)
    point = known.add(Session("lost", "level", 4, 0, 1, 40, lost=1, cut="workers"), [])
    assert (point.outcome, point.requests) == ("cut", 0)
    found = known.concluded("workers")
    assert (found.capacity, found.reason, found.broke_at) == (2, "workers", None)
    assert standing(found, None) == "unknown"
    assert verdict(found, "concurrency", Texts())
    alone = curve()
    alone.add(Session("lost", "unloaded", 1, 0, 2, 40, lost=1, cut="workers"), [])
    assert alone.concluded("workers").capacity is None
