"""The worker processes of a run, as the system lists them, and waiting for them to come and go."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from costs import PATIENCE_S

OURS = b"process_executor"
# Of a local Dask cluster: processes that its nannies started.
DASKS = b"spawn_main"


def children_of(parent: int, by: bytes = OURS) -> list[int]:
    """Worker processes of a run, by their command line; without one they are not ours."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            command = (folder / "cmdline").read_bytes()
        except (OSError, IndexError):
            continue
        if folder.name.isdigit() and int(fields[1]) == parent and by in command:
            found.append(int(folder.name))
    return sorted(found)


def workers_of(parent: int, count: int = 2, by: bytes = OURS) -> list[int]:
    """The workers of a run once they are there."""
    for found in moments():
        if len(workers := children_of(parent, by)) == count:
            return workers
        assert found
    raise AssertionError


def is_alive(process: int) -> bool:
    try:
        return (Path("/proc") / str(process) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def moments(within_s: float = PATIENCE_S) -> Iterator[bool]:
    """True every few milliseconds, at last False."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        yield True
        time.sleep(0.005)
    yield False


def all_gone(processes: list[int], within_s: float = PATIENCE_S) -> bool:
    return any(not any(map(is_alive, processes)) for _ in moments(within_s))
