"""docs/load.md says what the code does: what it names exists."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from vendor_verifier.cli import main

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "load.md").read_text(encoding="utf-8")


TABLE = PAGE.partition("## Coming from another load tool")[2].partition("## From Python")[0]
COMMANDS = [line.split("|")[-2].strip().strip("`") for line in TABLE.splitlines() if line.startswith("| ")][1:]


@pytest.mark.slow
@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_of_the_table_runs(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What stands in the last column is run as it stands, and leaves a report."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "times.csv").write_text("at_s,sample\n0.0\n0.1\n0.25\n")
    command, *words = shlex.split(line)
    common = ["--config-file-path", str(ROOT / "config_simulated.yaml"), "--model", "simulated-load", "-o", "out", "-q"]
    # One of the vendors gives way under load, which is no failure of the command.
    assert main.run_app([command, *common, *words]) == 0
    assert (tmp_path / "out" / ("capacity.html" if command == "capacity" else "report.html")).is_file()


def test_the_table_holds_what_people_come_with() -> None:
    """A row for each thing they are used to, and a command in each."""
    assert len(COMMANDS) >= 14
    assert {line.split()[0] for line in COMMANDS} == {"run", "capacity"}


def test_every_flag_of_the_page_exists() -> None:
    """A flag that was renamed cannot stay on the page."""
    ours = PAGE.replace(TABLE, " ".join(COMMANDS))
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", ours))
    assert "--request-rate" in named
    known = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert [flag for flag in sorted(named) if f"{flag}" not in known] == []
