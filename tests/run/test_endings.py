"""How a run ends before its time: cancelled, or by a signal."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

import anyio
import pytest
from asking import Ran, entry, run
from costs import LONG_S, PATIENCE_S, held_until
from fault_server import GOOD, FaultServer, Script, Seen, say

from vendor_verifier.run import event_loop

pytestmark = pytest.mark.anyio


@contextmanager
def unhandled(number: int) -> Iterator[None]:
    """Whoever runs the tests may have it ignored, or be ended by it."""
    before = signal.signal(number, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(number, before)


async def test_a_cancelled_run_leaves_no_half_record(server: FaultServer) -> None:
    """What was in flight is not recorded; it is due on resume."""
    server.answer = lambda seen: say(GOOD) if seen.number < 5 else Script((), "hang")
    ran = Ran()
    async with anyio.create_task_group() as group:

        async def watch() -> None:
            # Two hang, so five have been answered: their records are made at once.
            while len(server.seen) < 7 or len(ran.records) < 5:
                await anyio.sleep(0.005)
            group.cancel_scope.cancel()

        group.start_soon(watch)
        await run([entry(server, "a")], 20, into=ran, request_concurrency=2)
    assert [record.succeeded for record in ran.records] == [True] * 5


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
@pytest.mark.parametrize(
    ("signals", "grace_s", "finished"), [(1, LONG_S, 10), (1, 0.1, 6), (2, LONG_S, 6)],
    ids=["first signal", "grace is over", "second signal"],
)  # fmt: skip
async def test_a_signal_finishes_what_is_in_flight_or_gives_it_up(
    server: FaultServer, monkeypatch: pytest.MonkeyPatch, number: int, signals: int, grace_s: float, finished: int
) -> None:
    """Nothing new is sent, what was in flight is finished and recorded, and the run says what ended it. After the grace
    period, or at once after a second signal, what hangs ends without a record."""
    monkeypatch.setattr(event_loop, "GRACE_S", grace_s)
    signalled: list[int] = []

    def answer(seen: Seen) -> Script:
        late = held_until(lambda: finished == 10 and len(signalled) > 0, GOOD)
        return say(GOOD) if seen.number < 6 else Script(late, "keep")

    async def interrupt() -> None:
        while len(server.seen) < 10:
            await anyio.sleep(0.005)
        for _ in range(signals):
            signal.raise_signal(number)
            await anyio.sleep(0.05)
        signalled.append(number)

    server.answer, ran = answer, Ran()
    with unhandled(number), anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as group:
            group.start_soon(interrupt)
            await run([entry(server, "a")], 40, into=ran, request_concurrency=4)
    assert ran.end.signal_number == number
    assert [record.succeeded for record in ran.records] == [True] * finished
    assert len(server.seen) == 10
