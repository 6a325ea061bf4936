"""The watch of the event loop notices what holds it up, and tells each request of the stretch it was under way in."""

from __future__ import annotations

import gc
import random
import subprocess
import sys
import time

import anyio
import pytest
from asking import entry, run
from costs import least_of
from fault_server import DONE, FaultServer, Script, Seen, say, stream, text
from manifests import some_manifest

from vendor_verifier.pipeline.run_warnings import run_warnings
from vendor_verifier.run import conversation, lag
from vendor_verifier.run.lag import LoopLag
from vendor_verifier.scoring.answer import LOOP_LAG

S = 10**9


@pytest.mark.anyio
async def test_a_stall_is_noticed_before_its_own_timer_can_tell() -> None:
    """What is asked right after the loop was held up learns of it, and later attempts do not."""
    with LoopLag() as watch:
        await anyio.sleep(0.05)
        began_ns = time.perf_counter_ns()
        time.sleep(0.12)  # this is what must be noticed
        ended_ns = time.perf_counter_ns()
        assert (watch.lateness_ns(began_ns, ended_ns) or 0) > 90_000_000
        await anyio.sleep(0.05)
        assert (watch.lateness_ns(began_ns, ended_ns) or 0) > 90_000_000

        async def later_ns() -> float:
            await anyio.sleep(0)
            now_ns = time.perf_counter_ns()
            return watch.lateness_ns(now_ns, now_ns) or 0

        # A busy machine holds loops up of its own accord, but not at every moment.
        assert await least_of(later_ns, 1) == 0
    assert watch.report().stalls >= 1
    assert watch.lateness_ns(0, time.perf_counter_ns()) is None


@pytest.mark.anyio
async def test_rows_under_way_during_a_stall_are_flagged_and_no_others(
    server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was being timed while the loop stood still says so; what was asked before or after does not."""
    # A busy machine holds loops up for 50 ms now and then, and never for a second.
    monkeypatch.setattr(conversation, "STALL_NS", 1_000_000_000)

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
async def test_only_what_lies_between_two_moments_counts() -> None:
    """A stall before, after, around or half inside a request makes its stamps late by what they share."""
    with LoopLag() as watch:
        watch.note(10 * S, 14 * S)
        lateness = [
            watch.lateness_ns(begin * S, end * S) for begin, end in ((0, 9), (15, 20), (0, 20), (11, 12), (13, 20))
        ]
    assert lateness == [0, 0, 4 * S, 1 * S, 1 * S]


@pytest.mark.anyio
async def test_the_longest_stall_of_a_long_request_is_found_among_thousands() -> None:
    """A request that ends now is told the same as by looking through every stall there ever was."""
    rng = random.Random(7)
    every, now = [], 0
    with LoopLag() as watch:
        for _ in range(20_000):
            begin = now + 20_000_000
            now = begin + int(rng.expovariate(1 / 3e6))
            every.append((begin, now))
            watch.note(begin, now)
        for back in (10**8, S, 3 * S, 30 * S, 300 * S):
            begin = now - back
            longest = max(end - max(first, begin) for first, end in every)
            assert watch.lateness_ns(begin, now) == longest
        # A request that ended just before a long stall, and asks after it, is told of its own short one.
        watch.note(now + S, now + S + 7_000_000)
        watch.note(now + 2 * S, now + 32 * S)
        assert watch.lateness_ns(now, now + S + 500_000_000) == 7_000_000


@pytest.mark.anyio
async def test_percentiles_of_known_lags(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand known lags: p50, p99, the largest and the stalls; after half a second there is no number."""
    with LoopLag() as watch:
        for late_ms in range(1, 1001):
            watch.note(late_ms * S, late_ms * S + late_ms * 100_000)
        assert watch.report().p99_ms is None
        monkeypatch.setattr(lag, "MIN_WATCH_S", 0.0)
        report = watch.report()
    assert report.p50_ms == pytest.approx(50, rel=0.01)
    assert report.p99_ms == pytest.approx(99, rel=0.01)
    assert (report.max_ms, report.stalls) == (100, 500)


def test_the_report_warns_of_a_late_loop_and_a_full_core() -> None:
    """Beyond 50 ms at p99 and 0.7 of a core the reader is told; below, and where nothing is known, is not."""
    assert list(run_warnings(some_manifest(event_loop={"p99_ms": 50.0, "core_share": 0.7}))) == []
    assert list(run_warnings(some_manifest(event_loop={"p99_ms": None, "core_share": None}))) == []
    late, full = run_warnings(some_manifest(event_loop={"p99_ms": 81.2, "core_share": 0.93}))
    assert "81 ms" in late
    assert "93%" in full


def test_no_object_is_walked_for_the_pieces_of_a_thousand_streams() -> None:
    """As many as are under way at a time make no walk, and the settings of before come back."""
    before, walked = gc.get_threshold(), []

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            walked.append(len(gc.get_objects(info["generation"])))

    kept: list[list[object]] = []
    with lag.quiet_collector():
        gc.callbacks.append(note)
        try:
            for _ in range(100_000):
                kept.append([kept])
        finally:
            gc.callbacks.remove(note)
    assert not walked
    assert gc.get_threshold() == before


def test_what_a_first_retry_needs_is_loaded_before_the_run() -> None:
    """Loading it amid a run held the event loop up, and every answer under way was late by that."""
    code = (
        "import sys; from vendor_verifier.transport.client import open_client;"
        "from vendor_verifier.records.plan import Limits;"
        "open_client('http', Limits(), ()); sys.exit(not {'tenacity', 'encodings.idna'} <= sys.modules.keys())"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
