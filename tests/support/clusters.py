"""Real schedulers, workers and runs as processes on loopback, and simulated vendors whose own log can be read."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from costs import PATIENCE_S

from vendor_verifier.features.simulate.server import Vendors

ROOT = Path(__file__).parents[2]
_TOOL = {
    "type": "function",
    "function": {
        "name": "look_up",
        "parameters": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]},
    },
}


class _Heard(asyncio.StreamReader):
    """A reader that notes the key of every request."""

    def __init__(self, reader: asyncio.StreamReader, log: WatchedVendors) -> None:
        super().__init__()
        self._reader = reader
        self._log = log

    async def readuntil(self, separator: Any = b"\n") -> bytes:
        head = await self._reader.readuntil(separator)
        for line in head.decode("latin-1").split("\r\n"):
            name, _, value = line.partition(": ")
            if name.lower() == "authorization":
                self._log.authorizations.add(value)
        return head

    async def readexactly(self, n: int) -> bytes:
        return await self._reader.readexactly(n)


class _Watched(Vendors):
    """Vendors that write down what arrives."""

    def __init__(self, log: WatchedVendors) -> None:
        super().__init__({}, speed=5.0)
        self._log = log

    async def connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await super().connection(_Heard(reader, self._log), writer)

    async def respond(self, writer: asyncio.StreamWriter, name: str, path: str, data: bytes) -> bool:
        self._log.asked[name, data] += 1
        self._log.most_in_flight[name] = max(self._log.most_in_flight[name], self.in_flight[name])
        return await super().respond(writer, name, path, data)


class WatchedVendors:
    """Simulated vendors on a thread of their own, with a log of what arrived.

    A first token takes 25 ms, and 75 ms from ``slow``.
    """

    def __init__(self) -> None:
        self.asked: Counter[tuple[str, bytes]] = Counter()
        self.most_in_flight: Counter[str] = Counter()
        self.authorizations: set[str] = set()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        server = await asyncio.start_server(_Watched(self).connection, "127.0.0.1", 0, backlog=512)
        self._port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()

    def base_url(self, persona: str) -> str:
        """The ``url`` of a vendor entry for this persona."""
        return f"http://127.0.0.1:{self._port}/{persona}/v1"

    def __enter__(self) -> WatchedVendors:
        self._thread.start()
        assert self._ready.wait(PATIENCE_S)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(PATIENCE_S)

    def forget(self) -> None:
        """Begin a new log."""
        self.asked.clear()
        self.most_in_flight.clear()
        self.authorizations.clear()

    def asked_twice(self) -> set[tuple[str, str]]:
        """Persona and number of each record that was asked for more than once."""
        twice = [question for question, count in self.asked.items() if count > 1]
        return {(persona, str(data).partition("record ")[2].partition(".")[0]) for persona, data in twice}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class Cluster:
    """A scheduler and workers, each a process of its own."""

    folder: Path
    port: int = field(default_factory=free_port)
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)
    scheduler: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"tcp://127.0.0.1:{self.port}"

    def start_scheduler(self) -> None:
        self.scheduler = self._start(
            "scheduler", "scheduler", "--host", self.address, "--port", str(self.port), "--no-dashboard"
        )

    def start_worker(self, **environment: str) -> None:
        """A worker on its way up; :meth:`wait_for_workers` waits for it."""
        name = f"w{len(self.workers)}"
        words = (self.address, "--name", name, "--nthreads", "1", "--no-nanny", "--no-dashboard")
        self.workers.append(self._start(name, "worker", *words, **environment))

    def wait_for_workers(self) -> None:
        """Until every worker started so far has been known to the scheduler."""
        deadline = time.monotonic() + PATIENCE_S
        for number in range(len(self.workers)):
            log = self.folder / f"w{number}.log"
            while b"Registered to" not in log.read_bytes():
                assert time.monotonic() < deadline, log.read_text()
                time.sleep(0.02)

    def _start(self, log: str, command: str, *arguments: str, **environment: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"{log}.log").open("ab") as out:
            return subprocess.Popen(
                [sys.executable, "-m", "dask", command, *arguments],
                stdout=out, stderr=out, cwd=self.folder,
                env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
            )  # fmt: skip

    def stop(self) -> None:
        for process in [*self.workers, *([self.scheduler] if self.scheduler else [])]:
            if process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    process.send_signal(signal.SIGCONT)
                process.kill()
            process.wait(10)


@dataclass
class Site:
    """A folder with config and samples, and runs in it."""

    folder: Path
    vendors: WatchedVendors

    def configure(self, *labels_and_personas: str, samples: int, settings: Mapping[str, str] | None = None) -> None:
        """Write config.yaml for ``label: persona`` pairs, with a further setting by label, and the questions."""
        lines = ["simulated-model:", "  vendors:"]
        for words in labels_and_personas:
            label, persona = words.split(": ")
            lines += [
                f"    - {{name: simulated, label: {label}, model_id: simulated-model, validator: openai,",
                f"       url: '{self.vendors.base_url(persona)}', {(settings or {}).get(label, '')}}}",
            ]
        (self.folder / "config.yaml").write_text("\n".join(lines) + "\n", encoding="utf-8")
        bodies = [
            {"messages": [{"role": "user", "content": f"Please look up record {number}."}], "tools": [_TOOL]}
            for number in range(samples)
        ]
        rows = "".join(json.dumps(body) + "\n" for body in bodies)
        (self.folder / "samples.jsonl").write_text(rows, encoding="utf-8")

    def start(self, output: str, *arguments: str, own_group: bool = False, **environment: str) -> subprocess.Popen[str]:
        """Begin a run, on request in a process group of its own as a terminal would."""
        command = [
            sys.executable, "-m", "vendor_verifier.cli.main", "run", "--config-file-path", "config.yaml",
            "--test-file-path", "samples.jsonl", "-o", output, "--quiet", *arguments,
        ]  # fmt: skip
        return subprocess.Popen(
            command, cwd=self.folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT), **environment}, start_new_session=own_group,
        )  # fmt: skip

    def run(self, output: str, *arguments: str, **environment: str) -> tuple[int, str]:
        """Run to the end: exit code and stderr."""
        process = self.start(output, *arguments, **environment)
        _, err = process.communicate(timeout=PATIENCE_S)
        return process.returncode, err

    def records(self, output: str) -> list[dict[str, Any]]:
        path = self.folder / output / "records.jsonl"
        return [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []

    def kept(self, output: str) -> int:
        """How many records are written so far."""
        path = self.folder / output / "records.jsonl"
        return path.read_bytes().count(b"\n") if path.exists() else 0

    def manifest(self, output: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / output / "manifest.json").read_text(encoding="utf-8"))
        return found

    def decisions(self, output: str) -> dict[str, Any]:
        """What of the scores does not depend on the clock."""
        keys = ("f1", "success_rate", "schema_accuracy", "counts", "failures")
        scores = json.loads((self.folder / output / "scores.json").read_text(encoding="utf-8"))
        vendors = scores["models"]["simulated-model"]["vendors"]
        return {label: {key: figures[key] for key in keys} for label, figures in vendors.items()}


@pytest.fixture(scope="session")
def vendors() -> Iterator[WatchedVendors]:
    """One set of simulated vendors for all tests of a session."""
    with WatchedVendors() as watched:
        yield watched


@pytest.fixture
def site(tmp_path: Path, vendors: WatchedVendors) -> Site:
    """A folder to run in, the vendors' log empty."""
    vendors.forget()
    return Site(tmp_path, vendors)


def keys_of(records: list[dict[str, Any]]) -> Counter[tuple[str, str, int]]:
    """How often each planned record is there."""
    return Counter((record["label"], record["sample"], record["repetition"]) for record in records)


@contextlib.contextmanager
def cluster_of(folder: Path, workers: int) -> Iterator[Cluster]:
    """A cluster with this number of workers on their way up."""
    folder.mkdir(exist_ok=True)
    cluster = Cluster(folder)
    try:
        cluster.start_scheduler()
        for _ in range(workers):
            cluster.start_worker()
        yield cluster
    finally:
        cluster.stop()


def workers_of(parent: int, count: int) -> list[int]:
    """The worker processes of a run once there are ``count``."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        found = [int(name.name) for name in Path("/proc").iterdir() if name.name.isdigit() and _is_worker(name, parent)]
        if len(found) == count:
            return sorted(found)
        time.sleep(0.005)
    raise AssertionError(f"there were never {count} workers")


def _is_worker(process: Path, parent: int) -> bool:
    try:
        fields = (process / "stat").read_text().rpartition(")")[2].split()
        return int(fields[1]) == parent and b"spawn_main" in (process / "cmdline").read_bytes()
    except (OSError, IndexError):
        return False
