"""Schedulers and workers as processes on loopback, and vendors that remember what they were asked."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest
from costs import await_that
from fault_server import DONE, FaultServer, Script, Seen, delta, event, serving, stream
from workbench import ROOT, free_port


def _answer(_server: FaultServer, seen: Seen) -> Script:
    """A call of the tool after 25 ms, or 75 from the vendor ``c``; every fourth record is not looked up."""
    arguments = f'{{"id": {number_of(seen)}}}'
    call = {"index": 0, "id": "c1", "function": {"name": "look_up", "arguments": arguments}}
    said = {"content": "No."} if number_of(seen).endswith("3") else {"tool_calls": [call]}
    usage = event({"choices": [], "usage": {"prompt_tokens": 20, "completion_tokens": 10}})
    finish = delta("stop" if "content" in said else "tool_calls")
    return Script([(0.075 if seen.vendor == "c" else 0.025, stream(delta(**said), finish, usage, DONE))], "keep")


def number_of(seen: Seen) -> str:
    """The number of the record that was asked for."""
    return str(seen.body["messages"][0]["content"]).partition("record ")[2].rstrip(".")


def asked_twice(server: FaultServer) -> set[tuple[str, int]]:
    """Label and number of each record that was asked for more than once."""
    counts = Counter((seen.vendor, int(number_of(seen))) for seen in server.seen)
    return {question for question, count in counts.items() if count > 1}


@pytest.fixture
def vendors() -> Iterator[FaultServer]:
    """A server in a thread of its own, by whose log nobody may be asked too often."""
    with serving(_answer) as server:
        yield server


@dataclass
class Cluster:
    """A scheduler and workers, each a process of its own."""

    folder: Path
    port: int = field(default_factory=free_port)
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)
    schedulers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"tcp://127.0.0.1:{self.port}"

    def start_scheduler(self) -> None:
        words = ("--host", self.address, "--port", str(self.port), "--no-dashboard")
        self.schedulers.append(self._start("scheduler", "scheduler", *words))

    def start_worker(self, **environment: str) -> None:
        """A worker on its way up; :meth:`wait_for_workers` waits for it."""
        name = f"w{len(self.workers)}"
        words = (self.address, "--name", name, "--nthreads", "1", "--no-nanny", "--no-dashboard")
        self.workers.append(self._start(name, "worker", *words, **environment))

    def wait_for_workers(self) -> None:
        """Until every worker started so far has been known to the scheduler."""
        for number in range(len(self.workers)):
            log = self.folder / f"w{number}.log"
            await_that(lambda log=log: b"Registered to" in log.read_bytes())

    def _start(self, log: str, command: str, *arguments: str, **environment: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"{log}.log").open("ab") as out:
            return subprocess.Popen(
                [sys.executable, "-m", "dask", command, *arguments],
                stdout=out, stderr=out, cwd=self.folder,
                env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
            )  # fmt: skip

    def stop(self) -> None:
        for process in [*self.workers, *self.schedulers]:
            process.kill()
            process.wait(10)


@contextlib.contextmanager
def cluster_of(folder: Path, workers: int) -> Iterator[Cluster]:
    """A cluster with this number of workers on their way up."""
    folder.mkdir()
    cluster = Cluster(folder)
    cluster.start_scheduler()
    for _ in range(workers):
        cluster.start_worker()
    try:
        yield cluster
    finally:
        cluster.stop()


def workers_of(parent: int, count: int) -> list[psutil.Process]:
    """The worker processes of a run once there are ``count``."""
    found: list[psutil.Process] = []

    def are_there() -> bool:
        with contextlib.suppress(psutil.Error):
            children = psutil.Process(parent).children()
            found[:] = [each for each in children if any("spawn_main" in word for word in each.cmdline())]
        return len(found) == count

    await_that(are_there)
    return sorted(found, key=lambda each: each.pid)
