"""The watch of the event loop notices what holds it up, and tells each request of the stretch it was under way in."""

from __future__ import annotations

import time

import pytest
from asking import entry, run
from fault_server import DONE, FaultServer, Script, Seen, say, stream, text

from vendor_verifier.run import conversation
from vendor_verifier.run.event_loop import LoopLag
from vendor_verifier.scoring.answer import LOOP_LAG

S = 10**9


@pytest.mark.anyio
async def test_rows_under_way_during_a_stall_are_flagged_and_no_others(
    server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was being timed while the loop stood still says so; what was asked before or after does not."""
    # A busy machine holds loops up for 50 ms now and then, and never for a second.
    monkeypatch.setattr(conversation, "STALL_NS", 1_000_000_000)

    def answer(seen: Seen) -> Script:
        if seen.number == 2:
            time.sleep(1.3)  # this is what must be noticed: the server shares the run's loop
        return say(stream(text("hello"), DONE))

    server.answer = answer
    ran = await run([entry(server, "a")], 5, request_concurrency=1)
    finals = [record.final for record in ran.records]
    flags = [LOOP_LAG in final.response.anomalies for final in finals if final and final.response]
    assert flags == [False, False, True, False, False]


@pytest.mark.anyio
async def test_only_what_lies_between_two_moments_counts() -> None:
    """A stall before, after, around or half inside a request makes its stamps late by what they share."""
    with LoopLag() as watch:
        watch.note(10 * S, 14 * S)
        lateness = [
            watch.lateness_ns(begin * S, end * S) for begin, end in ((0, 9), (15, 20), (0, 20), (11, 12), (13, 20))
        ]
    assert lateness == [0, 0, 4 * S, 1 * S, 1 * S]
