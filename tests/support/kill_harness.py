"""Runs the command line again and again in forked children and ends them on purpose; a script of :mod:`killing`.

Each line of stdin is a JSON list of jobs, each line of stdout the list of their exit codes. A job has ``arguments`` and
may have ``kill`` (the number of a step), ``signal`` (``[number, seconds]``) or ``file_size`` (no file may grow beyond
it). The arguments of this script are a first job, run in this process itself, which is then warm and forks all others.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import json
import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from vendor_verifier.cli.main import run_app
from vendor_verifier.pipeline import score


def _arm(step: int) -> None:
    """SIGKILL in the middle of this step that changes the disk, counted from 0."""
    steps, write = itertools.count(), os.write

    def around(act: Callable[..., Any], half: Callable[..., Any] = lambda *_: None) -> Callable[..., Any]:
        def instead(*arguments: Any, **options: Any) -> Any:
            if next(steps) == step:
                half(*arguments)
                os.kill(os.getpid(), signal.SIGKILL)
            return act(*arguments, **options)

        return instead

    os.write = around(write, lambda fd, data: write(fd, data[: len(data) // 2]))
    os.fsync, os.ftruncate = around(os.fsync), around(os.ftruncate)
    Path.replace = around(Path.replace)  # type: ignore[method-assign]


def _child(job: dict[str, Any]) -> None:
    # A child is looked at only through its files.
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    if "kill" in job:
        _arm(job["kill"])
    if "file_size" in job:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (job["file_size"], job["file_size"]))
    code = run_app(job["arguments"])
    sys.stdout.flush()
    os._exit(code)


def _run(job: dict[str, Any]) -> int:
    """The exit code, or minus the signal that ended the child."""
    child = os.fork()
    if child == 0:
        try:
            _child(job)
        except KeyboardInterrupt:  # outside of the program itself, which answers by its exit code
            os._exit(130)
        except SystemExit as end:
            os._exit(end.code if isinstance(end.code, int) else 99)
        finally:
            os._exit(99)
    if "signal" in job:
        number, seconds = job["signal"]
        time.sleep(seconds)
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, number)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def _warm(arguments: list[str]) -> None:
    """A run without pages, whose making takes longer than the rest."""
    written = score.write_reports
    score.write_reports = lambda folder, scored, names=("scores.json", "ranking.csv"): written(folder, scored, names)
    with contextlib.redirect_stdout(sys.stderr):
        assert run_app(arguments) == 0
    # Children would look through all of this at every collection.
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    _warm(sys.argv[1:])
    for line in sys.stdin:
        sys.stdout.write(json.dumps([_run(job) for job in json.loads(line)]) + "\n")
        sys.stdout.flush()
