"""The failure matrix through an official SDK: told as without it, but where the SDK itself fails."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from fault_server import DONE, FaultServer, say, stream, text
from matrix import ROWS, Row
from sending import limits_for, send

from vendor_verifier.run.conversation import should_retry
from vendor_verifier.transport.client import FastTransport
from vendor_verifier.transport.sdk import SdkTransport

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


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
async def test_row(server: FaultServer, row: Row) -> None:
    """One request, never two; the same failure with the same text kept, or one that names the SDK and its exception."""
    async with SdkTransport(FastTransport(limits_for(row)), ("openai",)) as client:
        server.answer = lambda _: row.script()
        sent = await send(client, server.url())
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
        assert (await send(client, server.url())).text == "fine"
