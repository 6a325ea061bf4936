"""How a run ends before its time: cancelled, out of disk, or by a signal."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import anyio
import asking
import pytest
from asking import Ran, entry, run
from costs import LONG_S, PATIENCE_S, held_until
from fault_server import DONE, FaultServer, Script, Seen, say, stream, text

pytestmark = pytest.mark.anyio


GOOD = stream(text("hello"), DONE)


async def test_a_cancelled_run_leaves_no_half_record(server: FaultServer) -> None:
    """What was in flight is not recorded; it is due on resume."""
    server.answer = lambda seen: say(GOOD) if seen.number < 5 else Script((), "hang")
    ran = Ran()
    async with anyio.create_task_group() as group:

        async def watch() -> None:
            while len(server.seen) < 7:
                await anyio.sleep(0.005)
            await anyio.sleep(0.3)  # Two hang, so five have been answered: their records are made at once.
            group.cancel_scope.cancel()

        group.start_soon(watch)
        await run([entry(server, "a")], 20, into=ran, request_concurrency=2)
    assert len(ran.records) == 5
    assert all(record.succeeded for record in ran.records)


CHILD = """
import signal
# Whoever runs the tests may have it ignored.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
import json, sys
from types import SimpleNamespace
sys.path.insert(0, sys.argv[1])
import anyio
import vendor_verifier.run.event_loop as ending
from asking import Ran, entry, run
ending.GRACE_S = float(sys.argv[3])
ran = Ran()
async def main():
    server = SimpleNamespace(url=lambda label: f"{sys.argv[2]}/{label}")
    await run([entry(server, "a")], 40, into=ran, request_concurrency=4)
anyio.run(main)
print(json.dumps([ran.end.signal_number, [record.succeeded for record in ran.records]]))
"""


async def interrupted(
    server: FaultServer, signals: int, number: int, grace_s: float, told: Callable[[], None] = lambda: None
) -> tuple[int, list[bool]]:
    """Run in a process of its own and signal it when four requests are open; the signal it names, and the successes.

    ``told`` is called when it has had the signals for a moment.

    It fails when the process does not end: a wait that it should not make takes an hour.
    """
    support, address = Path(asking.__file__).parent, f"http://127.0.0.1:{server.port}"
    command = [sys.executable, "-c", CHILD, str(support), address, str(grace_s)]
    async with await anyio.open_process(command, stdout=subprocess.PIPE, stderr=None) as process:
        assert process.stdout is not None
        try:
            with anyio.fail_after(PATIENCE_S):
                while len(server.seen) < 10:
                    await anyio.sleep(0.01)
                for _ in range(signals):
                    process.send_signal(number)
                    await anyio.sleep(0.5)
                told()
                output = b"".join([piece async for piece in process.stdout])
                await process.wait()
        finally:
            if process.returncode is None:
                process.kill()
    signal_number, succeeded = json.loads(output)
    return signal_number, succeeded


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
async def test_the_first_signal_finishes_what_is_in_flight(server: FaultServer, number: int) -> None:
    """Nothing new is sent, what was in flight is finished and recorded, and the run says what ended it."""
    signalled: list[bool] = []

    def answer(seen: Seen) -> Script:
        return say(GOOD) if seen.number < 6 else Script(held_until(lambda: bool(signalled), GOOD), "keep")

    server.answer = answer
    signal_number, succeeded = await interrupted(server, 1, number, LONG_S, lambda: signalled.append(True))
    assert signal_number == number
    assert succeeded == [True] * 10
    assert len(server.seen) == 10


@pytest.mark.parametrize(("signals", "grace_s"), [(1, 0.3), (2, LONG_S)], ids=["grace", "second signal"])
async def test_what_hangs_is_given_up(server: FaultServer, signals: int, grace_s: float) -> None:
    """After the grace period, or at once after a second signal, the rest ends without a record."""
    server.answer = lambda seen: say(GOOD) if seen.number < 6 else Script((), "hang")
    assert await interrupted(server, signals, signal.SIGINT, grace_s) == (signal.SIGINT, [True] * 6)
