"""One level against the unloaded answers: what counts against it, what does not, and whose limit it is."""

from __future__ import annotations

import pytest
from changing import replace
from load_levels import SAMPLES, Conduct, curve, visit

from vendor_verifier.features.capacity.level import limit_outcome
from vendor_verifier.features.capacity.values import LevelOutcome, Point, Session
from vendor_verifier.gates.thresholds import parse_threshold
from vendor_verifier.values.estimate import Estimate

GOOD = Conduct()
LIMITED = Session("limited", "level", 8, 0, 1, 40, lag_p99_ms=80.0, client_limited=True)


def at_level(conduct: Conduct, *limits: str, session: Session | None = None, repetitions: int = 1) -> Point:
    """Eight in flight after a faultless unloaded level."""
    known = curve(limits)
    visit(known, GOOD, "unloaded", 1, repetitions=2)
    return visit(known, conduct, "level", 8, session=session, repetitions=repetitions)


@pytest.mark.parametrize(
    ("conduct", "aspect", "subject"),
    [
        (Conduct(misses=0.5), "quality", "f1"),
        (Conduct(spoils=0.5), "quality", "schema_accuracy"),
        (Conduct(ttft_ms=2500), "latency", "avg_ttft_ms.p95"),
        (Conduct(fails=0.3), "success", "success_rate"),
        (Conduct(fails=0.3, failure="rate_limited", status=429), "rate_limit", "success_rate"),
        (Conduct(fails=0.3, failure="api_error_in_200", status=429), "rate_limit", "success_rate"),
    ],
)
def test_a_level_breaks_for_the_one_thing_that_is_wrong_with_it(conduct: Conduct, aspect: str, subject: str) -> None:
    """Quality, latency, failures and rate limits are told apart, and none of them drags another limit along."""
    point = at_level(conduct)
    assert point.outcome == "broken"
    assert [(limit.aspect, limit.threshold.subject) for limit in point.missed] == [(aspect, subject)]


def test_a_level_like_the_unloaded_one_holds() -> None:
    """The same answers at the same speed miss no limit."""
    point = at_level(GOOD)
    assert point.outcome == "holds"
    assert (point.f1, point.schema_accuracy, point.requests, point.succeeded) == (1.0, 1.0, 40, 40)
    # 40 of 40 is as good as can be, and still does not show 0.99.
    assert {limit.threshold.metric: limit.outcome for limit in point.limits}["success_rate"] == "met"


def test_quality_is_judged_by_the_vendor_s_own_noise() -> None:
    """Who disagrees with itself unloaded is not charged for disagreeing as much under load."""
    known = curve()
    visit(known, GOOD, "unloaded", 1, repetitions=1)
    visit(known, Conduct(misses=0.3), "unloaded", 1, repetitions=1)
    point = visit(known, Conduct(misses=0.3), "level", 8)
    assert point.f1 is not None
    assert point.f1 < 0.95
    assert "f1" not in [limit.threshold.metric for limit in point.missed]


def test_a_near_miss_is_undecided_and_more_of_the_same_decides_it() -> None:
    """One failure of forty may be one in a hundred; thirty of twelve hundred may not."""
    assert at_level(Conduct(fails=0.02)).outcome == "undecided"
    assert at_level(Conduct(fails=0.02), repetitions=30).outcome == "broken"


@pytest.mark.parametrize(
    ("conduct", "outcome"),
    [
        (GOOD, "holds"),
        (Conduct(ttft_ms=2500), "client"),
        (Conduct(misses=0.5), "broken"),
        (Conduct(misses=0.5, ttft_ms=2500), "broken"),
        (Conduct(fails=0.3, failure="rate_limited", status=429), "broken"),
        (Conduct(fails=0.3, failure="timeout_idle", status=None), "client"),
    ],
)
def test_our_own_process_is_blamed_only_for_what_it_can_spoil(conduct: Conduct, outcome: LevelOutcome) -> None:
    """A late event loop explains late tokens and time-outs; it neither misses tool calls nor answers 429."""
    assert at_level(conduct, session=LIMITED).outcome == outcome


def test_what_was_cut_short_is_not_judged() -> None:
    """A level that was not sent to its end says so, whatever its figures."""
    assert at_level(Conduct(misses=0.5), session=replace(LIMITED, cut="time")).outcome == "cut"


def test_throughput_is_over_the_time_of_sending() -> None:
    """Forty answers of two seconds with eight at a time: ten seconds, four answers and 320 tokens a second."""
    point = at_level(GOOD)
    assert point.seconds == pytest.approx(2.0 * len(SAMPLES) / 8)
    assert point.requests_per_s == pytest.approx(4.0)
    assert point.tokens_per_s == pytest.approx(320.0)
    assert point.in_flight == pytest.approx(8.0)


@pytest.mark.parametrize(
    ("text", "estimate", "outcome"),
    [
        ("success_rate >= 0.9", Estimate(0.95, 0.91, 0.99), "kept"),
        ("success_rate >= 0.9", Estimate(0.95, 0.85, 0.99), "met"),
        ("success_rate >= 0.9", Estimate(0.89, 0.85, 0.99), "missed"),
        ("success_rate >= 0.9", Estimate(0.5, 0.4, 0.6), "broken"),
        ("success_rate >= 0.9", Estimate(None), "unmeasured"),
        ("f1 >= ceiling - 0.05", Estimate(-0.04, -0.2, 0.1), "met"),
        ("f1 >= ceiling - 0.05", Estimate(-0.06, -0.2, 0.1), "missed"),
        ("avg_ttft_ms.p95 <= 100", Estimate(90, 80, None), "met"),
        ("avg_ttft_ms.p95 <= 100", Estimate(120, 101, None), "broken"),
    ],
)
def test_the_interval_decides_and_the_figure_leans(text: str, estimate: Estimate, outcome: str) -> None:
    """Only a whole interval keeps or breaks a limit; else the figure tells which way it leans."""
    assert limit_outcome(parse_threshold(text), estimate) == outcome
