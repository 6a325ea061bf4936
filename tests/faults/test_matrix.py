"""Every row of the failure matrix on cold and on reused connections, and through an official SDK."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from asking import CLIENTS, KEY, QUICK, Asked, ask
from fault_server import DONE, FaultServer, say, stream, text
from made_values import replace
from matrix import EVERY_ROW, ROWS, Row

from vendor_verifier.records.plan import Limits
from vendor_verifier.records.record import Record, TurnRecord
from vendor_verifier.run.conversation import should_retry
from vendor_verifier.store import decode_record, encode_record
from vendor_verifier.transport.client import FastTransport

pytestmark = pytest.mark.anyio

GOOD = say(stream(text("fine"), DONE))
# Answers that can be read, while an application behind the SDK sees nothing or an exception: what the message says.
LOST_IN_THE_SDK: Mapping[str, str] = {
    "JSON answer to a stream request": "yielded nothing",
    "an event that is no JSON": "JSONDecodeError",
    "an event that is broken after the finish reason": "JSONDecodeError",
    "words that are no JSON": "JSONDecodeError",
    "bytes that are no UTF-8": "UnicodeDecodeError",
    "a BOM at the start": "yielded nothing",
    "arrays 100,000 deep": "yielded nothing",
    "arrays 100,000 deep in an event": "RecursionError",
    "a number of 10,000 digits": "ValueError",
}


def limits_for(row: Row) -> Limits:
    """Tight where the row is meant to meet a limit, patient everywhere else."""
    if row.kind == "timeout_first_token":
        return replace(QUICK, first_token_s=0.2)
    return replace(QUICK, idle_s=0.1) if row.kind == "timeout_idle" or "stall" in row.name else QUICK


@pytest.mark.parametrize("connection", ["cold", "reused"])
@pytest.mark.parametrize("row", EVERY_ROW, ids=lambda row: row.name)
async def test_row(server: FaultServer, row: Row, connection: str) -> None:
    """What a server does becomes the failure (or the success) that the matrix says, with what was said before it."""
    limits = limits_for(row)
    async with FastTransport(limits) as client:
        if connection == "reused":
            server.answer = lambda _: GOOD
            assert (await ask(server.url(), client)).kind is None
        server.answer = lambda _: row.script()
        sent = await ask(server.url(), client, wire=row.wire)
        _holds(row, sent)
        assert len(server.seen) == (2 if connection == "reused" else 1), "asked again behind our back"
        assert server.connections == 1
        # The vendor gets better: whatever was left of the connection does not spoil the next answer.
        server.answer = lambda _: GOOD
        assert (await ask(server.url(), client)).text == "fine"


def _holds(row: Row, sent: Asked) -> None:
    assert sent.kind == row.kind, sent.message
    assert row.phase is None or sent.phase == row.phase
    assert sent.text == row.text
    response = sent.attempt.response
    assert row.anomaly is None or (response is not None and row.anomaly in response.anomalies)
    assert row.says in sent.message
    assert len(sent.message) <= 2_000
    assert should_retry(sent.attempt) is row.retried
    # Exactly one line of the journal, whatever it holds, and nothing in it is lost.
    record = Record("run", "model", "label", "vendor", "trigger", "0-1", 0, (TurnRecord((sent.attempt,)),))
    line = encode_record(record)
    assert line.count(b"\n") == 1
    assert decode_record(line) == record
    assert KEY.encode() not in line
    if row.kind is None:
        assert sent.attempt.succeeded
    elif row.kind.startswith("timeout"):
        assert sent.attempt.timing is not None
        # The row's own limit ended it and none of the others, which are a minute away.
        assert sent.attempt.timing.end_ns < QUICK.first_token_s * 1e9


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
async def test_row_through_an_sdk(server: FaultServer, row: Row) -> None:
    """One request, never two; the same failure with the same text kept, or one that names the SDK and its exception."""
    async with CLIENTS["sdk"](limits_for(row)) as client:
        server.answer = lambda _: row.script()
        sent = await ask(server.url(), client)
        assert len(server.seen) == 1
        assert sent.text == row.text
        if row.name in LOST_IN_THE_SDK:
            assert (sent.kind, sent.phase) == ("bad_payload", "parse")
            assert LOST_IN_THE_SDK[row.name] in sent.message
            assert "openai SDK" in sent.message
        else:
            assert sent.kind == row.kind, sent.message
            assert row.phase is None or sent.phase == row.phase
            assert row.says in sent.message
            assert should_retry(sent.attempt) is row.retried
        server.answer = lambda _: GOOD
        assert (await ask(server.url(), client)).text == "fine"
