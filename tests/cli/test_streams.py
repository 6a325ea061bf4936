"""Closed, full and broken standard streams: a clear end, the command's own exit code, files whole, no traceback."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from workbench import Bench

PROGRAM = f"{sys.executable} -m vendor_verifier.cli.main"
RUN = "-n 3 --history none"
FULL = Path("/dev/full")


def shell(line: str, folder: Path) -> tuple[int, str]:
    """Exit code of the program at the head of a bash line, and all that reached this process."""
    script = f"set -o pipefail; {line}"
    done = subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("streams")
    Bench(place).configure("one: faithful", "two: faithful")
    code, told = shell(f"{PROGRAM} {RUN} -q -o run > /dev/null", place)
    assert code == 0, told
    return place


ENDS = ("| head -c 1", ">&- 2>&-", "2> /dev/full", ">&-", "2>&-", "2>&1 | head -c 1")
# Each takes the start of a process, and all commands print in the same way: each meets two ends, and each end some.
OTHERS = ("--help", "run --help", "score run", "report run", "compare run run", "run --dry-run -n 2", "init --list")


def heard_by_nobody(folder: Path, command: str, redirection: str) -> None:
    code, told = shell(f"{PROGRAM} {command} {redirection}", folder)
    assert (code, "Traceback" in told, "Exception" in told, "defect" in told) == (0, False, False, False), told


@pytest.mark.parametrize("redirection", ENDS[:3])
def test_unusable_streams_do_not_change_the_exit_code(tmp_path: Path, redirection: str) -> None:
    """A reader that leaves, and streams that are closed or whose progress cannot be written."""
    heard_by_nobody(tmp_path, "--help", redirection)


@pytest.mark.slow
@pytest.mark.parametrize(("place", "command"), list(enumerate(OTHERS)))
def test_unusable_streams_change_no_other_command(folder: Path, place: int, command: str) -> None:
    for redirection in (ENDS[place % 6], ENDS[(place + 2) % 6]):
        heard_by_nobody(folder, command, redirection)


@pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
def test_results_that_cannot_be_written_are_an_error(tmp_path: Path) -> None:
    """A full disk behind ``>`` must not pass for a command that printed its result."""
    code, told = shell(f"{PROGRAM} --help > /dev/full", tmp_path)
    lines = [line for line in told.splitlines() if "standard output" in line]
    assert (code, len(lines), "Traceback" in told) == (4, 1, False), told
    assert lines[0].startswith("error: standard output cannot be written: No space left on device")


@pytest.mark.parametrize(
    "redirection", [pytest.param(each, marks=pytest.mark.slow) for each in (">&- 2>&- <&-", "| head", "2> /dev/full")]
)
def test_a_run_with_unusable_streams_leaves_whole_files(folder: Path, redirection: str) -> None:
    """No printed word lands in a file of the run, whatever descriptors were free."""
    name = f"run{abs(hash(redirection))}"
    code, told = shell(f"{PROGRAM} {RUN} -o {name} {redirection}", folder)
    assert (code, "Traceback" in told) == (0, False), told
    rows = (folder / name / "records.jsonl").read_text().splitlines()
    assert len([json.loads(row) for row in rows]) == 9
    assert json.loads((folder / name / "manifest.json").read_text())["status"] == "finished"


@pytest.mark.slow  # a run in a process of its own
def test_a_failed_gate_keeps_its_exit_code_in_a_broken_pipe(folder: Path) -> None:
    """Who only reads the first line of a report still hears of the gate."""
    assert shell(f"{PROGRAM} score run --gate 'verdict >= matches' | head -c 1", folder)[0] == 1
