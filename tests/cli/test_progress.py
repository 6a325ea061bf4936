"""Live progress: what it counts, and how it looks on a terminal and in a log."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

import pytest
from costs import await_that
from made_values import answer, failure

import vendor_verifier.cli.progress as progress_module
from vendor_verifier.cli.progress import progress
from vendor_verifier.records.plan import Price
from vendor_verifier.records.record import Usage
from vendor_verifier.run.load import Work

ROOT = Path(__file__).parents[2]
A, B = ("m", "a"), ("m", "b")


class _Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_line_has_failures_and_cost(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Cost is the vendor's figure, else by price, and never 0."""
    monkeypatch.setattr(progress_module, "_LINE_EVERY_S", 0.0)
    with progress(quiet=False, verbose=False) as watcher:
        watcher.started({A: Work(3, 90, Price(0, 1e6)), B: Work(2, 0)})
        for record in (answer("b"), answer("a", usage=Usage(1, 7, cost_usd=2.0)), answer("a", usage=Usage(1, 3))):
            watcher.finished(record)
        for record in (failure("a"), answer("b")):
            watcher.finished(record)
    _, first, second, third, fourth, last = capsys.readouterr().err.splitlines()
    assert first == "91/95 done  0 failed"
    assert second == "92/95 done  0 failed  $2.00"
    assert third == "93/95 done  0 failed  $5.00"
    assert fourth == "94/95 done  1 failed  $5.00"
    assert last == "95/95 done  1 failed  $5.00  scoring"


def test_quiet_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with progress(quiet=True, verbose=False) as watcher:
        watcher.started({A: Work(1, 0)})
        watcher.finished(failure("a"))
    assert capsys.readouterr() == ("", "")


def test_a_log_gets_plain_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """The work at the start, with --verbose each failure, and the last line when all is there."""
    with progress(quiet=False, verbose=True) as watcher:
        watcher.started({A: Work(2, 2)})
        watcher.finished(failure("a"))
        watcher.finished(answer("a"))
    first, failed, last = capsys.readouterr().err.splitlines()
    assert first == "2 requests to send to 1 vendor, 2 already answered"
    assert failed == "m / a / s: overloaded (headers): 503 after 1 attempt"
    assert last == "4/4 done  1 failed  scoring"


def test_a_terminal_gets_bars_and_its_cursor_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line a vendor and one for all, gone at the end, also when the end is an exception."""
    screen = _Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    with pytest.raises(KeyboardInterrupt):
        _interrupted(screen)
    shown = screen.getvalue()
    assert re.search(r"a .*1/3\x1b\[0m 0 failed  TTFT 100 ms", shown)
    assert re.search(r"total .*1/6", shown)
    assert shown.rfind("\x1b[?25h") > shown.rfind("\x1b[?25l") >= 0


def _interrupted(screen: _Screen) -> None:
    with progress(quiet=False, verbose=False) as watcher:
        watcher.started({A: Work(3, 0), B: Work(3, 0)})
        watcher.finished(answer("a"))
        await_that(lambda: "1/3" in screen.getvalue())
        raise KeyboardInterrupt
