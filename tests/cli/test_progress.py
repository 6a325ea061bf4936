"""Live progress as it is seen: on a terminal, in a log, over workers; and that it does not hold up who sends."""

from __future__ import annotations

import io
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from costs import await_that
from small_records import answer, failure

from vendor_verifier.cli.progress import progress
from vendor_verifier.pipeline.run import Outlook

ROOT = Path(__file__).parents[2]
A = ("m", "a")


def test_quiet_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """Neither at the start nor at the end."""
    with progress(quiet=True, verbose=False, every_s=0.001) as watcher:
        watcher.started(Outlook({A: 1}, {A: 0}))
        watcher.finished(failure("a"))
    assert capsys.readouterr() == ("", "")


def test_a_log_gets_a_line_an_interval_though_nothing_comes_back(capsys: pytest.CaptureFixture[str]) -> None:
    """A vendor that hangs is seen to hang: the lines do not wait for answers."""
    with progress(quiet=False, verbose=False, every_s=0.01) as watcher:
        watcher.started(Outlook({A: 3}, {A: 2}, in_flight={A: 3}))
        told: list[str] = []
        await_that(lambda: len(told) > 3 or told.extend(capsys.readouterr().err.splitlines()))
    first, *lines = told
    assert first == "3 samples to ask, 2 already answered"
    assert set(lines) == {"2/5 done, 0 failed, 3 in flight"}
    assert len(lines) > 1


def test_verbose_names_every_failure_as_it_happens(capsys: pytest.CaptureFixture[str]) -> None:
    """Who, which sample and why; what was answered is not told one by one."""
    with progress(quiet=False, verbose=True) as watcher:
        watcher.started(Outlook({A: 3}, {A: 0}))
        watcher.finished(failure("a"))
        watcher.finished(answer("a"))
        told = capsys.readouterr().err.splitlines()[1:]
    assert told == ["m / a / s: overloaded (headers): 503 after 1 attempt"]


def test_a_terminal_gets_a_table_and_its_cursor_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawn over itself while it lasts, gone at the end, also when the end is an exception."""
    screen = _Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    with pytest.raises(KeyboardInterrupt):
        _interrupted(screen)
    shown = screen.getvalue()
    assert re.search(r"\na +1/3 +0 ", shown)
    assert shown.rfind("\x1b[?25h") > shown.rfind("\x1b[?25l") >= 0


def _interrupted(screen: _Screen) -> None:
    with progress(quiet=False, verbose=False, every_s=0.01) as watcher:
        watcher.started(Outlook({A: 3}, {A: 0}))
        watcher.finished(answer("a"))
        await_that(lambda: "1/3" in screen.getvalue())
        raise KeyboardInterrupt


class _Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def _told(folder: Path, *arguments: str) -> str:
    (folder / "config.yaml").write_text(
        "m:\n  vendors:\n"
        "    - {name: simulated, label: a, model_id: m, url: 'sim://faithful', price: {input: 1, output: 2}}\n"
        "    - {name: simulated, label: b, model_id: m, url: 'sim://cutter'}\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "vendor_verifier.cli.main", "run", "-n", "12", "--no-history",
         "--retries", "0", *arguments],
        capture_output=True, text=True, cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False,
    )  # fmt: skip
    return done.stderr


@pytest.mark.parametrize("where", [(), pytest.param(("--workers", "2"), marks=pytest.mark.slow)])
def test_the_last_line_of_a_run_accounts_for_every_sample(tmp_path: Path, where: tuple[str, ...]) -> None:
    """By vendor, with what it cost where there is a price, wherever the requests were sent from."""
    [line] = [line for line in _told(tmp_path, *where).splitlines() if line.startswith("24/24 done")]
    assert re.search(r"\$0\.\d{4} so far", line)
    assert re.search(r"\[a 12/12 \d+ ms; b 12/12", line)


@pytest.mark.slow
def test_control_c_leaves_a_clean_terminal(tmp_path: Path) -> None:
    """The table goes, the cursor comes back, the exit code is 130 and what was answered is kept."""
    main_fd, terminal = pty.openpty()
    demo = subprocess.Popen(
        [sys.executable, "-m", "vendor_verifier.cli.main", "demo", "-o", "run"],
        stderr=terminal, stdout=subprocess.DEVNULL, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", "COLUMNS": "120"},
    )  # fmt: skip
    os.close(terminal)
    shown = b""
    while b"In flight" not in shown:
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
