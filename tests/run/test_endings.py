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
import vendor_verifier.run.interruption as ending
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
    command = [
        sys.executable,
        "-c",
        CHILD,
        str(Path(asking.__file__).parent),
        f"http://127.0.0.1:{server.port}",
        str(grace_s),
    ]
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


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
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


async def test_what_does_not_finish_in_time_is_cancelled(server: FaultServer) -> None:
    """After the grace period the rest is given up without a record."""
    server.answer = lambda seen: say(GOOD) if seen.number < 6 else Script((), "hang")
    assert await interrupted(server, 1, signal.SIGINT, 0.3) == (signal.SIGINT, [True] * 6)


async def test_the_second_signal_ends_at_once(server: FaultServer) -> None:
    """Whoever presses twice does not wait for the grace period, and loses no record."""
    server.answer = lambda seen: say(GOOD) if seen.number < 6 else Script((), "hang")
    assert await interrupted(server, 2, signal.SIGINT, LONG_S) == (signal.SIGINT, [True] * 6)
