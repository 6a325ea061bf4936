"""Measures what the harness itself adds to a latency: at most a second of loopback streams whose true times are known.

The transport and the reader are those of the run, in as many streams as the run keeps in flight; the server is a
process of its own (:mod:`vendor_verifier.run.calibration_server`). It times no vendor and corrects no number: the floor
is stored beside them. Whatever goes wrong is a reason in the result, never an error of the run.

    TTFT error = TTFT as measured − (first piece written − request arrived), by the server's stamps
    gap error  = |gap as measured − gap as written|
"""

from __future__ import annotations

import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from subprocess import DEVNULL

import anyio

from vendor_verifier.metrics.base import distribution
from vendor_verifier.run.calibration_server import ANSWER_S
from vendor_verifier.run.event_loop_lag import MAX_CORE_SHARE
from vendor_verifier.transport.client import open_client
from vendor_verifier.transport.policy import Client, ProgressMeter, Sending
from vendor_verifier.values.plan import ClientName, Limits, TransportName
from vendor_verifier.values.record import Response, Timing
from vendor_verifier.values.request import Endpoint, Turn
from vendor_verifier.values.score import Distribution
from vendor_verifier.wire.openai_chat import OpenAIChat
from vendor_verifier.wire.parse_answer import read_answer
from vendor_verifier.words import english

SECONDS = 1.0
# Answers after which the floor is known well enough; with many streams that takes half a second.
ENOUGH = 200
# More streams than this would measure this machine's other processes rather than the harness.
MOST_IN_FLIGHT = 100
_PATIENCE_S = 10.0
_SERVER = Path(__file__).with_name("calibration_server.py")
# Nothing arrives before it was sent.
_CLOCKS_AGREE_MS = 1.0
_LIMITS = Limits(total_s=5.0, connect_s=5.0, first_token_s=5.0, idle_s=5.0)
_WIRE = OpenAIChat()
_TURN = Turn(({"role": "user", "content": "When is it?"},))


@dataclass(frozen=True, slots=True)
class Calibration:
    """The harness floor; both distributions in ms. ``reason``: why there is none.

    ``timed_streams``: requests in flight that one process can time, by the CPU that each of these took.
    """

    in_flight: int
    seconds: float = 0.0
    ttft_error_ms: Distribution | None = None
    gap_error_ms: Distribution | None = None
    reason: str | None = None
    timed_streams: int | None = None


@dataclass(slots=True)
class _Errors:
    """The errors measured so far, ms, the number of answers ``asked`` for, and our CPU when the first of them was."""

    asked: int = 0
    ttft: list[float] = field(default_factory=list)
    gaps: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    cpu_before_s: float = 0.0


def calibrate(
    client: ClientName,
    transport: TransportName,
    in_flight: int,
    *,
    use_uvloop: bool = False,
    seconds: float = SECONDS,
) -> Calibration:
    """The floor of ``client`` and ``transport`` with ``in_flight`` streams (at most ``MOST_IN_FLIGHT``)."""
    streams = min(in_flight, MOST_IN_FLIGHT)

    async def whole() -> Calibration:
        async with open_client(client, _LIMITS, {_WIRE.name}, transport) as opened:
            return await _with_server(lambda port: measure(opened, port, streams, seconds), streams)

    try:
        return anyio.run(whole, backend_options={"use_uvloop": use_uvloop})
    except Exception as error:  # noqa: BLE001 a run must not be lost because its clock could not be checked
        while isinstance(error, ExceptionGroup):
            error = error.exceptions[0]
        return Calibration(streams, reason=f"{type(error).__name__}: {error}"[:200])


async def _with_server(use: Callable[[int], Awaitable[Calibration]], streams: int) -> Calibration:
    # Nothing but the standard library, so that it is up at once.
    command = [sys.executable, "-I", "-S", str(_SERVER)]
    with anyio.move_on_after(_PATIENCE_S):
        async with await anyio.open_process(command, stdin=DEVNULL, stderr=DEVNULL) as server:
            try:
                line = await server.stdout.receive() if server.stdout is not None else b""
                return await use(int(line))
            finally:
                server.kill()
    return Calibration(streams, reason=english("reason_unfinished", seconds=f"{_PATIENCE_S:g}"))


async def measure(client: Client, port: int, streams: int, seconds: float) -> Calibration:
    """Keep ``streams`` answers of the server at ``port`` under way for so long, or until there were ``ENOUGH``; hold
    their times against its stamps."""
    errors, began_s = _Errors(), time.perf_counter()

    async def one_after_the_other() -> None:
        # The first answer waits for all the connections to be opened, which no run does at one moment.
        await _ask(client, port, _Errors())
        await _ask(client, port, errors)
        while time.perf_counter() < began_s + seconds and errors.asked < ENOUGH:
            await _ask(client, port, errors)

    async with anyio.create_task_group() as group:
        for _ in range(streams):
            group.start_soon(one_after_the_other)
    return _result(streams, time.perf_counter() - began_s, errors)


async def _ask(client: Client, port: int, errors: _Errors) -> None:
    errors.cpu_before_s = errors.cpu_before_s or time.process_time()
    errors.asked += 1
    wire = _WIRE
    request = wire.request(_TURN, Endpoint(f"http://127.0.0.1:{port}/v1", "calibration"))
    meter = ProgressMeter(wire.reader())
    exchange = await client.exchange(Sending(request, meter, time.perf_counter_ns(), wire.name))
    timing, response, failure = read_answer(exchange, wire.reader())
    if failure is not None or response is None or timing.first_token_ns is None:
        errors.failures.append("no answer" if failure is None else f"{failure.kind}: {failure.message}")
        return
    _hold_against_stamps(timing, response, errors)


def _hold_against_stamps(timing: Timing, response: Response, errors: _Errors) -> None:
    written_ns = [int(word) for word in response.text.split()]
    true_ttft_ns = written_ns[0] - int(response.request_id or 0)
    errors.ttft.append(((timing.first_token_ns or 0) - true_ttft_ns) / 1e6)
    true_gaps_ns = [later - earlier for earlier, later in pairwise(written_ns)]
    errors.gaps += [abs(seen - true) / 1e6 for seen, true in zip(timing.gaps_ns, true_gaps_ns, strict=True)]


def _result(streams: int, seconds: float, errors: _Errors) -> Calibration:
    if not errors.ttft:
        return Calibration(streams, seconds, reason=next(iter(errors.failures))[:200])
    if min(errors.ttft) < -_CLOCKS_AGREE_MS:
        return Calibration(streams, seconds, reason=english("reason_clocks"))
    timed = _timed_streams(streams, errors)
    return Calibration(streams, seconds, distribution(errors.ttft), distribution(errors.gaps), timed_streams=timed)


def _timed_streams(streams: int, errors: _Errors) -> int | None:
    """Requests in flight at which this process would use ``MAX_CORE_SHARE``; None where there were too few to say."""
    if streams < MOST_IN_FLIGHT:
        return None
    cpu_s = (time.process_time() - errors.cpu_before_s) / errors.asked
    return max(1, int(MAX_CORE_SHARE * ANSWER_S / cpu_s))
