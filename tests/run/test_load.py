"""Shaped loads against a server on loopback: who is asked when, what counts, and what is measured from the schedule."""

from __future__ import annotations

import time
from collections import Counter
from itertools import islice, pairwise
from statistics import fmean, pstdev

import anyio
import pytest
from asking import Ran, entry, run
from costs import LONG_S, PATIENCE_S, held_until
from fault_server import GOOD, FaultServer, Script, Seen, after, whole
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.records.plan import LoadShape, RetryRules
from vendor_verifier.records.record import Record, Score
from vendor_verifier.records.sample import Sample
from vendor_verifier.run.load import LoadReport, due_times, lag_ms
from vendor_verifier.suites import Play

pytestmark = pytest.mark.anyio
UNCAPPED = 1000


def report(ran: Ran, label: str = "a") -> LoadReport:
    told: LoadReport = ran.end.load["model", label]
    return told


async def test_requests_begin_when_they_are_due_whatever_happens(server: FaultServer) -> None:
    """At 100 a second all have been sent though the first answer waits for the last question; none is early, and each
    record knows its moment."""
    server.answer = lambda _: Script(held_until(lambda: len(server.seen) == 30, GOOD), "keep")
    began_ns = time.perf_counter_ns()
    ran = await run([entry(server, "a")], 30, load=LoadShape(request_rate=100), request_concurrency=UNCAPPED)
    assert server.most_in_flight["a"] == 30
    assert all(one.at_ns - began_ns >= place * 10_000_000 for place, one in enumerate(server.seen))
    assert sorted(record.offered_s for record in ran.records if record.offered_s is not None) == [
        pytest.approx(0.01 * place) for place in range(30)
    ]
    lags = [lag_ms(record) for record in ran.records]
    assert all(lag is not None and lag >= 0 for lag in lags)
    told = report(ran)
    assert (told.begun, told.held_back) == (30, 0)
    assert told.lag_p99_ms == max(lag for lag in lags if lag is not None)


def due_to(record: Record, moment: str) -> float:
    """Milliseconds from when a record was due to a moment of its last attempt."""
    timing = record.turns[-1].attempts[-1].timing
    assert timing is not None
    assert timing.scheduled_ns is not None
    return float(getattr(timing, moment) - timing.scheduled_ns) / 1e6


async def test_a_retry_is_not_scheduled_again(server: FaultServer) -> None:
    """What failed first is late by the failed attempt and the wait; others keep their moments."""
    failed: set[int] = set()

    def answer(seen: Seen) -> Script:
        question = int(seen.body["messages"][0]["content"])
        if question % 5 == 0 and question not in failed:
            failed.add(question)
            return Script([(0, whole({"error": {"message": "no"}}, 500, retry_after_ms=400))], "keep")
        return after(0)

    server.answer = answer
    ran = await run(
        [entry(server, "a")], 20,
        load=LoadShape(request_rate=100), request_concurrency=UNCAPPED, retry=RetryRules(1, 1.0),
    )  # fmt: skip
    for record in ran.records:
        assert due_to(record, "first_token_ns") >= 400 or len(record.turns[0].attempts) == 1
    assert sum(len(record.turns[0].attempts) == 2 for record in ran.records) == 4
    assert len(server.seen) == 24


async def test_a_refused_load_is_offered_all_the_same(server: FaultServer) -> None:
    """429s with a long Retry-After neither pause an open loop nor take its places away."""
    server.answer = lambda _: Script([(0, whole({"error": {"message": "no"}}, 429, retry_after=LONG_S))], "keep")
    with anyio.fail_after(PATIENCE_S):
        ran = await run(
            [entry(server, "a")], 60,
            load=LoadShape(request_rate=200), request_concurrency=UNCAPPED, retry=RetryRules(0, LONG_S),
        )  # fmt: skip
    assert ran.kinds("a") == ["rate_limited"] * 60
    assert ran.end.eased == {}


async def test_a_full_cap_is_counted_and_kept(server: FaultServer) -> None:
    """With three in flight at the most no more are sent, those that found none free are counted, and all are asked."""
    server.answer = lambda _: after(0.05)
    ran = await run([entry(server, "a")], 20, load=LoadShape(request_rate=400), request_concurrency=3)
    told = report(ran)
    assert (server.most_in_flight["a"], told.cap, len(ran.records)) == (3, 3, 20)
    assert told.held_back >= 12
    assert told.lag_p99_ms is not None
    assert told.lag_p99_ms > 150


@pytest.mark.parametrize("rate", [None, 200.0])
async def test_warm_up_is_sent_and_not_recorded(server: FaultServer, rate: float | None) -> None:
    """Each vendor gets them on top of what counts; only that is recorded, and connections are warm when it begins."""
    server.answer = lambda seen: after(0.01)
    shape = LoadShape(request_rate=rate, warmup=6)
    ran = await run([entry(server, "a"), entry(server, "b")], 10, load=shape, request_concurrency=3)
    for vendor in "ab":
        told = report(ran, vendor)
        assert (told.begun, told.warmup) == (10, 6)
        assert len(server.by_vendor(vendor)) == 16
        assert len({record.key for record in ran.of(vendor)}) == 10
        # Both are at one address, so that either may take a connection that the other opened.
        warmed = {one.connection for each in "ab" for one in server.by_vendor(each)[:6]}
        assert rate or {one.connection for one in server.by_vendor(vendor)} <= warmed


