"""Connections that the server closes although it promised to keep them, and bytes that nobody asked for.

The server has a thread of its own: it closes when it likes, and not when the client's loop has a moment for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from asking import QUICK, Asked, Ran, ask, entry, run
from certificates import Authority
from costs import await_that, held_until
from fault_server import ANSWER, DONE, End, FaultServer, Script, Seen, say, serving, stream, text, whole

from vendor_verifier.records.plan import RetryRules
from vendor_verifier.records.record import Attempt
from vendor_verifier.transport.client import FastTransport

pytestmark = pytest.mark.anyio

NO_RETRY = RetryRules(retries=0)
WAYS = {"direct": {}, "sdk": {"client": "sdk"}}
CARRIED = pytest.mark.parametrize("how", WAYS.values(), ids=WAYS)


def answering(answer: Callable[[Seen], Script]) -> AbstractContextManager[FaultServer]:
    return serving(lambda _server, seen: answer(seen))


def attempts(ran: Ran) -> list[Attempt]:
    return [attempt for record in ran.records for turn in record.turns for attempt in turn.attempts]


async def sent_to(server: Any, count: int, concurrency: int = 1, **plan: Any) -> Ran:
    """Ask ``count`` samples once each, without a retry."""
    return await run([entry(server, "v")], count, **{"retry": NO_RETRY, "request_concurrency": concurrency} | plan)


async def twice(server: FaultServer, between: Callable[[], None] = lambda: None) -> tuple[Asked, Asked]:
    """Two questions over one transport; ``between`` them the loop may stand still."""
    async with FastTransport(QUICK) as transport:
        first = await ask(server.url(), transport)
        between()
        return first, await ask(server.url(), transport)


# --- nobody fails


@CARRIED
@pytest.mark.parametrize("concurrency", [1, 20])
async def test_a_server_that_closes_after_each_answer_fails_nothing(how: dict[str, str], concurrency: int) -> None:
    """It announces Keep-Alive and closes all the same: every request is answered, and sent once."""
    with answering(lambda _: say(ANSWER, end="close")) as server:
        ran = await sent_to(server, 120, concurrency, **how)
    assert ran.kinds("v") == [None] * 120
    assert len(attempts(ran)) == len(server.seen) == 120


@pytest.mark.parametrize("end", ["close", "reset"])
async def test_a_kept_connection_over_tls_that_ends_at_once_is_known(
    end: End, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over TLS as well, whether the server says goodbye or not, the request counts as lost on its way."""
    authority = Authority(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    async with FaultServer(lambda seen: say(ANSWER) if seen.turn == 1 else Script((), end), authority.server()) as tls:
        first, second = await twice(tls)
    assert first.kind is None
    assert (second.kind, second.exchange.connection_reused, second.exchange.lost) == ("connection_reset", True, True)


async def test_a_connection_that_was_closed_meanwhile_is_not_used() -> None:
    """The end lies unread on the socket and the loop had no moment to look: a new connection is taken all the same."""
    with answering(lambda _: say(ANSWER, end="close")) as server:
        first, second = await twice(server, lambda: await_that(lambda: server.closed))
    assert (first.kind, second.kind) == (None, None)
    assert (second.exchange.connection_reused, second.exchange.lost) == (False, False)


# --- what is lost is sent again, once


def loses_the_second(seen: Seen, last_words: bytes = b"") -> Script:
    """Every connection answers once, and is closed on its second request."""
    return say(ANSWER) if seen.turn == 1 else say(last_words, end="close")


@CARRIED
@pytest.mark.parametrize("last_words", [b"", whole({}, 408, connection="close")], ids=["nothing", "408"])
async def test_a_request_lost_on_a_kept_connection_is_resent(how: dict[str, str], last_words: bytes) -> None:
    """The second request meets a connection that closes, or says 408 as it does: one attempt, marked, no retry."""
    with answering(partial(loses_the_second, last_words=last_words)) as server:
        ran = await sent_to(server, 2, **how)
    assert [attempt.resent for attempt in attempts(ran)] == [False, True]
    assert ran.kinds("v") == [None, None]
    assert len(server.seen) == 3
    # Its times are those of the second sending, which went over a new connection.
    assert [attempt.timing.connection_reused for attempt in attempts(ran) if attempt.timing] == [False, False]


@CARRIED
async def test_a_second_such_end_is_the_vendors(how: dict[str, str]) -> None:
    """The new connection ends without an answer too: that is a failure, and it is retried like any other."""
    with answering(lambda seen: Script() if seen.number else say(ANSWER)) as server:
        ran = await sent_to(server, 2, retry=RetryRules(1, max_wait_s=0.01), **how)
    _, *second = attempts(ran)
    kinds = [attempt.failure.kind if attempt.failure else None for attempt in second]
    assert kinds == ["connection_reset", "connection_reset"]
    assert [attempt.resent for attempt in second] == [True, False]
    assert len(server.seen) == 1 + 2 + 1


async def test_an_answer_that_had_begun_is_never_sent_again() -> None:
    """One byte of an answer, then the end: the vendor had the request, so its failure counts."""
    with answering(lambda seen: say(ANSWER) if seen.turn == 1 else say(b"H", end="close")) as server:
        ran = await sent_to(server, 2)
    assert ran.kinds("v") == [None, "connection_reset"]
    assert not any(attempt.resent for attempt in attempts(ran))
    assert len(server.seen) == 2


async def test_what_is_sent_again_counts_as_a_request() -> None:
    """--max-requests 4 lets four requests out, sent again or not; the sample that was cut stays due."""
    with answering(loses_the_second) as server:
        ran = await sent_to(server, 5, max_requests=4)
    assert len(server.seen) == 4
    assert len(ran.records) == 2
    assert ran.end.limit == "--max-requests 4 was reached"


# --- what nobody asked for

ONE, TWO = stream(text("one"), DONE), stream(text("two"), DONE)
SURPLUS = {
    "a second answer": TWO,
    "a second refusal": whole({"error": {"message": "no"}}, 500),
    "an interim answer": b"HTTP/1.1 100 Continue\r\n\r\n",
    "half an answer": TWO[:40],
    "no HTTP at all": b"garbage",
    "the rest of a body": b'"}]}',
}


def anomalies(asked: Asked) -> tuple[str, ...]:
    assert asked.attempt.response is not None
    return asked.attempt.response.anomalies


@pytest.mark.parametrize("surplus", SURPLUS.values(), ids=SURPLUS)
async def test_what_follows_an_answer_is_in_no_record(surplus: bytes, server: FaultServer) -> None:
    """The answer stays as it was, the record says that more came, and the next request goes over a new connection."""
    server.answer = lambda seen: say(TWO) if seen.number else say(ONE + surplus)
    first, second = await twice(server)
    assert (first.kind, first.exchange.status, first.text) == (None, 200, "one")
    assert anomalies(first) == ("bytes_after_answer",)
    assert (second.kind, second.text, anomalies(second)) == (None, "two", ())
    assert (second.exchange.connection_reused, server.connections) == (False, 2)


async def test_what_comes_on_an_idle_connection_answers_nothing() -> None:
    """A second answer that comes when the first has long been read is never taken for the next request's."""
    moments: list[str] = []

    def late() -> Iterator[tuple[float, bytes]]:
        yield 0, ONE
        yield from held_until(lambda: "answered" in moments, TWO)
        # When this step is asked for, the one before has been sent.
        yield 0, b""
        moments.append("sent")

    def wait() -> None:
        moments.append("answered")
        await_that(lambda: "sent" in moments)

    with answering(lambda seen: say(stream(text("right"), DONE)) if seen.number else Script(late(), "keep")) as server:
        first, second = await twice(server, wait)
    assert (first.text, second.text) == ("one", "right")
    assert second.exchange.connection_reused is False


@pytest.mark.parametrize("end", [b"", b"\r\n"], ids=["nothing", "a line end"])
async def test_an_answer_that_ends_cleanly_is_not_flagged(end: bytes, server: FaultServer) -> None:
    """A whole answer is no fault, with a line end too many behind it neither, as HTTP lets parsers pass over it."""
    server.answer = lambda _seen: say(ONE + end)
    both = await twice(server)
    assert [(asked.text, anomalies(asked)) for asked in both] == [("one", ()), ("one", ())]
    assert end or both[1].exchange.connection_reused is True


@pytest.mark.parametrize(("end", "kind"), [("close", "not_an_api_response"), ("reset", "truncated")])
async def test_a_reset_is_no_end_of_an_answer_without_length(end: End, kind: str, server: FaultServer) -> None:
    """Such an answer lasts until the connection is closed; half of it before a reset is truncated, not malformed."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"
    server.answer = lambda _seen: Script([(0, head + b'{"choices": [{"message": {"content": "on')], end)
    assert (await ask(server.url())).kind == kind
