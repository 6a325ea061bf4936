"""A server that is told to read its configuration again while it is asked: no question is lost."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from costs import PATIENCE_S, await_that
from world_runs import Place
from world_servers import nginx, simulated

pytestmark = pytest.mark.world

REQUESTS = 3_000
RELOADS = 3


def test_reload_under_load(place: Place, record_property: Callable[[str, object], None]) -> None:
    """Three reloads while 3,000 questions are asked, 20 at a time: each has its answer, without a retry."""
    place.samples(REQUESTS)
    log = place.folder / "access.log"
    with simulated(place.folder, speed=100.0) as behind, nginx(place.folder, behind) as server:
        record_property("server", server.name)
        place.configure({"faithful": f"{server.address}/faithful/v1"})
        with place.start("--request-concurrency", "20") as process:
            try:
                for number in range(1, RELOADS + 1):
                    served = REQUESTS * number // (RELOADS + 1)
                    await_that(lambda served=served: process.poll() is not None or _lines(log) >= served)
                    server.process.send_signal(signal.SIGHUP)
                out, err = process.communicate(timeout=3 * PATIENCE_S)
            finally:
                process.kill()
        reloads = (place.folder / "nginx-error.log").read_text(encoding="utf-8").count("(SIGHUP) received")
    records = place.records()
    good = sum(not turn["attempts"][-1].get("failure") for record in records for turn in record["turns"][-1:])
    record_property("found", f"{good} of {REQUESTS} through {reloads} reloads")
    assert place.failures() == {}
    assert (good, len(records), reloads) == (REQUESTS, REQUESTS, RELOADS)
    assert process.returncode == 0, out + err


def _lines(log: Path) -> int:
    return log.read_bytes().count(b"\n") if log.exists() else 0