async def test_a_run_by_duration_asks_until_the_time_is_over(server: FaultServer) -> None:
    """Samples are asked again and again as repetitions, every one that was begun has a record, and it ends in time."""
    server.answer = lambda seen: after(0.01 if seen.vendor == "a" else 0.3)
    both, began_s = [entry(server, "a"), entry(server, "b")], time.monotonic()
    with anyio.fail_after(PATIENCE_S):
        ran = await run(both, 3, load=LoadShape(duration_s=0.6), request_concurrency=2)
    assert time.monotonic() - began_s >= 0.6
    for vendor in "ab":
        records = ran.of(vendor)
        assert len({record.key for record in records}) == len(records) == report(ran, vendor).begun
        asked = Counter(record.sample for record in records)
        assert max(asked.values()) - min(asked.values()) <= 1
        assert report(ran, vendor).repetitions == max(asked.values())
        assert len(records) >= 2


async def test_a_warm_up_that_stops_its_vendor_leaves_a_record(server: FaultServer) -> None:
    """Without one the report would say that nothing was planned."""
    server.answer = lambda _: Script([(0, whole({"error": {"message": "Incorrect API key"}}, 401))], "keep")
    with anyio.fail_after(PATIENCE_S):
        ran = await run([entry(server, "a")], load=LoadShape(duration_s=LONG_S, warmup=1), request_concurrency=1)
    assert (ran.kinds("a"), report(ran).begun) == (["skipped"], 1)


@pytest.mark.parametrize(
    "shape", [LoadShape(request_rate=200), LoadShape(request_rate=200, duration_s=LONG_S), LoadShape(ramp_up_s=1e-9)]
)
async def test_a_spending_limit_ends_a_load(server: FaultServer, shape: LoadShape) -> None:
    """When nothing more may be sent it ends, and what was sent is recorded."""
    with anyio.fail_after(PATIENCE_S):
        ran = await run([entry(server, "a")], 500, load=shape, request_concurrency=UNCAPPED, max_requests=20)
    assert len(server.seen) == len(ran.records) == 20 == report(ran).begun
    assert ran.end.limit is not None


class Talk:
    """An evaluation of three turns."""

    name = "trigger"

    def play(self, sample: Sample) -> Play:
        for _ in range(3):
            yield sample.turn
        return lambda: Score("trigger")


async def test_further_turns_follow_by_themselves(server: FaultServer) -> None:
    """Only first turns keep the schedule; the others follow their own answer at once, and all are timed from when the
    conversation was due."""
    server.answer = lambda _: after(0.05)
    ran = await run([entry(server, "a")], 4, suite=Talk(), load=LoadShape(request_rate=20))
    assert len(server.seen) == 12
    for record in ran.records:
        scheduled = [turn.attempts[0].timing for turn in record.turns]
        waited_ms = [-timing.scheduled_ns / 1e6 for timing in scheduled if timing and timing.scheduled_ns is not None]
        assert waited_ms == sorted(waited_ms)
        assert waited_ms[1] >= 50
        assert waited_ms[2] >= 100
        assert due_to(record, "end_ns") >= 150


def times(shape: LoadShape, count: int) -> list[float]:
    return list(islice(due_times(shape, 0), count))


def test_poisson_gaps_have_the_mean_and_the_spread() -> None:
    """Gaps at R a second have mean 1 ÷ R and the same standard deviation, and are not all equal."""
    found = times(LoadShape(request_rate=50, arrival="poisson"), 10_000)
    gaps = [later - earlier for earlier, later in pairwise(found)]
    assert fmean(gaps) == pytest.approx(0.02, rel=0.03)
    assert pstdev(gaps) == pytest.approx(0.02, rel=0.05)


@given(rate=st.floats(0.1, 500), ramp_s=st.floats(0.1, 100), share=st.floats(0.1, 3))
def test_a_rate_grows_linearly(rate: float, ramp_s: float, share: float) -> None:
    """Until t, R·t² ÷ 2r requests were due while the rate grew, and R·(t − r ÷ 2) afterwards, to within one."""
    t = share * ramp_s
    offered = rate * t * t / (2 * ramp_s) if t < ramp_s else rate * (t - ramp_s / 2)
    due = times(LoadShape(request_rate=rate, ramp_up_s=ramp_s), int(offered) + 3)
    assert abs(sum(moment < t for moment in due) - offered) <= 1 + 1e-6
    assert due == sorted(due)


STOOD_STILL_S = 0.4


async def test_what_was_due_while_we_stopped_is_marked(server: FaultServer) -> None:
    """Twelve due within a tenth of a second, one at a time: the last waited for all others as well. In a closed loop
    nothing is due, so that nothing is late."""
    server.answer = lambda _: after(0.03)
    ran = Ran()

    async def stand_still() -> None:
        while len(server.seen) < 2:
            await anyio.sleep(0.005)
        time.sleep(STOOD_STILL_S)  # Nobody else of this process goes on meanwhile.

    async with anyio.create_task_group() as group:
        group.start_soon(stand_still)
        await run([entry(server, "a")], 12, into=ran, load=LoadShape(request_rate=100), request_concurrency=1)
    ordered = sorted(ran.records, key=lambda each: each.offered_s or 0)
    last = ordered[-1].turns[0].attempts[0].timing
    assert last is not None
    assert -(last.scheduled_ns or 0) > (last.begun_late_ns or 0) >= 0.8e9 * STOOD_STILL_S
    closed = await run([entry(server, "b")], 1)
    timing = closed.records[0].turns[0].attempts[0].timing
    assert timing is not None
    assert timing.begun_late_ns is None
