"""No answer outlasts its limits of time or outgrows its limits of size, over each transport."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import repeat

import pytest
from asking import QUICK, ask
from fault_server import FaultServer, Script, chunk, head, text
from made_values import replace

from vendor_verifier.transport import policy

pytestmark = pytest.mark.anyio


def forever(piece: bytes, every_s: float = 0.02) -> Iterator[tuple[float, bytes]]:
    """The same bytes again and again."""
    return repeat((every_s, chunk(piece)))


def one_token_then(rest: Iterator[tuple[float, bytes]]) -> Iterator[tuple[float, bytes]]:
    yield 0, head() + chunk(text("hello", None))
    yield from rest


async def test_tokens_for_ever_meet_the_total_limit(server: FaultServer) -> None:
    """The whole attempt has a limit that no progress moves."""
    server.answer = lambda _: Script(one_token_then(forever(text("more ", None))))
    began_s = time.perf_counter()
    asked = await ask(server.url(), limits=replace(QUICK, total_s=0.4))
    assert asked.kind == "timeout_total"
    # The limit counts from the beginning, the recorded end from the sending.
    assert time.perf_counter() - began_s >= 0.4
    assert asked.timing.end_ns < QUICK.first_token_s * 1e9


async def test_endless_answer_is_bounded(server: FaultServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer without end stops at the cap and is not an answer."""
    monkeypatch.setattr(policy, "MAX_ANSWER_BYTES", 2**20)
    server.answer = lambda _: Script(one_token_then(forever(text("x" * 60_000, None), 0)))
    asked = await ask(server.url())
    assert asked.kind == "limit_exceeded"
    assert len(asked.exchange.body) == 2**20


async def test_pieces_are_bounded_too(server: FaultServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Single bytes each in a chunk of their own meet a limit of their own."""
    monkeypatch.setattr(policy, "MAX_CHUNKS", 20)
    server.answer = lambda _: Script(one_token_then(repeat((0, chunk(b"\n") * 1000))))
    assert (await ask(server.url())).kind == "limit_exceeded"


async def test_error_body_is_capped(server: FaultServer) -> None:
    """Of a refusal 64 KB are read, however much follows, and the refusal is still understood."""
    server.answer = lambda _: Script([(0, head(500, "text/plain")), *[(0, chunk(b"no! " * 4096))] * 100])
    asked = await ask(server.url())
    assert len(asked.exchange.body) == policy.MAX_ERROR_BYTES
    assert asked.kind == "http_5xx"
    assert asked.attempt.failure is not None
    assert len(asked.attempt.failure.message) <= 2000
