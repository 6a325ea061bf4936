"""The calibration finds the harness floor, finds a harness that is slow, and never fails a run."""

from __future__ import annotations

import asyncio
import sys
import time

import pytest
from costs import LONG_S

from vendor_verifier.run import calibration
from vendor_verifier.run.calibration import ENOUGH, calibrate
from vendor_verifier.transport.client import FastTransport
from vendor_verifier.transport.policy import Client
from vendor_verifier.values.record import Exchange


def test_the_floor_is_told_over_every_answer_and_gap() -> None:
    """Twenty streams at once: an error of TTFT for each answer, never early, and eleven of gaps."""
    found = calibrate("direct", "fast", 20, seconds=0.5)
    assert found.reason is None
    assert found.in_flight == 20
    assert found.ttft_error_ms is not None
    assert found.gap_error_ms is not None
    assert found.ttft_error_ms.n >= 20
    assert found.gap_error_ms.n == 11 * found.ttft_error_ms.n
    assert found.ttft_error_ms.min is not None
    assert found.ttft_error_ms.min > 0


def test_many_streams_end_when_they_have_shown_enough() -> None:
    """A hundred streams give the floor by two answers each, not by all they can give in the time."""
    found = calibrate("direct", "fast", 100, seconds=LONG_S)
    assert found.reason is None
    assert found.ttft_error_ms is not None
    assert found.ttft_error_ms.n == ENOUGH


def test_only_many_streams_say_how_many_one_process_times() -> None:
    """By the CPU that each took; of a few there is nothing to say."""
    assert calibrate("direct", "fast", 20, seconds=0.1).timed_streams is None
    timed = calibrate("direct", "fast", 1_000).timed_streams
    assert timed is not None
    assert timed > 0


class _Busy(FastTransport):
    """Holds up its loop for 25 ms in every 30, as a client does that has more to parse than it can."""

    async def __aenter__(self) -> FastTransport:
        loop = asyncio.get_running_loop()

        def hold() -> None:
            time.sleep(0.08)
            loop.call_later(0.005, hold)

        hold()
        return await super().__aenter__()


def test_a_client_that_is_late_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that is always busy is late by several ms at worst, and sees gaps of 0 and 80 ms instead of 10; one that
    is not, measured beside it, errs by less."""
    honest = calibrate("direct", "fast", 3, seconds=1.0)
    monkeypatch.setattr(calibration, "open_client", lambda _client, limits, _wires, _transport: _Busy(limits))
    found = calibrate("direct", "fast", 3, seconds=1.0)
    assert found.ttft_error_ms is not None
    assert found.ttft_error_ms.max is not None
    assert found.ttft_error_ms.max > 5
    assert found.gap_error_ms is not None
    assert found.gap_error_ms.p50 is not None
    assert found.gap_error_ms.p50 > 5
    assert honest.gap_error_ms is not None
    assert honest.gap_error_ms.p50 is not None
    assert honest.gap_error_ms.p50 < found.gap_error_ms.p50


def test_a_server_that_does_not_start_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no process can be started there is no floor, a reason in its place, and no error."""
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    found = calibrate("direct", "fast", 3)
    assert found.ttft_error_ms is None
    assert found.reason is not None
    assert "FileNotFoundError" in found.reason


class _Deaf:
    """Nobody answers it."""

    async def exchange(self, *_: object, **__: object) -> Exchange:
        await asyncio.sleep(0.01)
        return Exchange(sent_at="2026-01-01T00:00:00+00:00", end_ns=1)


@pytest.mark.anyio
async def test_answers_that_fail_are_a_reason() -> None:
    """When every answer fails, the first failure is told."""
    deaf: Client = _Deaf()
    found = await calibration.measure(deaf, 1, 2, 0.05)
    assert (found.ttft_error_ms, found.reason) == (None, "protocol: no answer")


def test_streams_are_capped(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run with more in flight than one machine can serve is calibrated with as many as it can."""
    monkeypatch.setattr(calibration, "MOST_IN_FLIGHT", 3)
    assert calibrate("direct", "fast", 1_000, seconds=0.1).in_flight == 3
