"""The transport tells the truth about time, and survives and names whatever a server does."""

from __future__ import annotations

import gc
import gzip
import socket
import time
import tracemalloc
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from itertools import repeat

import anyio
import asking
import pytest
from asking import KEY, QUICK, TURN, Asked, ask
from fault_server import (
    DONE,
    END,
    KEEP_ALIVE,
    PING,
    FaultServer,
    Script,
    chunk,
    delta,
    event,
    head,
    say,
    stream,
    text,
    whole,
)

from vendor_verifier.run import dialling
from vendor_verifier.run import transport as transport_module
from vendor_verifier.run.fast_transport import FastTransport
from vendor_verifier.run.transport import MAX_ERROR_BYTES, Transport
from vendor_verifier.values.record import Timing
from vendor_verifier.values.request import Endpoint
from vendor_verifier.wire.openai_chat import OpenAIChat
from vendor_verifier.wire.progress import ProgressMeter

pytestmark = pytest.mark.anyio

TOLERANCE_NS = 20_000_000


@pytest.fixture(params=[Transport, FastTransport], autouse=True)
def _each_transport(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both transports keep the same promises."""
    monkeypatch.setattr(asking, "TRANSPORT", request.param)


def connect_slowly(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Connecting takes that long, whichever transport does it."""

    def slowed(connect: Callable[..., Awaitable[object]]) -> Callable[..., Awaitable[object]]:
        async def slow_connect(*args: object, **kwargs: object) -> object:
            await anyio.sleep(seconds)
            return await connect(*args, **kwargs)

        return slow_connect

    monkeypatch.setattr(anyio, "connect_tcp", slowed(anyio.connect_tcp))
    monkeypatch.setattr(dialling, "_connect", slowed(dialling._connect))


def timing(asked: Asked) -> Timing:
    assert asked.attempt.timing is not None
    return asked.attempt.timing


# --- time


async def test_ttft_and_gaps_are_the_servers(server: FaultServer) -> None:
    """First token, each gap and the end are when the server sent them, within 20 ms of its own clock."""
    words = [chunk(text("a", None)), chunk(text("b", None)), chunk(text("c")) + chunk(DONE) + END]
    server.answer = lambda _: Script([(0.02, head()), *zip((0.08, 0.05, 0.12), words, strict=True)], "keep")
    measured = timing(await ask(server.url()))
    sent = [at - server.seen[0].at_ns for at in server.seen[0].sent_ns]
    assert measured.headers_ns is not None
    assert measured.first_token_ns is not None
    assert measured.last_token_ns is not None
    assert measured.headers_ns == pytest.approx(sent[0], abs=TOLERANCE_NS)
    assert measured.first_token_ns == pytest.approx(sent[1], abs=TOLERANCE_NS)
    assert measured.gaps_ns == (
        pytest.approx(sent[2] - sent[1], abs=TOLERANCE_NS),
        pytest.approx(sent[3] - sent[2], abs=TOLERANCE_NS),
    )
    assert sum(measured.gaps_ns) == measured.last_token_ns - measured.first_token_ns
    assert measured.first_token_ns > 95_000_000


async def test_connecting_is_not_latency(server: FaultServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Zero is the request on a connected socket: a slow connection shows in connect_ns and nowhere else."""
    connect_slowly(monkeypatch, 0.15)
    measured = timing(await ask(server.url()))
    assert measured.connect_ns is not None
    assert measured.connect_ns >= 150_000_000
    assert measured.first_token_ns is not None
    assert measured.first_token_ns < 100_000_000
    assert measured.scheduled_ns is not None
    assert measured.scheduled_ns <= -150_000_000


async def test_a_reused_connection_has_no_connect_time(server: FaultServer) -> None:
    """A second request on the same connection says None, not zero, for what it did not do."""
    async with asking.TRANSPORT(QUICK) as transport:
        first = timing(await ask(server.url(), transport))
        second = timing(await ask(server.url(), transport))
    assert server.connections == 1
    assert first.connect_ns is not None
    assert second.connect_ns is None


async def test_first_token_limit_does_not_count_the_connection(
    server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first-token limit begins when the request is sent, as TTFT does."""
    connect_slowly(monkeypatch, 0.3)
    assert (await ask(server.url(), limits=replace(QUICK, first_token_s=0.2))).kind is None


# --- limits


def forever(piece: bytes, every_s: float = 0.02) -> Iterator[tuple[float, bytes]]:
    """The same bytes again and again."""
    return repeat((every_s, chunk(piece)))


def one_token_then(rest: Iterator[tuple[float, bytes]]) -> Iterator[tuple[float, bytes]]:
    yield 0, head() + chunk(text("hello", None))
    yield from rest


def nothing_then(rest: Iterator[tuple[float, bytes]]) -> Iterator[tuple[float, bytes]]:
    yield 0, head()
    yield from rest


def drip(data: bytes) -> Iterator[tuple[float, bytes]]:
    """One byte at a time, for ever."""
    while True:
        yield from ((0.005, chunk(bytes([byte]))) for byte in data)


TOKENLESS = [
    pytest.param(lambda: forever(KEEP_ALIVE), id="comments"),
    pytest.param(lambda: forever(PING), id="pings"),
    pytest.param(lambda: forever(b"\n"), id="blank lines"),
    pytest.param(lambda: drip(b": keep-alive "), id="byte drip"),
]


@pytest.mark.parametrize("noise", TOKENLESS)
async def test_noise_is_not_a_first_token(
    server: FaultServer, noise: Callable[[], Iterator[tuple[float, bytes]]]
) -> None:
    """Keep-alive bytes for ever do not hold off the first-token limit."""
    server.answer = lambda _: Script(nothing_then(noise()))
    asked = await ask(server.url(), limits=replace(QUICK, first_token_s=0.2))
    assert (asked.kind, asked.phase) == ("timeout_first_token", "first_token")
    assert timing(asked).end_ns < 1_500_000_000


@pytest.mark.parametrize("noise", TOKENLESS)
async def test_noise_does_not_hold_off_the_idle_limit(
    server: FaultServer, noise: Callable[[], Iterator[tuple[float, bytes]]]
) -> None:
    """After a token, keep-alive bytes for ever are idleness, and what was said is kept."""
    server.answer = lambda _: Script(one_token_then(noise()))
    asked = await ask(server.url(), limits=replace(QUICK, idle_s=0.2))
    assert (asked.kind, asked.phase) == ("timeout_idle", "stream")
    assert asked.attempt.response is not None
    assert asked.attempt.response.text == "hello"


async def test_silence_before_headers_is_the_first_token_limit(server: FaultServer) -> None:
    """A server that takes the request and says nothing is cut off in the phase it is in."""
    server.answer = lambda _: Script((), "hang")
    asked = await ask(server.url(), limits=replace(QUICK, first_token_s=0.15))
    assert (asked.kind, asked.phase) == ("timeout_first_token", "headers")
    assert timing(asked).headers_ns is None


async def test_tokens_for_ever_meet_the_total_limit(server: FaultServer) -> None:
    """The whole attempt has a limit that no progress moves."""
    server.answer = lambda _: Script(one_token_then(forever(text("more ", None))))
    asked = await ask(server.url(), limits=replace(QUICK, total_s=0.4, idle_s=0.3))
    assert asked.kind == "timeout_total"
    assert 350_000_000 < timing(asked).end_ns < 2_000_000_000


async def test_reasoning_is_progress(server: FaultServer) -> None:
    """A model that thinks aloud for longer than the idle limit is not idle."""
    thoughts = [(0.25, chunk(delta(reasoning_content="hm "))) for _ in range(6)]
    server.answer = lambda _: Script([(0, head()), *thoughts, (0.1, chunk(text("so")) + chunk(DONE) + END)])
    asked = await ask(server.url(), limits=replace(QUICK, idle_s=1.2, first_token_s=1.2, total_s=10))
    assert asked.kind is None


async def test_connect_limit() -> None:
    """A host that never completes the handshake is left after the connect limit."""
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        waiting = [socket.socket() for _ in range(4)]
        try:
            for one in waiting:
                one.setblocking(False)
                one.connect_ex(full.getsockname())
            asked = await ask(f"http://127.0.0.1:{full.getsockname()[1]}", limits=replace(QUICK, connect_s=0.2))
        finally:
            for one in waiting:
                one.close()
    assert (asked.kind, asked.phase) == ("timeout_connect", "connect")


async def test_an_answer_left_open_after_its_end_is_whole(server: FaultServer) -> None:
    """A connection kept open after the end marker costs waiting, but the answer had been given."""
    server.answer = lambda _: Script([(0, head() + chunk(text("hello")) + chunk(DONE))], "hang")
    asked = await ask(server.url(), limits=replace(QUICK, idle_s=0.2))
    assert asked.exchange.failure is not None
    assert asked.kind is None


# --- connections that break


@pytest.mark.parametrize("end", ["close", "reset"])
async def test_cut_before_headers(server: FaultServer, end: str) -> None:
    """A connection that ends before an answer begins is a reset, whether politely or not."""
    server.answer = lambda _: Script((), end)  # type: ignore[arg-type]
    asked = await ask(server.url())
    assert (asked.kind, asked.phase) == ("connection_reset", "headers")


@pytest.mark.parametrize("end", ["close", "reset"])
@pytest.mark.parametrize("said", ["", "hello"])
async def test_cut_in_the_stream(server: FaultServer, end: str, said: str) -> None:
    """A cut stream is truncated and keeps what had been said."""
    server.answer = lambda _: Script([(0, head() + chunk(text(said, None)))], end)  # type: ignore[arg-type]
    asked = await ask(server.url())
    assert (asked.kind, asked.phase) == ("truncated", "stream")
    assert (asked.attempt.response.text if asked.attempt.response else "") == said
    assert (timing(asked).first_token_ns is None) == (said == "")


async def test_clean_end_without_finish_is_truncated(server: FaultServer) -> None:
    """A stream that ends by HTTP's rules but not by the protocol's is not a success."""
    server.answer = lambda _: say(stream(text("hello", None)))
    assert (await ask(server.url())).kind == "truncated"


async def test_cut_after_the_end_marker_is_no_failure(server: FaultServer) -> None:
    """All had been said: how the connection ends afterwards is no finding."""
    server.answer = lambda _: Script([(0, head() + chunk(text("hello")) + chunk(DONE))], "reset")
    assert (await ask(server.url())).kind is None


async def test_bad_http_chunk(server: FaultServer) -> None:
    """A chunk with a nonsense length cuts the stream and nothing else."""
    server.answer = lambda _: say(head() + chunk(text("hello", None)) + b"zzz\r\nboo\r\n", end="close")
    assert (await ask(server.url())).kind == "truncated"


@pytest.mark.parametrize(
    "garbage", [b"\x00\xff\x13garbage\r\n\r\n", b"SSH-2.0-OpenSSH\r\n\r\n", b"HTTP/9 fish\r\n\r\n"]
)
async def test_garbage_for_http(server: FaultServer, garbage: bytes) -> None:
    """Something that does not speak HTTP is named so."""
    server.answer = lambda _: say(garbage, end="close")
    assert (await ask(server.url())).kind == "protocol"


async def test_header_flood(server: FaultServer) -> None:
    """Headers without end are refused, not collected."""
    flood = b"HTTP/1.1 200 OK\r\n" + b"".join(b"x-%d: %s\r\n" % (n, b"y" * 100) for n in range(10_000))
    server.answer = lambda _: say(flood, end="close")
    assert (await ask(server.url())).kind == "protocol"


async def test_refused_port() -> None:
    """Nobody listening is a refused connection."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    asked = await ask(f"http://127.0.0.1:{port}")
    assert (asked.kind, asked.phase) == ("connect_refused", "connect")
    assert timing(asked).connect_ns is None


async def test_unknown_host() -> None:
    """A name that does not resolve is a DNS failure, whatever the client library calls it."""
    asked = await ask("http://nowhere.invalid", limits=replace(QUICK, connect_s=5, total_s=10))
    assert (asked.kind, asked.phase) == ("dns", "dns")


async def test_plain_server_behind_https(server: FaultServer) -> None:
    """A TLS handshake that fails is named so, not a vendor's reset."""
    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener, anyio.create_task_group() as group:

        async def answer_plainly(client: anyio.abc.SocketStream) -> None:
            async with client:
                await client.receive()
                await client.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        group.start_soon(listener.serve, answer_plainly)
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        asked = await ask(f"https://127.0.0.1:{port}")
        group.cancel_scope.cancel()
    assert (asked.kind, asked.phase) == ("tls", "tls")


async def test_an_unexpected_os_error_is_a_value(server: FaultServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the client library forgot to wrap does not stop the run."""

    async def fail(*_args: object, **_kwargs: object) -> object:
        raise OSError(24, "Too many open files")

    async with asking.TRANSPORT(QUICK) as transport:
        if isinstance(transport, Transport):
            monkeypatch.setattr(transport._client, "send", fail)
        else:
            monkeypatch.setattr(dialling, "_connect", fail)
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


# --- redirects, cookies, size


async def test_redirect_is_not_followed(server: FaultServer) -> None:
    """The prompt and the key go nowhere but where the user sent them; the report says where they were wanted."""
    async with FaultServer() as elsewhere:
        server.answer = lambda _: say(whole({}, 307, location=elsewhere.url("x") + "/chat/completions"))
        asked = await ask(server.url())
        assert elsewhere.seen == []
        assert elsewhere.connections == 0
        assert asked.kind == "redirect"
        assert asked.attempt.failure is not None
        assert f"127.0.0.1:{elsewhere.port}" in asked.attempt.failure.message


async def test_cookies_are_never_returned(server: FaultServer) -> None:
    """A sticky session would hide how a vendor balances its load."""
    good = stream(text("hello"), DONE)
    server.answer = lambda _: say(good.replace(b"\r\n\r\n", b"\r\nSet-Cookie: route=1; Path=/\r\n\r\n", 1))
    async with asking.TRANSPORT(QUICK) as transport:
        for _ in range(3):
            assert (await ask(server.url(), transport)).kind is None
    assert [seen.headers.get("cookie") for seen in server.seen] == [None] * 3


async def test_no_compression_is_asked_for(server: FaultServer) -> None:
    """Compression would hold tokens back until a block is full."""
    await ask(server.url())
    assert server.seen[0].headers["accept-encoding"] == "identity"


async def test_gzip_is_read_when_sent_all_the_same(server: FaultServer) -> None:
    """A proxy that compresses unasked is still understood."""
    packed = gzip.compress(text("hello") + DONE)
    server.answer = lambda _: say(head(content_encoding="gzip") + chunk(packed) + END)
    assert (await ask(server.url())).kind is None


async def test_broken_gzip_is_a_bad_payload(server: FaultServer) -> None:
    """What says it is gzip and is not cannot be read."""
    server.answer = lambda _: say(head(content_encoding="gzip") + chunk(b"not gzip at all") + END)
    assert (await ask(server.url())).kind == "bad_payload"


def peak_mb(before: int) -> float:
    return (tracemalloc.get_traced_memory()[1] - before) / 2**20


@pytest.mark.parametrize("status", [200, 500])
async def test_gzip_bomb_is_bounded(server: FaultServer, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few kilobytes that unpack to many times the cap cost no more than the cap."""
    monkeypatch.setattr(transport_module, "MAX_ANSWER_BYTES", 2 * 2**20)
    bomb = gzip.compress(bytes(64 * 2**20), 1)
    server.answer = lambda _: say(head(status, content_encoding="gzip") + chunk(bomb) + END, end="close")
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    asked = await ask(server.url())
    peak = peak_mb(before)
    tracemalloc.stop()
    assert asked.kind == ("limit_exceeded" if status == 200 else "http_5xx")
    assert peak < 20


async def test_endless_answer_is_bounded(server: FaultServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer without end stops at the cap and is not an answer."""
    monkeypatch.setattr(transport_module, "MAX_ANSWER_BYTES", 2**20)
    server.answer = lambda _: Script(one_token_then(forever(text("x" * 60_000, None), 0)))
    asked = await ask(server.url())
    assert asked.kind == "limit_exceeded"
    assert len(asked.exchange.body) == 2**20


async def test_pieces_are_bounded_too(server: FaultServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Single bytes each in a chunk of their own meet a limit of their own."""
    monkeypatch.setattr(transport_module, "MAX_CHUNKS", 20)
    server.answer = lambda _: Script(one_token_then(repeat((0, chunk(b"\n") * 1000))))
    assert (await ask(server.url())).kind == "limit_exceeded"


async def test_error_body_is_capped(server: FaultServer) -> None:
    """Of a refusal 64 KB are read, however much follows, and the refusal is still understood."""
    server.answer = lambda _: Script([(0, head(500, "text/plain")), *[(0, chunk(b"no! " * 4096))] * 100])
    asked = await ask(server.url())
    assert len(asked.exchange.body) == MAX_ERROR_BYTES
    assert asked.kind == "http_5xx"
    assert asked.attempt.failure is not None
    assert len(asked.attempt.failure.message) <= 2000


async def test_leaving_a_stream_early_leaves_nothing_behind(
    server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An abandoned answer closes its connection; nothing is left for the garbage collector to complain about."""
    monkeypatch.setattr(transport_module, "MAX_ANSWER_BYTES", 1000)
    server.answer = lambda _: Script(one_token_then(forever(text("x" * 500, None), 0)))
    async with asking.TRANSPORT(QUICK) as transport:
        for _ in range(3):
            assert (await ask(server.url(), transport)).kind == "limit_exceeded"
    gc.collect()
    await anyio.sleep(0)
    assert server.connections == 3


async def test_cancelling_the_caller_cancels_the_exchange(server: FaultServer) -> None:
    """The caller's own end is not a vendor's failure: it goes through as a cancellation."""
    server.answer = lambda _: Script((), "hang")
    wire = OpenAIChat()
    request = wire.request(TURN, Endpoint(server.url(), "m"))
    async with asking.TRANSPORT(QUICK) as transport:
        exchange = None
        with anyio.move_on_after(0.1) as scope:
            exchange = await transport.exchange(request, ProgressMeter(wire.reader()), time.perf_counter_ns())
    assert scope.cancelled_caught
    assert exchange is None


# --- answers that are none


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
    assert timing(asked).first_token_ns is None
    assert timing(asked).gaps_ns == ()


NON_ANSWERS = [
    pytest.param(whole(b"<html><h1>Welcome</h1>", content_type="text/html"), "not_an_api_response", id="html"),
    pytest.param(whole(b"<html>", content_type="text/event-stream"), "not_an_api_response", id="html as stream"),
    pytest.param(whole({"hello": "world"}), "not_an_api_response", id="other json"),
    pytest.param(whole(b"", content_type="text/plain"), "empty_response", id="empty body"),
    pytest.param(whole(b""), "empty_response", id="empty json"),
    pytest.param(stream(), "empty_response", id="empty stream"),
    pytest.param(stream(DONE), "empty_response", id="only done"),
    pytest.param(stream(event("hi"), event([]), event(42)), "bad_payload", id="events that are no objects"),
    pytest.param(stream(b"data: {oops\n\n", DONE), "bad_payload", id="events that are no json"),
    pytest.param(stream(event({"error": {"message": "x", "code": 429}})), "api_error_in_200", id="error in stream"),
    pytest.param(whole({"error": {"message": "x", "code": 500}}), "api_error_in_200", id="error in json"),
    pytest.param(whole({"base_resp": {"status_code": 1002}}), "api_error_in_200", id="base_resp"),
]


@pytest.mark.parametrize(("answer", "kind"), NON_ANSWERS)
async def test_answers_that_are_none(server: FaultServer, answer: bytes, kind: str) -> None:
    """A 200 is not a success unless a model answered in it."""
    server.answer = lambda _: say(answer)
    assert (await ask(server.url())).kind == kind
