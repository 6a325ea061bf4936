"""The watch of the event loop notices what holds it up, and nothing else."""

from __future__ import annotations

import time

import anyio
import pytest
from asking import entry, run
from costs import least_of
from fault_server import DONE, FaultServer, Script, Seen, say, stream, text
from manifests import some_manifest

from vendor_verifier.pipeline.run_warnings import run_warnings
from vendor_verifier.run import event_loop_lag
from vendor_verifier.run.event_loop_lag import LoopLag
from vendor_verifier.scoring.answer import LOOP_LAG


@pytest.mark.anyio
async def test_a_stall_is_noticed_before_its_own_timer_can_tell() -> None:
    """What is asked right after the loop was held up learns of it, and later attempts do not."""
    with LoopLag() as lag:
        await anyio.sleep(0.05)
        began_ns = time.perf_counter_ns()
        time.sleep(0.12)  # this is what must be noticed
        ended_ns = time.perf_counter_ns()
        assert (lag.lateness_ns(began_ns, ended_ns) or 0) > 90_000_000
        await anyio.sleep(0.05)
        assert (lag.lateness_ns(began_ns, ended_ns) or 0) > 90_000_000

        async def later_ns() -> float:
            await anyio.sleep(0)
            now_ns = time.perf_counter_ns()
            return lag.lateness_ns(now_ns, now_ns) or 0

        # A busy machine holds loops up of its own accord, but not at every moment.
        assert await least_of(later_ns, 1) == 0
    assert lag.report().stalls >= 1


@pytest.mark.anyio
async def test_rows_under_way_during_a_stall_are_flagged_and_no_others(
    server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was being timed while the loop stood still says so; what was asked before or after does not."""
    # A busy machine holds loops up for 50 ms now and then, and never for a second.
    monkeypatch.setattr(event_loop_lag, "STALL_NS", 1_000_000_000)

    def answer(seen: Seen) -> Script:
        if seen.number == 2:
            time.sleep(1.3)  # this is what must be noticed: the server shares the run's loop
        return say(stream(text("hello"), DONE))

    server.answer = answer
    ran = await run([entry(server, "a")], 5, request_concurrency=1)
    finals = [record.final for record in ran.records]
    flags = [LOOP_LAG in final.response.anomalies for final in finals if final and final.response]
    assert flags == [False, False, True, False, False]


@pytest.mark.anyio
async def test_a_watch_that_is_over_finds_nothing() -> None:
    """Neither before nor after it watches is anything said of how late we were."""
    assert LoopLag().lateness_ns(0, time.perf_counter_ns()) is None
    with LoopLag() as lag:
        pass
    assert lag.lateness_ns(0, time.perf_counter_ns()) is None


def test_percentiles_are_told_to_within_a_bucket(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand known lags: p50, p99 and the largest come out within 5 %."""
    monkeypatch.setattr(event_loop_lag, "MIN_WATCH_S", 0.0)
    lag = LoopLag()
    for late_ms in range(1, 1001):
        lag._count(late_ms * 100_000)
    report = lag.report()
    assert report.p50_ms == pytest.approx(50, rel=0.05)
    assert report.p99_ms == pytest.approx(99, rel=0.05)
    assert (report.max_ms, report.stalls) == (100, 500)


def test_a_short_watch_gives_no_number() -> None:
    """Half a second says nothing about the tail."""
    lag = LoopLag()
    lag._began_s = time.perf_counter()
    lag._count(60_000_000)
    assert lag.report().p99_ms is None


def test_the_report_warns_of_a_late_loop_and_a_full_core() -> None:
    """Beyond 50 ms at p99 and 0.7 of a core the reader is told; below, and where nothing is known, is not."""
    assert list(run_warnings(some_manifest(event_loop={"p99_ms": 50.0, "core_share": 0.7}))) == []
    assert list(run_warnings(some_manifest(event_loop={"p99_ms": None, "core_share": None}))) == []
    late, full = run_warnings(some_manifest(event_loop={"p99_ms": 81.2, "core_share": 0.93}))
    assert "81 ms" in late
    assert "93%" in full
