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


@pytest.mark.parametrize("is_told", [True, False])
def test_simulated_vendors_end_with_who_started_them(is_told: bool) -> None:
    """By SIGTERM, as a run sends it, in silence; where it was killed and cannot, by the end of their input."""
    command = [sys.executable, "-m", server.__name__, "0", "1"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, **pipes, text=True) as process:  # type: ignore[call-overload]
        process.stdin.write("{}\n")
        process.stdin.flush()
        assert process.stdout.readline().startswith("simulated vendors at ")
        if is_told:
            process.terminate()
        else:
            process.stdin.close()
        assert process.wait(timeout=PATIENCE_S) == (-signal.SIGTERM if is_told else 0)
        assert process.stderr.read() == "" or not is_told


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
