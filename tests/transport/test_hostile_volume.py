"""Whatever a vendor sends, and however much of it: it is read in bounded memory, and ends as what it is."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from itertools import chain, repeat

import pytest
from asking import QUICK, ask
from fault_server import DONE, HEAD, FaultServer, Script, chunk, delta, head, sized, text, whole
from made_values import replace

from vendor_verifier.transport import exchange
from vendor_verifier.wire import parse_answer
from vendor_verifier.wire.sse import MAX_LINE_BYTES

pytestmark = pytest.mark.anyio

CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
GOOD = chunk(text("hello")) + chunk(DONE)
TOKEN = text("hello", None)
K = 1024


def zipped(body: bytes) -> bytes:
    return sized(gzip.compress(body), HEAD + b"Content-Encoding: gzip\r\n")


def in_pieces(data: bytes) -> Script:
    return Script([(0, data[at : at + 64 * K]) for at in range(0, len(data), 64 * K)])


def calls(count: int) -> bytes:
    return b"".join(
        delta(None, tool_calls=[{"index": None, "id": f"c{n % 900}", "function": {"name": "f"}}]) for n in range(count)
    )


# What is sent, and what it comes to: the failure's kind, or None for an answer that was whole before the flood.
FLOODS: dict[str, tuple[Callable[[], bytes], str | None]] = {
    "trailers": (lambda: CHUNKED + GOOD + b"0\r\n" + b"X: y\r\n" * (300 * K) + b"\r\n", None),
    "one long trailer": (lambda: CHUNKED + GOOD + b"0\r\nX: " + b"y" * (2048 * K) + b"\r\n\r\n", None),
    "header lines": (lambda: HEAD + b"X: y\r\n" * (200 * K) + b"\r\n", "limit_exceeded"),
    "folded headers": (lambda: HEAD + b"X: y\r\n" + b" z\r\n" * (200 * K) + b"\r\n", "limit_exceeded"),
    "interim answers": (lambda: b"HTTP/1.1 100 Continue\r\n\r\n" * (50 * K) + CHUNKED + GOOD, "limit_exceeded"),
    "chunk extensions": (lambda: CHUNKED + GOOD + b"1;" + b"a=b;" * (200 * K), None),
    "chunks of one byte": (lambda: CHUNKED + chunk(TOKEN) + b"1\r\n:\r\n" * (100 * K), "truncated"),
    "empty events": (lambda: sized(b"data: {}\n\n" * (30 * K)), "limit_exceeded"),
    "empty events after a token": (lambda: sized(TOKEN + b"data: {}\n\n" * (20 * K) + DONE), None),
    "blank lines": (lambda: sized(b"\n" * (256 * K)), "limit_exceeded"),
    "comments after a token": (lambda: sized(TOKEN + b":\n" * (128 * K) + DONE), "limit_exceeded"),
    "long comments": (lambda: sized(TOKEN + (b":" + b"x" * K + b"\n") * (6 * K) + text("!") + DONE), "limit_exceeded"),
    "one line without end": (lambda: sized(b"data: " + b"x" * (4096 * K)), "limit_exceeded"),
    "long events": (
        lambda: sized(TOKEN + b"data: [" + b"1," * (MAX_LINE_BYTES // 2 - 8) + b"1]\n\n" + DONE),
        "bad_payload",
    ),
    "half characters": (lambda: sized(TOKEN + text("\ud83d" * (MAX_LINE_BYTES // 7)) + DONE), None),
    "a bomb": (lambda: zipped(TOKEN + b":" * (40 * K * K)), "limit_exceeded"),
    "a long ordinary answer": (lambda: sized(text("hello ", None) * (20 * K) + text("!") + DONE), None),
    "a book": (lambda: sized(text("hello " * 50, None) * (4 * K) + DONE), "limit_exceeded"),
    "call pieces": (lambda: sized(calls(10_000) + DONE), None),
    "a body": (lambda: whole({"choices": [{"message": {"content": "x" * (4096 * K)}}]}), "limit_exceeded"),
    "a body of figures": (lambda: whole(b'{"choices":[' + b"1," * (500 * K) + b"1]}"), "not_an_api_response"),
    "a refusal": (lambda: whole(b"[" * (4096 * K), 500), "http_5xx"),
}


@pytest.mark.parametrize("flood", FLOODS)
async def test_every_flood_ends_as_what_it_is(flood: str, server: FaultServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of every flood no more is kept than the cap, besides what is read of it."""
    data, expected = FLOODS[flood]
    monkeypatch.setattr(exchange, "MAX_ANSWER_BYTES", 5 * K * K)
    monkeypatch.setattr(exchange, "MAX_EVENTS_WITHOUT_TOKEN", 10_000)
    monkeypatch.setattr(exchange, "_MAX_LINES", 30_000)
    monkeypatch.setattr(parse_answer, "MAX_LINES", 100_000)
    server.answer = lambda _: in_pieces(data())
    assert (await ask(server.url())).kind == expected


async def test_no_answer_outlasts_the_total_limit(server: FaultServer) -> None:
    """The whole attempt has a limit that no progress moves."""
    steps = chain([(0.0, head())], repeat((0.02, chunk(text("more ", None)))))
    server.answer = lambda _: Script(steps)
    asked = await ask(server.url(), limits=replace(QUICK, total_s=0.4))
    assert asked.kind == "timeout_total"
    assert asked.timing.end_ns < QUICK.first_token_s * 1e9


@pytest.mark.parametrize("limit", ["MAX_CHUNKS", "MAX_ANSWER_BYTES"])
async def test_pieces_and_bytes_are_bounded(server: FaultServer, monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    """Each on its own ends an answer that never does."""
    monkeypatch.setattr(exchange, limit, 20)
    steps = chain([(0.0, head() + chunk(TOKEN))], repeat((0.001, chunk(b"\n"))))
    server.answer = lambda _: Script(steps)
    assert (await ask(server.url())).kind == "limit_exceeded"


async def test_error_body_is_capped(server: FaultServer) -> None:
    """Of a refusal 64 KB are read, however much follows, and the refusal is still understood."""
    server.answer = lambda _: Script([(0, head(500, "text/plain")), *[(0, chunk(b"no! " * 4096))] * 100])
    asked = await ask(server.url())
    assert len(asked.exchange.body) == exchange.MAX_ERROR_BYTES
    assert (asked.kind, len(asked.message)) == ("http_5xx", 2000)
