"""Exit codes 0 to 4 of a run, and 130 and 143 of one that a signal ends."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading

import pytest
from adapters import RUN, command
from costs import PATIENCE_S, held_until
from fault_server import Script, serving, whole
from workbench import Bench


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--vendor", "official", "-o", "run"], 0),
        (["--vendor", "official", "-o", "run", "--gate", "avg_tokens <= 1"], 1),
        (["--no-such-flag"], 2),
        (["--config-file-path", "nowhere.yaml"], 2),
        (["-o", "run"], 3),
        (["--vendor", "official", "-o", "samples.jsonl/run"], 4),
    ],
)
def test_exit_code_of_a_run(words: list[str], code: int, bench: Bench) -> None:
    """Done, a gate missed, usage, a vendor that failed, and a disk that refuses."""
    bench.configure("official: faithful", "down: down")
    bench.samples(12)
    found, _, err = command([*RUN, "--retries", "0", *words], bench.folder)
    assert found == code, err


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), pytest.param(signal.SIGINT, 130, marks=pytest.mark.slow)]
)
def test_exit_code_of_an_interrupted_run(number: signal.Signals, code: int, bench: Bench) -> None:
    """The signal comes while an answer is awaited; the run can be gone on with."""
    asked, ended = threading.Event(), threading.Event()

    def wait(*_: object) -> Script:
        asked.set()
        return Script(held_until(ended.is_set, whole({}, 500)))

    with serving(wait) as server:
        bench.configure(f"slow: {server.url()}/v1")
        bench.samples(1)
        program = [sys.executable, "-m", "vendor_verifier", *RUN, "-o", "run"]
        pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        with subprocess.Popen(program, cwd=bench.folder, **pipes) as process:  # type: ignore[call-overload]
            assert asked.wait(PATIENCE_S)
            process.send_signal(number)
            ended.set()
            try:
                assert process.wait(PATIENCE_S) == code
            finally:
                process.kill()
    assert command(["score", "run"], bench.folder)[0] in (0, 3)
