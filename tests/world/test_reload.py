"""A server that reads its configuration again while it is asked: no question is lost, nobody is charged."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from costs import PATIENCE_S, await_that
from world_runs import Place
from world_servers import haproxy, nginx, simulated

pytestmark = pytest.mark.world

REQUESTS = 3_000
RELOADS = 3
SERVERS = {"nginx": (nginx, signal.SIGHUP), "haproxy": (haproxy, signal.SIGUSR2)}


@pytest.mark.parametrize("name", SERVERS)
def test_reload_under_load(place: Place, name: str) -> None:
    """Three reloads while 3,000 questions are asked, 20 at a time: each has its answer, without a retry."""
    start, reload = SERVERS[name]
    place.samples(REQUESTS)
    with simulated(place.folder, speed=100.0) as behind, start(place.folder, behind) as server:
        place.configure({"faithful": f"{server.address}/faithful/v1"})
        with place.start("--request-concurrency", "20") as process:
            try:
                for number in range(1, RELOADS + 1):
                    enough = REQUESTS * number // (RELOADS + 1)
                    await_that(lambda enough=enough: process.poll() is not None or _kept(place.folder) >= enough)
                    assert process.poll() is None
                    server.process.send_signal(reload)
                out, err = process.communicate(timeout=3 * PATIENCE_S)
            finally:
                process.kill()
    assert (place.failures(), len(place.records())) == ({}, REQUESTS)
    assert process.returncode == 0, out + err


def _kept(folder: Path) -> int:
    path = folder / "run" / "records.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0
