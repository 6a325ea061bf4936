"""Whatever a vendor sends, and however much of it, no callback of ours keeps the event loop for long."""

from __future__ import annotations

import time
import zlib

import anyio
import pytest
from asking import KEY, TURN
from callback_watch import Watched, watched_callbacks
from costs import least_of
from fault_server import DONE, chunk, delta, stream, text, whole
from flooding import HEAD, LONGEST_S, FloodServer, sized

from vendor_verifier.records.plan import Limits
from vendor_verifier.records.record import Failure
from vendor_verifier.records.request import Endpoint
from vendor_verifier.transport import policy
from vendor_verifier.transport.client import FastTransport
from vendor_verifier.transport.policy import ProgressMeter, Sending, in_slices
from vendor_verifier.wire.openai_chat import OpenAIChat
from vendor_verifier.wire.parse_answer import answer_in_steps
from vendor_verifier.wire.sse import MAX_LINE_BYTES

pytestmark = pytest.mark.anyio

PATIENT = Limits(total_s=60, connect_s=5, first_token_s=60, idle_s=60)
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
GOOD = chunk(text("hello")) + chunk(DONE)
TOKEN = text("hello", None)
K = 1024


def zipped(body: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    return sized(packer.compress(body) + packer.flush(), HEAD + b"Content-Encoding: gzip\r\n")


def calls(count: int) -> bytes:
    return b"".join(
        delta(None, tool_calls=[{"index": None, "id": f"c{n % 900}", "function": {"name": "f"}}]) for n in range(count)
    )


# What is sent, and what it comes to: the failure's kind, or None for an answer that was whole before the flood.
FLOODS: dict[str, tuple[bytes, str | None]] = {
    "trailers": (CHUNKED + GOOD + b"0\r\n" + b"X: y\r\n" * (300 * K) + b"\r\n", None),
    "one long trailer": (CHUNKED + GOOD + b"0\r\nX: " + b"y" * (2048 * K) + b"\r\n\r\n", None),
    "header lines": (HEAD + b"X: y\r\n" * (200 * K) + b"\r\n", "protocol"),
    "folded headers": (HEAD + b"X: y\r\n" + b" z\r\n" * (200 * K) + b"\r\n", "protocol"),
    "interim answers": (b"HTTP/1.1 100 Continue\r\n\r\n" * (50 * K) + CHUNKED + GOOD, "protocol"),
    "chunk extensions": (CHUNKED + GOOD + b"1;" + b"a=b;" * (200 * K), None),
    "chunks of one byte": (CHUNKED + chunk(TOKEN) + b"1\r\n:\r\n" * (100 * K), "truncated"),
    "empty events": (sized(b"data: {}\n\n" * (12 * K)), "limit_exceeded"),
    "empty events after a token": (sized(TOKEN + b"data: {}\n\n" * (20 * K) + DONE), None),
    "blank lines": (sized(b"\n" * (1024 * K)), "limit_exceeded"),
    "comments after a token": (sized(TOKEN + b":\n" * (1024 * K) + DONE), "limit_exceeded"),
    "one line without end": (sized(b"data: " + b"x" * (4096 * K)), "limit_exceeded"),
    "long events": (sized(TOKEN + b"data: [" + b"1," * (MAX_LINE_BYTES // 2 - 8) + b"1]\n\n" + DONE), "bad_payload"),
    "half characters": (sized(TOKEN + text("\ud83d" * (MAX_LINE_BYTES // 7)) + DONE), None),
    "a bomb": (zipped(TOKEN + b":" * (40 * K * K)), "limit_exceeded"),
    "a long ordinary answer": (sized(text("hello ", None) * (20 * K) + text("!") + DONE), None),
    "a book": (sized(text("hello " * 50, None) * (4 * K) + DONE), "limit_exceeded"),
    "call pieces": (sized(calls(30_000) + DONE), None),
    "a body": (whole({"choices": [{"message": {"content": "x" * (4096 * K)}}]}), "limit_exceeded"),
    "a body of figures": (whole(b'{"choices":[' + b"1," * (500 * K) + b"1]}"), "not_an_api_response"),
    "a refusal": (whole(b"[" * (4096 * K), 500), "http_5xx"),
}


async def answered(port: int, limits: Limits = PATIENT) -> Failure | None:
    """Ask as a run does, and read the answer as a run does."""
    wire = OpenAIChat()
    request = wire.request(TURN, Endpoint(f"http://127.0.0.1:{port}/v", "m", KEY))
    async with FastTransport(limits) as transport:
        exchange = await transport.exchange(Sending(request, ProgressMeter(wire.reader()), time.perf_counter_ns()))
        _, _, failure = await in_slices(answer_in_steps(exchange, wire.reader()))
        return failure


@pytest.mark.parametrize("flood", FLOODS)
async def test_no_flood_holds_up_the_event_loop(flood: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of every flood each callback takes a moment only, and it ends as what it is."""
    data, expected = FLOODS[flood]
    monkeypatch.setattr(policy, "MAX_EVENTS_WITHOUT_TOKEN", 10_000)

    async def longest_s() -> float:
        with FloodServer(data) as server, watched_callbacks(monkeypatch) as watched:
            failure = await answered(server.port)
        assert (None if failure is None else failure.kind) == expected
        return watched.longest_s

    assert await least_of(longest_s, LONGEST_S) < LONGEST_S


async def test_a_time_limit_is_met_in_the_middle_of_a_flood(monkeypatch: pytest.MonkeyPatch) -> None:
    """The total limit ends an endless comment long before all of it is read."""

    async def longest_s() -> float:
        limits = Limits(total_s=0.02, connect_s=5, first_token_s=60, idle_s=60)
        with FloodServer(sized(TOKEN + b":" * (30 * K * K))) as server, watched_callbacks(monkeypatch) as watched:
            failure = await answered(server.port, limits)
        assert failure is not None
        assert failure.kind == "timeout_total"
        return watched.longest_s

    assert await least_of(longest_s, LONGEST_S) < LONGEST_S


def _cpu_s(data: bytes, monkeypatch: pytest.MonkeyPatch) -> float:
    async def asked() -> Watched:
        with FloodServer(data) as server, watched_callbacks(monkeypatch) as watched:
            await answered(server.port)
        return watched

    return min(sum(anyio.run(asked).took_s) for _ in range(3))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("head", "piece", "count"),
    [
        (CHUNKED + GOOD + b"0\r\n", b"X: y\r\n", 40 * K),
        (CHUNKED + chunk(TOKEN), b"1\r\n:\r\n", 20 * K),
        (CHUNKED + chunk(TOKEN), chunk(b"data: {}\n\n"), 3 * K),
        (CHUNKED + chunk(TOKEN + b"data: "), chunk(b"x" * K), 200),
        (CHUNKED + chunk(TOKEN), chunk(calls(1)), K),
    ],
    ids=["trailers", "chunks", "events", "line", "calls"],
)
def test_twice_the_flood_costs_about_twice_the_work(
    head: bytes, piece: bytes, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Work grows with what is sent, not with its square: nothing is copied again for each piece of it."""
    once, twice = (_cpu_s(head + piece * count * times, monkeypatch) for times in (1, 2))
    assert twice < 3 * once + 0.01


async def test_the_pieces_of_one_arrival_bear_one_time_stamp() -> None:
    """An answer that comes at one go is read in slices, but it all came at one moment."""
    wire = OpenAIChat()
    with FloodServer(stream(*[text("hello world ", None)] * 300, text("!"), DONE)) as server:
        request = wire.request(TURN, Endpoint(server.url(), "m", KEY))
        async with FastTransport(PATIENT) as transport:
            exchange = await transport.exchange(Sending(request, ProgressMeter(wire.reader()), time.perf_counter_ns()))
    assert len(exchange.chunks) > 1
    assert len({at_ns for at_ns, _ in exchange.chunks}) == 1
