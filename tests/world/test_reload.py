"""A server that reads its configuration again while it is asked: no question is lost, nobody is charged."""

from __future__ import annotations

import signal

import pytest
from costs import PATIENCE_S, await_that
from workbench import ONCE, Bench, simulated
from world_servers import haproxy, nginx

pytestmark = pytest.mark.world

REQUESTS = 3_000
RELOADS = 3
SERVERS = {"nginx": (nginx, signal.SIGHUP), "haproxy": (haproxy, signal.SIGUSR2)}


@pytest.mark.parametrize("name", SERVERS)
def test_reload_under_load(bench: Bench, name: str) -> None:
    """Three reloads while 3,000 questions are asked, 20 at a time: each has its answer, without a retry."""
    start, reload = SERVERS[name]
    bench.samples(REQUESTS)
    with simulated(100) as behind, start(bench.folder, behind) as server:
        bench.configure(f"faithful: {server.address}/faithful/v1", extra=ONCE)
        with bench.start("--request-concurrency", "20") as process:
            try:
                for number in range(1, RELOADS + 1):
                    enough = REQUESTS * number // (RELOADS + 1)
                    await_that(lambda enough=enough: process.poll() is not None or bench.kept() >= enough)
                    assert process.poll() is None
                    server.process.send_signal(reload)
                out, err = process.communicate(timeout=3 * PATIENCE_S)
            finally:
                process.kill()
    assert (bench.failures(), len(bench.records())) == ({}, REQUESTS)
    assert process.returncode == 0, out + err
