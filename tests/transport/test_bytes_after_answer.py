"""Bytes that nobody asked for: they are in no record, and the connection that brought them is closed."""

from __future__ import annotations

import threading

import pytest
from asking import Asked, ask
from closing_server import ClosingServer
from fault_server import DONE, FaultServer, say, stream, text, whole

from vendor_verifier.records.plan import Limits
from vendor_verifier.transport.client import FastTransport

pytestmark = pytest.mark.anyio

LIMITS = Limits(total_s=20, connect_s=5, first_token_s=10, idle_s=10)
ONE, TWO = stream(text("one"), DONE), stream(text("two"), DONE)
SURPLUS = {
    "a second answer": TWO,
    "a second refusal": whole({"error": {"message": "no"}}, 500),
    "an interim answer": b"HTTP/1.1 100 Continue\r\n\r\n",
    "half an answer": TWO[:40],
    "no HTTP at all": b"garbage",
    "the rest of a body": b'"}]}',
}


def said(asked: Asked) -> str:
    assert asked.attempt.response is not None
    return asked.attempt.response.text


def anomalies(asked: Asked) -> tuple[str, ...]:
    assert asked.attempt.response is not None
    return asked.attempt.response.anomalies


@pytest.mark.parametrize("surplus", SURPLUS.values(), ids=SURPLUS)
async def test_what_follows_an_answer_is_in_no_record(surplus: bytes, server: FaultServer) -> None:
    """The answer stays as it was, the record says that more came, and the next request goes over a new connection."""
    server.answer = lambda seen: say(ONE + surplus) if seen.number == 0 else say(stream(text("right"), DONE))
    async with FastTransport(LIMITS) as transport:
        first, second = await ask(server.url(), transport, LIMITS), await ask(server.url(), transport, LIMITS)
    assert (first.kind, first.exchange.status, said(first)) == (None, 200, "one")
    assert anomalies(first) == ("bytes_after_answer",)
    assert (second.kind, said(second), anomalies(second)) == (None, "right", ())
    assert (second.exchange.connection_reused, server.connections) == (False, 2)


async def test_a_refusal_that_is_followed_by_an_answer_stays_one(server: FaultServer) -> None:
    """Status and failure are the first answer's; what follows makes no success of it."""
    server.answer = lambda _seen: say(whole({"error": {"message": "slow down"}}, 429) + TWO)
    async with FastTransport(LIMITS) as transport:
        asked = await ask(server.url(), transport, LIMITS)
    assert (asked.kind, asked.exchange.status, asked.attempt.response) == ("rate_limited", 429, None)


async def test_what_comes_on_an_idle_connection_answers_nothing() -> None:
    """A second answer that comes when the first has long been read is never taken for the next request's."""
    may_go_on, was_sent = threading.Event(), threading.Event()

    def late(connection: int, nth: int) -> bytes:
        return ONE if connection == 1 else stream(text("right"), DONE)

    def unasked(connection: int) -> bytes:
        if connection > 1:
            return b""
        may_go_on.wait()
        return TWO

    with ClosingServer(None, late, unasked, was_sent) as server:
        async with FastTransport(LIMITS) as transport:
            first = await ask(server.url(), transport, LIMITS)
            may_go_on.set()
            # Blocks the loop on purpose until the bytes are there.
            was_sent.wait()
            second = await ask(server.url(), transport, LIMITS)
    assert (said(first), said(second)) == ("one", "right")
    assert second.exchange.connection_reused is False


@pytest.mark.parametrize("end", [b"", b"\r\n"], ids=["nothing", "a line end"])
async def test_an_answer_that_ends_cleanly_is_not_flagged(end: bytes, server: FaultServer) -> None:
    """A whole answer is no fault, with a line end too many behind it neither, as HTTP lets parsers pass over it."""
    server.answer = lambda _seen: say(ONE + end)
    async with FastTransport(LIMITS) as transport:
        both = [await ask(server.url(), transport, LIMITS) for _ in range(2)]
    assert [(said(asked), anomalies(asked)) for asked in both] == [("one", ()), ("one", ())]
    assert end or both[1].exchange.connection_reused is True
