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

from vendor_verifier.features.simulate import server


def _simulated() -> subprocess.Popen[str]:
    """Simulated vendors as a run starts them, which serve already."""
    command = [sys.executable, "-m", server.__name__, "0", "1"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process: subprocess.Popen[str] = subprocess.Popen(command, **pipes, text=True)  # type: ignore[call-overload]
    assert process.stdin
    assert process.stdout
    process.stdin.write("{}\n")
    process.stdin.flush()
    assert process.stdout.readline().startswith("simulated vendors at ")
    return process


def test_simulated_vendors_end_at_once_and_print_nothing() -> None:
    """SIGTERM, as a run sends it to those it started."""
    with _simulated() as process:
        process.terminate()
        _, printed = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, printed) == (-signal.SIGTERM, "")


def test_simulated_vendors_end_with_who_started_them() -> None:
    """A run that is killed cannot end them; the end of their input does."""
    with _simulated() as process:
        assert process.stdin
        process.stdin.close()
        assert process.wait(timeout=PATIENCE_S) == 0


@pytest.mark.slow  # a whole demonstration
def test_ctrl_c_lets_simulated_answers_in_flight_come_in(tmp_path: Path) -> None:
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
