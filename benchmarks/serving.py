"""Builds and runs the C mock server of the benchmarks on a core of its own; it measures nothing."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).with_name("mock_server.c")
SERVER_CORE = 1
CLIENT_CORE = 0
MODEL = "mock-model"


class NoCompiler(Exception):
    """The mock server cannot be built here; the message says what is missing."""


def build(folder: Path) -> Path:
    """Compile the server into ``folder``.

    Raises:
        NoCompiler: there is no C compiler, or it cannot build for this system.
    """
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None:
        raise NoCompiler("no C compiler was found (cc, gcc or clang)")
    program = folder / "mock_server"
    built = subprocess.run([compiler, "-O2", "-w", "-o", program, SOURCE], capture_output=True, text=True, check=False)
    if built.returncode:
        raise NoCompiler(f"{compiler} cannot build the mock server: {built.stderr.strip()[-300:]}")
    return program


def pinned(core: int) -> list[str]:
    """The words that pin a command to a core; none where that is impossible."""
    return ["taskset", "-c", str(core)] if shutil.which("taskset") else []


@contextlib.contextmanager
def mock_server(*options: str) -> Iterator[int]:
    """A running server with ``options``; yields its port.

    Raises:
        NoCompiler: it cannot be built.
    """
    with tempfile.TemporaryDirectory() as folder:
        program = build(Path(folder))
        port = _free_port()
        command = [*pinned(SERVER_CORE), str(program), "--port", str(port), *options]
        server = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        try:
            _put_first(server.pid)
            _wait_for(port)
            yield port
        finally:
            server.kill()
            server.wait()


def _put_first(server: int) -> None:
    """Where ``chrt`` keeps the benchmark from other programs' load, its server goes before its client, too."""
    policy = os.sched_getscheduler(0) if hasattr(os, "sched_getscheduler") else None
    if policy is not None and policy in (os.SCHED_FIFO, os.SCHED_RR):
        os.sched_setscheduler(server, policy, os.sched_param(os.sched_getparam(0).sched_priority + 1))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for(port: int) -> None:
    for _ in range(200):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.02)
    raise TimeoutError("the mock server does not answer")
