"""Signals that end a command while an event loop runs in it."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest
from costs import PATIENCE_S

# The signal comes amid the task's own code; what the task sees of it decides whether the loop can be left in order.
_PROGRAM = """
import asyncio, os, signal
from vendor_verifier.cli.main import end_in_order

async def work():
    try:
        os.kill(os.getpid(), {number})
        print("went on", flush=True)
        await asyncio.sleep(3600)
    except BaseException as error:
        print(type(error).__name__, flush=True)
        raise

came = end_in_order()
try:
    asyncio.run(work())
except KeyboardInterrupt:
    print("interrupted by", *map(int, came))
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_loop_by_cancelling_its_task(number: signal.Signals) -> None:
    """Nothing is raised into the midst of the loop, which could then turn for ever."""
    program = [sys.executable, "-c", _PROGRAM.format(number=int(number))]
    done = subprocess.run(program, capture_output=True, text=True, timeout=PATIENCE_S, check=True)
    assert done.stdout.splitlines() == ["went on", "CancelledError", f"interrupted by {int(number)}"]


def test_simulated_vendors_end_at_once_and_say_nothing() -> None:
    """SIGTERM, as a run sends it to those it started: the signal's exit code, and no word on the screen."""
    command = [sys.executable, "-m", "vendor_verifier.cli.main", "simulate", "--port", "0", "--answers-from-stdin"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, **pipes, text=True) as process:  # type: ignore[call-overload]
        process.stdin.write("{}\n")
        process.stdin.flush()
        assert process.stdout.readline().startswith("simulated vendors at ")
        process.terminate()
        _, told = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, told) == (128 + signal.SIGTERM, "")


def test_simulated_vendors_end_with_whoever_started_them() -> None:
    """A run that is killed cannot end them; the end of their input does."""
    command = [sys.executable, "-m", "vendor_verifier.cli.main", "simulate", "--port", "0", "--answers-from-stdin"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("{}\n")
        process.stdin.flush()
        assert process.stdout.readline().startswith("simulated vendors at ")
        process.stdin.close()
        assert process.wait(timeout=PATIENCE_S) == 128 + signal.SIGTERM


_TWICE = """
import os, signal
from vendor_verifier.cli.main import end_in_order
from vendor_verifier.run.local_run import ensure_signals

came = end_in_order()
before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
ensure_signals()
assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
try:
    os.kill(os.getpid(), signal.SIGTERM)
except KeyboardInterrupt:
    print("interrupted by", *map(int, came))
"""


def test_a_signal_outside_a_run_is_handled_after_one_as_before() -> None:
    """Between the check of the signals and the run, and while answers are scored, SIGTERM still ends us in order."""
    done = subprocess.run([sys.executable, "-c", _TWICE], capture_output=True, text=True, timeout=PATIENCE_S)
    assert (done.returncode, done.stdout) == (0, f"interrupted by {int(signal.SIGTERM)}\n")
