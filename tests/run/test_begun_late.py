"""A stall of ours before a request is sent is told from waiting for a place under a cap."""

from __future__ import annotations

import time

import anyio
import pytest
from asking import Ran, entry, run
from fault_server import DONE, FaultServer, Script, stream, text

from vendor_verifier.records.plan import LoadShape

pytestmark = pytest.mark.anyio

STOOD_STILL_S = 0.4


async def test_what_was_due_while_we_stopped_is_marked(server: FaultServer) -> None:
    """Twelve due within a tenth of a second, one at a time: the last waited for all others as well. In a closed loop
    nothing is due, so that nothing is late."""
    server.answer = lambda _: Script([(0.1, stream(text("hello"), DONE))], "keep")
    ran, closed = Ran(), Ran()

    async def stand_still() -> None:
        while len(server.seen) < 2:
            await anyio.sleep(0.005)
        time.sleep(STOOD_STILL_S)  # Nobody else of this process goes on meanwhile.

    async with anyio.create_task_group() as group:
        group.start_soon(stand_still)
        await run([entry(server, "a")], 12, into=ran, load=LoadShape(request_rate=100), request_concurrency=1)
    ordered = sorted(ran.records, key=lambda each: each.offered_s or 0)
    last = ordered[-1].turns[0].attempts[0].timing
    assert last is not None
    assert -(last.scheduled_ns or 0) > (last.begun_late_ns or 0) >= 0.8e9 * STOOD_STILL_S
    await run([entry(server, "b")], 2, into=closed)
    timings = [record.turns[0].attempts[0].timing for record in closed.records]
    assert [timing.begun_late_ns for timing in timings if timing is not None] == [None, None]
