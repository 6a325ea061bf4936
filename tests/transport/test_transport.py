"""The transport tells the truth about time, and survives and names whatever a server does."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

import anyio
import asking
import pytest
from asking import KEY, QUICK, TURN, ask
from changing import replace
from costs import least_of
from fault_server import (
    DONE,
    END,
    FaultServer,
    Script,
    chunk,
    head,
    say,
    text,
    whole,
)

from vendor_verifier.records.request import Endpoint
from vendor_verifier.transport import connect
from vendor_verifier.transport.policy import ProgressMeter, Sending
from vendor_verifier.wire.openai_chat import OpenAIChat

pytestmark = pytest.mark.anyio

TOLERANCE_NS = 20_000_000


def connect_slowly(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Connecting takes that long, whichever transport does it."""

    def slowed(connect: Callable[..., Awaitable[object]]) -> Callable[..., Awaitable[object]]:
        async def slow_connect(*args: object, **kwargs: object) -> object:
            await anyio.sleep(seconds)
            return await connect(*args, **kwargs)

        return slow_connect

    monkeypatch.setattr(anyio, "connect_tcp", slowed(anyio.connect_tcp))
    monkeypatch.setattr(connect, "start_connection", slowed(connect.start_connection))


async def test_ttft_and_gaps_are_the_servers(server: FaultServer) -> None:
    """First token, each gap and the end are those of the server, within 20 ms of its clock and never early."""
    words = [chunk(text("a", None)), chunk(text("b", None)), chunk(text("c")) + chunk(DONE) + END]
    server.answer = lambda _: Script([(0.02, head()), *zip((0.08, 0.05, 0.12), words, strict=True)], "keep")

    async def furthest_off_ns() -> float:
        measured = (await ask(server.url())).timing
        sent = [at - server.seen[-1].at_ns for at in server.seen[-1].sent_ns]
        assert measured.headers_ns is not None
        assert measured.first_token_ns is not None
        assert measured.last_token_ns is not None
        assert sum(measured.gaps_ns) == measured.last_token_ns - measured.first_token_ns
        assert measured.headers_ns >= sent[0]
        assert measured.first_token_ns >= sent[1] > 95_000_000
        assert measured.last_token_ns >= sent[3]
        found = (measured.headers_ns, measured.first_token_ns, *measured.gaps_ns, measured.last_token_ns)
        true = (sent[0], sent[1], sent[2] - sent[1], sent[3] - sent[2], sent[3])
        return max(abs(one - other) for one, other in zip(found, true, strict=True))

    assert await least_of(furthest_off_ns, TOLERANCE_NS) < TOLERANCE_NS


async def test_connecting_is_not_latency(server: FaultServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Zero is the request on a connected socket: a slow connection shows in connect_ns and nowhere else."""
    connect_slowly(monkeypatch, 0.15)

    async def first_token_ns() -> float:
        measured = (await ask(server.url())).timing
        assert measured.connect_ns is not None
        assert measured.connect_ns >= 150_000_000
        assert measured.scheduled_ns is not None
        assert measured.scheduled_ns <= -150_000_000
        assert measured.first_token_ns is not None
        return measured.first_token_ns

    assert await least_of(first_token_ns, 100_000_000) < 100_000_000


async def test_a_reused_connection_has_no_connect_time(server: FaultServer) -> None:
    """A second request on the same connection says None, not zero, for what it did not do."""
    async with asking.TRANSPORT(QUICK) as transport:
        first = (await ask(server.url(), transport)).timing
        second = (await ask(server.url(), transport)).timing
    assert server.connections == 1
    assert first.connect_ns is not None
    assert second.connect_ns is None


async def test_first_token_limit_does_not_count_the_connection(
    server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first-token limit begins when the request is sent, as TTFT does."""
    connect_slowly(monkeypatch, 1.2)
    assert (await ask(server.url(), limits=replace(QUICK, first_token_s=1.0))).kind is None


@pytest.mark.parametrize("end", ["close", "reset"])
@pytest.mark.parametrize("said", ["", "hello"])
async def test_cut_in_the_stream(server: FaultServer, end: str, said: str) -> None:
    """A cut stream is truncated and keeps what had been said."""
    server.answer = lambda _: Script([(0, head() + chunk(text(said, None)))], end)  # type: ignore[arg-type]
    asked = await ask(server.url())
    assert (asked.kind, asked.phase) == ("truncated", "stream")
    assert (asked.attempt.response.text if asked.attempt.response else "") == said
    assert (asked.timing.first_token_ns is None) == (said == "")


async def test_an_unexpected_os_error_is_a_value(server: FaultServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the client library forgot to wrap does not stop the run."""

    async def fail(*_args: object, **_kwargs: object) -> object:
        raise OSError(24, "Too many open files")

    async with asking.TRANSPORT(QUICK) as transport:
        monkeypatch.setattr(connect, "start_connection", fail)
        asked = await ask(server.url(), transport)
    assert asked.kind == "connect"
    assert asked.attempt.failure is not None
    assert "Too many open files" in asked.attempt.failure.message


async def test_a_request_that_is_no_http_names_no_key(server: FaultServer) -> None:
    """A key with a line end in it cannot be sent; the failure is ours and does not quote it."""
    asked = await ask(server.url(), headers={"x-extra": f"{KEY}\r\nx: y"})
    assert asked.kind == "harness"
    assert KEY not in repr(asked)
    assert server.seen == []


async def test_cancelling_the_caller_cancels_the_exchange(server: FaultServer) -> None:
    """The caller's own end is not a vendor's failure: it goes through as a cancellation."""
    server.answer = lambda _: Script((), "hang")
    wire = OpenAIChat()
    request = wire.request(TURN, Endpoint(server.url(), "m"))
    async with asking.TRANSPORT(QUICK) as transport:
        exchange = None
        with anyio.move_on_after(0.1) as scope:
            exchange = await transport.exchange(Sending(request, ProgressMeter(wire.reader()), time.perf_counter_ns()))
    assert scope.cancelled_caught
    assert exchange is None


async def test_plain_json_to_a_stream_request(server: FaultServer) -> None:
    """A vendor that does not stream is read; what would have been timed is not measured."""
    message = {"choices": [{"message": {"content": "hello"}, "finish_reason": "stop"}]}
    server.answer = lambda _: say(whole(message))
    asked = await ask(server.url())
    assert asked.kind is None
    response = asked.attempt.response
    assert response is not None
    assert (response.text, response.streamed) == ("hello", False)
    assert "not_streamed" in response.anomalies
    assert asked.timing.first_token_ns is None
    assert asked.timing.gaps_ns == ()
