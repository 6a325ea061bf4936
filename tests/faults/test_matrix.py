"""Every row of the failure matrix on cold and on reused connections."""

from __future__ import annotations

import pytest
from asking import KEY
from costs import held_until
from fault_server import DONE, FaultServer, Script, Seen, say, stream, text
from matrix import EVERY_ROW, Row
from sending import PATIENT, Sent, limits_for, send

from vendor_verifier.records.record import Record, TurnRecord
from vendor_verifier.run.conversation import should_retry
from vendor_verifier.store import decode_record, encode_record
from vendor_verifier.transport.client import FastTransport

pytestmark = pytest.mark.anyio

GOOD = say(stream(text("fine"), DONE))


@pytest.mark.parametrize("connection", ["cold", "reused"])
@pytest.mark.parametrize("row", EVERY_ROW, ids=lambda row: row.name)
async def test_row(server: FaultServer, row: Row, connection: str) -> None:
    """What a server does becomes the failure (or the success) that the matrix says, with what was said before it."""
    limits = limits_for(row)
    async with FastTransport(limits) as client:
        if connection == "reused":
            server.answer = lambda _: GOOD
            assert (await send(client, server.url())).kind is None
        server.answer = lambda _: row.script()
        sent = await send(client, server.url(), row.wire)
        _holds(row, sent)
        assert len(server.seen) == (2 if connection == "reused" else 1), "asked again behind our back"
        assert server.connections == 1
        # The vendor gets better: whatever was left of the connection does not spoil the next answer.
        server.answer = lambda _: GOOD
        assert (await send(client, server.url())).text == "fine"


def _holds(row: Row, sent: Sent) -> None:
    assert sent.kind == row.kind, sent.message
    assert row.phase is None or sent.phase == row.phase
    assert sent.text == row.text
    assert row.anomaly is None or row.anomaly in sent.anomalies
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
        assert sent.attempt.timing.end_ns < PATIENT.first_token_s * 1e9


async def test_an_endless_answer_does_not_hold_up_another_vendor(server: FaultServer) -> None:
    """While one vendor sends nothing of use, the same client gets others' answers at once."""
    import anyio

    done: list[tuple[str, str | None]] = []

    def answer(seen: Seen) -> Script:
        late = held_until(lambda: len(done) >= 20, stream(text("late"), DONE))
        return Script(late, "close") if seen.vendor == "mute" else GOOD

    server.answer = answer
    async with FastTransport(PATIENT) as client, anyio.create_task_group() as group:

        async def ask(vendor: str) -> None:
            done.append((vendor, (await send(client, server.url(vendor))).kind))

        for _ in range(5):
            group.start_soon(ask, "mute")
        for _ in range(20):
            group.start_soon(ask, "good")
    assert done == [("good", None)] * 20 + [("mute", None)] * 5
