"""Servers that hold streams back, close connections that the client would use again, or reload while they are asked."""

from __future__ import annotations

import signal

import pytest
from costs import PATIENCE_S, await_that
from workbench import ONCE, Bench, simulated
from world_servers import haproxy, llama, nginx

from vendor_verifier import load_run

pytestmark = pytest.mark.world

KEEPS_A_SECOND = {"nginx": (nginx, "keepalive_timeout 1s;"), "haproxy": (haproxy, "1s")}
REQUESTS, RELOADS = 3_000, 3
RELOADED_BY = {"nginx": (nginx, signal.SIGHUP), "haproxy": (haproxy, signal.SIGUSR2)}


@pytest.mark.parametrize(
    ("option", "is_held_back"), [("no option http-no-delay", True), ("option http-no-delay", False)]
)
def test_buffering(bench: Bench, option: str, is_held_back: bool) -> None:
    """By itself haproxy holds small pieces for up to 200 ms, which is longer than these answers last."""
    bench.samples(60, tools=False)
    with simulated(1) as behind, haproxy(bench.folder, behind, option=option) as server:
        bench.configure(f"faithful: {server.address}/faithful/v1", extra=ONCE)
        code, printed = bench.program("--request-concurrency", "3")
    assert (bench.failures(), len(bench.records()), code) == ({}, 60, 0), printed
    seen = int(load_run(bench.folder / "run").records["anomalies"].str.contains("buffered", na=False).sum())
    assert (seen > 40) == is_held_back


@pytest.mark.parametrize("concurrency", [1, 5, 20])
def test_closed_after_each_answer(bench: Bench, concurrency: int) -> None:
    """llama.cpp announces keep-alive and closes each connection right after its answer."""
    bench.samples(200, tools=False)
    with llama(bench.folder) as server:
        body = {"ignore_eos": True, "temperature": 0}
        bench.configure(f"llama: {server.address}/v1", extra=ONCE, max_tokens=8, extra_body=body)
        code, printed = bench.program("--request-concurrency", str(concurrency))
    assert (bench.failures(), len(bench.records()), code) == ({}, 200, 0), printed


@pytest.mark.parametrize("rate", ["1.03", "1", "0.97"])
@pytest.mark.parametrize("name", KEEPS_A_SECOND)
def test_kept_for_a_second(bench: Bench, name: str, rate: str) -> None:
    """Idle connections are closed after a second, and a question comes just before, then, or just after."""
    labels = ("faithful", "padded", "buffering", "text-leaker")
    bench.samples(10, tools=True)
    start, setting = KEEPS_A_SECOND[name]
    with simulated(20) as behind, start(bench.folder, behind, setting) as server:
        bench.configure(*(f"{label}: {server.address}/{label}/v1" for label in labels), extra=ONCE)
        code, printed = bench.program("--request-rate", rate)
    assert (bench.failures(), len(bench.records()), code) == ({}, len(labels) * 10, 0), printed


@pytest.mark.parametrize("name", RELOADED_BY)
def test_reload_under_load(bench: Bench, name: str) -> None:
    """Three reloads while 3,000 questions are asked, 20 at a time: each has its answer, without a retry."""
    start, reload = RELOADED_BY[name]
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
    assert (bench.failures(), len(bench.records()), process.returncode) == ({}, REQUESTS, 0), out + err
