"""Tests against servers that nobody here wrote: only for `make test-world`, which keeps their results on a page."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Generator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from world_runs import Place
from world_servers import ROOT

# Only where they are asked for: they need what is not installed by the tests' own extra, and take minutes.
collect_ignore_glob = [] if os.environ.get("WORLD") else ["test_*.py"]

_PAGE = ROOT / "benchmarks" / "WORLD.md"
_HEAD = """# Servers that nobody here wrote

Written by `make test-world`: the product's own command line against servers of others, over loopback. A server that
cannot be had is skipped with the reason.

| Scenario | Server | Result | Date | Commit |
| --- | --- | --- | --- | --- |
"""
_ROWS = pytest.StashKey[list[tuple[str, str, str]]]()


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """An empty folder to run in."""
    return Place(tmp_path)


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_ROWS] = []


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note a row of the page when a test has run, or where it did not come so far."""
    report = yield
    if report.when == "call" or (report.when == "setup" and not report.passed):
        told = dict(report.user_properties)
        scenario = str(getattr(item, "obj", item).__doc__ or item.name).split("\n\n")[0]
        case = f" ({item.callspec.id})" if hasattr(item, "callspec") else ""
        words = {"passed": str(told.get("found", "passed")), "failed": f"**failed** {told.get('found', '')}"}
        why = str(call.excinfo.value) if call.excinfo else ""
        result = words.get(report.outcome) or f"skipped: {why}"
        row = (scenario + case, str(told.get("server", "–")), result)
        item.config.stash[_ROWS].append(tuple(" ".join(cell.split()).replace("|", "\\|") for cell in row))
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the page, when all of the scenarios were meant to run."""
    rows = session.config.stash[_ROWS]
    if os.environ.get("WORLD") != "page" or not rows:
        return
    head = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    commit = subprocess.run(head, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip() or "unknown"
    day = f"{datetime.now(UTC):%Y-%m-%d}"
    lines = "".join(f"| {' | '.join((*row, day, commit))} |\n" for row in rows)
    _PAGE.write_text(_HEAD + lines, encoding="utf-8")
