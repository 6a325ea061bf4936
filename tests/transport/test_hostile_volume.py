"""Whatever a vendor sends, and however much of it: it is read in bounded memory, and ends as what it is."""

from __future__ import annotations

import tracemalloc
import zlib

import pytest
from asking import ask
from closing_server import ClosingServer
from fault_server import DONE, HEAD, chunk, delta, sized, text, whole

from vendor_verifier.records.plan import Limits
from vendor_verifier.transport import policy
from vendor_verifier.transport.client import FastTransport
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
    "header lines": (HEAD + b"X: y\r\n" * (200 * K) + b"\r\n", "limit_exceeded"),
    "folded headers": (HEAD + b"X: y\r\n" + b" z\r\n" * (200 * K) + b"\r\n", "limit_exceeded"),
    "interim answers": (b"HTTP/1.1 100 Continue\r\n\r\n" * (50 * K) + CHUNKED + GOOD, "limit_exceeded"),
    "chunk extensions": (CHUNKED + GOOD + b"1;" + b"a=b;" * (200 * K), None),
    "chunks of one byte": (CHUNKED + chunk(TOKEN) + b"1\r\n:\r\n" * (100 * K), "truncated"),
    "empty events": (sized(b"data: {}\n\n" * (60 * K)), "limit_exceeded"),
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


@pytest.mark.parametrize("flood", FLOODS)
async def test_every_flood_ends_as_what_it_is(flood: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of every flood no more is kept than the cap, besides what is read of it."""
    data, expected = FLOODS[flood]
    monkeypatch.setattr(policy, "MAX_EVENTS_WITHOUT_TOKEN", 10_000)
    with ClosingServer(answer=lambda *_: data) as server:
        async with FastTransport(PATIENT) as transport:
            asked = await ask(server.url(), transport)
    assert asked.kind == expected


async def test_a_bomb_is_unpacked_no_further_than_the_cap(monkeypatch: pytest.MonkeyPatch) -> None:
    """A gigabyte in a megabyte: as much memory as the cap, several times over, and no more."""
    monkeypatch.setattr(policy, "MAX_ANSWER_BYTES", 1024 * K)
    bomb = zipped(TOKEN + b":" * (100 * K * K))
    tracemalloc.start()
    try:
        with ClosingServer(answer=lambda *_: bomb) as server:
            asked = await ask(server.url())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert asked.kind == "limit_exceeded"
    assert peak < 12 * K * K
