"""Signals that end a command while an event loop runs in it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from costs import PATIENCE_S, await_that

from vendor_verifier.lazy_import import registered

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
    """SIGTERM, as a run sends it to those it started, ends them without a word on the screen."""
    command = [sys.executable, "-m", registered("serving a run"), "0"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, **pipes, text=True) as process:  # type: ignore[call-overload]
        process.stdin.write("{}\n")
        process.stdin.flush()
        assert process.stdout.readline().startswith("simulated vendors at ")
        process.terminate()
        _, told = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, told) == (-signal.SIGTERM, "")


def test_simulated_vendors_end_with_whoever_started_them() -> None:
    """A run that is killed cannot end them; the end of their input does."""
    command = [sys.executable, "-m", registered("serving a run"), "0"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("{}\n")
        process.stdin.flush()
        assert process.stdout.readline().startswith("simulated vendors at ")
        process.stdin.close()
        assert process.wait(timeout=PATIENCE_S) == 0


_TWICE = """
import os, signal
from vendor_verifier.cli.main import end_in_order
from vendor_verifier.run.interruption import ensure_interruptible

came = end_in_order()
before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
ensure_interruptible()
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


def test_the_command_line_handles_signals_before_it_loads_its_library() -> None:
    """What is loaded before is quick; a Ctrl-C amid it would end in a traceback of Python's own."""
    program = "import sys, vendor_verifier.cli.main; print('cyclopts' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.stdout == "False\n"


@pytest.mark.slow  # a whole demonstration
def test_a_ctrl_c_at_the_terminal_lets_simulated_answers_under_way_come_in(tmp_path: Path) -> None:
    """The terminal tells every process of the command; those who answer must not go before those who ask."""
    command = [sys.executable, "-m", "vendor_verifier.cli.main", "demo", "-q", "-o", str(tmp_path / "run")]
    pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, start_new_session=True, **pipes) as process:  # type: ignore[call-overload]
        records = tmp_path / "run" / "records.jsonl"
        await_that(lambda: records.exists() and records.stat().st_size > 0)
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(timeout=PATIENCE_S) == 128 + signal.SIGINT
    failed = {
        record["label"]
        for record in map(json.loads, records.read_text(encoding="utf-8").splitlines())
        if record["turns"][-1]["attempts"][-1]["failure"] is not None
    }
    assert failed <= {"cutter"}
