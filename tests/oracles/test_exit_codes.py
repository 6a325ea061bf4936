"""Exit codes 0 to 4 of a run, and 130 and 143 of one that a signal ends."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from adapters import RUN, command, prepare, simulated
from costs import PATIENCE_S, held_until
from fault_server import Script, serving, whole


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
def test_exit_code_of_a_run(words: list[str], code: int, tmp_path: Path) -> None:
    """Done, a gate missed, usage, a vendor that failed, and a disk that refuses."""
    prepare(tmp_path, simulated("official=faithful", "down"), samples=12)
    found, _, err = command([*RUN, "--retries", "0", *words], tmp_path)
    assert found == code, err


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), pytest.param(signal.SIGINT, 130, marks=pytest.mark.slow)]
)
def test_exit_code_of_an_interrupted_run(number: signal.Signals, code: int, tmp_path: Path) -> None:
    """The signal comes while an answer is awaited; the run can be gone on with."""
    asked, ended = threading.Event(), threading.Event()

    def wait(*_: object) -> Script:
        asked.set()
        return Script(held_until(ended.is_set, whole({}, 500)))

    with serving(wait) as server:
        prepare(tmp_path, [f'name: slow, model_id: m, url: "{server.url()}/v1"'], {"slow": "sk-slow"})
        program = [sys.executable, "-m", "vendor_verifier", *RUN, "-o", "run"]
        pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        with subprocess.Popen(program, cwd=tmp_path, **pipes) as process:  # type: ignore[call-overload]
            assert asked.wait(PATIENCE_S)
            process.send_signal(number)
            ended.set()
            try:
                assert process.wait(PATIENCE_S) == code
            finally:
                process.kill()
    assert command(["score", "run"], tmp_path)[0] in (0, 3)
