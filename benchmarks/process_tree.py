"""Measures a command with all the processes it starts: CPU, wall time, memory; it knows no peer and prints nothing.

CPU is what the kernel accounts to processes that were waited for. A program that leaves children behind would hide
theirs, so this process adopts orphans (Linux) and waits for them too.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from cost import Cost
from serving import CLIENT_CORE, SERVER_CORE, pinned

_ADOPT_ORPHANS = 36  # PR_SET_CHILD_SUBREAPER of <linux/prctl.h>
_GRACE_S = 60.0
_SAMPLE_EVERY_S = 0.25


class Failed(Exception):
    """The command did not do its work; the message ends with what it said last."""


def measured(command: Sequence[str], folder: Path, longest_s: float, environ: Mapping[str, str]) -> Cost:
    """Run ``command`` in ``folder`` to its end, it and its children on the client's core.

    Memory is the largest resident set of a single process, or, where there are several, the largest sum of their
    proportional sets, sampled four times a second.

    Raises:
        Failed: it ended with an error, or was ended after ``longest_s``.
    """
    with _adopting_orphans():
        known = set(_children())
        said = folder / "said.txt"
        began = time.perf_counter()
        with said.open("wb") as out:
            child = subprocess.Popen(
                [*pinned(CLIENT_CORE), *command],
                cwd=folder, stdout=out, stderr=subprocess.STDOUT, env={**os.environ, **environ}, start_new_session=True,
            )  # fmt: skip
        watchdog = threading.Timer(longest_s, _end_session, [child.pid])
        watchdog.start()
        with _sampled(child.pid) as memory:
            _, status, used = os.wait4(child.pid, 0)
        watchdog.cancel()
        wall_s = time.perf_counter() - began
        child.returncode = os.waitstatus_to_exitcode(status)
        cpu_s = _cpu_s(used) + sum(map(_cpu_s, _orphans(known)))
    if child.returncode:
        raise Failed(f"ended with {child.returncode} after {wall_s:.0f} s: {said.read_text(errors='replace')[-1500:]}")
    return Cost(cpu_s, wall_s, memory.peak_mb if memory.processes > 1 else used.ru_maxrss / 1024)


@contextlib.contextmanager
def _adopting_orphans() -> Iterator[None]:
    """Be the parent of what descendants leave behind, for the block only; nothing happens where that is impossible."""
    prctl = ctypes.CDLL(None).prctl if sys.platform == "linux" else None
    if prctl is not None:
        prctl(_ADOPT_ORPHANS, 1, 0, 0, 0)
    try:
        yield
    finally:
        if prctl is not None:
            prctl(_ADOPT_ORPHANS, 0, 0, 0, 0)


def _cpu_s(used: resource.struct_rusage) -> float:
    return used.ru_utime + used.ru_stime


def _orphans(known: set[int]) -> Iterator[resource.struct_rusage]:
    """Wait for every adopted process; those that do not end by themselves are ended."""
    deadline = time.monotonic() + _GRACE_S
    while left := set(_children()) - known:
        for pid in left:
            if time.monotonic() > deadline:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            done, _, used = os.wait4(pid, os.WNOHANG)
            if done:
                yield used
        time.sleep(0.02)


def _end_session(leader: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)


def _parents() -> dict[int, int]:
    """Parent of every process that can be seen; empty where there is no /proc."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, IndexError):
            found[int(entry.parent.name)] = int(entry.read_text().rpartition(")")[2].split()[1])
    return found


def _children() -> list[int]:
    return [pid for pid, parent in _parents().items() if parent == os.getpid()]


def descendants(root: int, parents: Mapping[int, int]) -> set[int]:
    """``root`` and everything under it."""
    found = {root}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found


class _Memory:
    """The largest number of processes seen at once and the largest sum of their proportional memory."""

    def __init__(self) -> None:
        self.processes = 0
        self.peak_mb = 0.0

    def look(self, root: int) -> None:
        tree = descendants(root, _parents())
        self.processes = max(self.processes, len(tree))
        if len(tree) > 1:
            self.peak_mb = max(self.peak_mb, sum(map(_proportional_mb, tree)))


def _proportional_mb(pid: int) -> float:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) / 1024
    return 0.0


@contextlib.contextmanager
def _sampled(root: int) -> Iterator[_Memory]:
    """Look at memory from the server's core while the block runs, so that the client is not disturbed."""
    memory = _Memory()
    over = threading.Event()

    def watch() -> None:
        if hasattr(os, "sched_setaffinity") and SERVER_CORE in os.sched_getaffinity(0):
            os.sched_setaffinity(0, {SERVER_CORE})
        while not over.wait(_SAMPLE_EVERY_S):
            memory.look(root)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield memory
    finally:
        over.set()
        watcher.join()
