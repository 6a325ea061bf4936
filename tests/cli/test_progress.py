"""Live progress: what it counts, and how it looks on a terminal and in a log."""

from __future__ import annotations

import io
import os
import pty
import re
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from costs import await_that
from small_records import answer, failure

from vendor_verifier.cli.progress import Tally, progress
from vendor_verifier.pipeline.run import Outlook
from vendor_verifier.records.record import Usage

ROOT = Path(__file__).parents[2]
A, B = ("m", "a"), ("m", "b")


class _Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def tally_of(outlook: Outlook, **records: int) -> Tally:
    """A tally since 0 s with this many answers by label."""
    tally = Tally(outlook, 0.0)
    for label, count in records.items():
        for _ in range(count):
            tally.add(answer(label))
    return tally


def test_a_vendor_shows_success_and_median_ttft() -> None:
    tally = Tally(Outlook({A: 10}, {A: 0}), 0.0)
    assert tally[A].figures() == "–"
    for record in (answer("a", 100), answer("a", 300), answer("a", 200), failure("a")):
        tally.add(record)
    assert tally[A].figures() == "75% ok  TTFT 200 ms"


def test_the_run_shows_failures_cost_and_the_slowest_vendor() -> None:
    """The time left is the slowest vendor's, at its own speed; earlier sessions make this one no faster."""
    tally = tally_of(Outlook({A: 10, B: 20}, {A: 90, B: 0}), a=5, b=2)
    assert tally.line(2.0) == "97/120 done  0 failed  18 s left  slowest: b 2/20"
    assert tally_of(Outlook({A: 2, B: 2}, Counter()), a=2).line(1.0) == "2/4 done  0 failed  slowest: b 0/2"
    assert tally_of(Outlook({A: None}, Counter()), a=2).line(1.0) == "2 done  0 failed"
    assert tally_of(Outlook({A: 1}, Counter()), a=1).line(1.0) == "1/1 done  0 failed  scoring"


def test_cost_is_the_vendors_figure_else_by_price() -> None:
    """Without either there is none, and never 0."""
    tally = Tally(Outlook({A: 3, B: 1}, Counter(), {A: lambda usage: float(usage.output or 0)}), 0.0)
    for record in (answer("a", usage=Usage(1, 7, cost_usd=2.0)), answer("a", usage=Usage(1, 3)), failure("a")):
        tally.add(record)
    tally.add(answer("b", usage=Usage(1, 3)))
    assert [tally[name].cost_usd for name in (A, B)] == [5.0, None]
    assert "$5.00" in tally.figures(1.0)


def test_quiet_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with progress(quiet=True, verbose=False) as watcher:
        watcher.started(Outlook({A: 1}, {A: 0}))
        watcher.finished(failure("a"))
    assert capsys.readouterr() == ("", "")


def test_a_log_gets_plain_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """The work at the start, with --verbose each failure, and the last line when all is there."""
    with progress(quiet=False, verbose=True) as watcher:
        watcher.started(Outlook({A: 2}, {A: 2}))
        watcher.finished(failure("a"))
        watcher.finished(answer("a"))
    first, failed, last = capsys.readouterr().err.splitlines()
    assert first == "2 samples to send to 1 vendor, 2 already answered"
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
    assert re.search(r"a .*1/3.* 100% ok +TTFT 100 ms", shown)
    assert re.search(r"total .*1/6", shown)
    assert shown.rfind("\x1b[?25h") > shown.rfind("\x1b[?25l") >= 0


def _interrupted(screen: _Screen) -> None:
    with progress(quiet=False, verbose=False) as watcher:
        watcher.started(Outlook({A: 3, B: 3}, Counter()))
        watcher.finished(answer("a"))
        await_that(lambda: "100% ok" in screen.getvalue())
        raise KeyboardInterrupt


@pytest.mark.slow
def test_control_c_leaves_a_clean_terminal(tmp_path: Path) -> None:
    """The bars go, the cursor comes back, the exit code is 130 and what was answered is kept."""
    main_fd, terminal = pty.openpty()
    demo = subprocess.Popen(
        [sys.executable, "-m", "vendor_verifier", "demo", "-o", "run"],
        stderr=terminal, stdout=subprocess.DEVNULL, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", "COLUMNS": "120"},
    )  # fmt: skip
    os.close(terminal)
    shown = b""
    while b"TTFT" not in shown:
        shown += os.read(main_fd, 65536)
    demo.send_signal(signal.SIGINT)
    while chunk := _read(main_fd):
        shown += chunk
    os.close(main_fd)
    assert demo.wait() == 130
    assert shown.rfind(b"\x1b[?25h") > shown.rfind(b"\x1b[?25l") >= 0
    assert b"Traceback" not in shown
    assert (tmp_path / "run" / "records.jsonl").stat().st_size > 0


def _read(fd: int) -> bytes:
    """What the terminal shows next; nothing once whoever wrote to it has gone."""
    try:
        return os.read(fd, 65536)
    except OSError:
        return b""
