"""Servers that close connections the client would use again: no answer is lost, and no vendor is charged."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from workbench import ONCE, Bench, simulated
from world_servers import Server, haproxy, llama, nginx

pytestmark = pytest.mark.world

# The next question comes about when the server closes the connection: from 60 ms before to 60 ms after.
GAPS_S = [1.0 + 0.005 * step for step in range(-12, 13)]
KEPT_FOR_A_SECOND: dict[str, Callable[[Path, str], AbstractContextManager[Server]]] = {
    "nginx": lambda folder, behind: nginx(folder, behind, "keepalive_timeout 1s;"),
    "haproxy": lambda folder, behind: haproxy(folder, behind, "1s"),
}


@pytest.mark.parametrize("concurrency", [1, 5, 20])
def test_closed_after_each_answer(bench: Bench, concurrency: int) -> None:
    """llama.cpp announces keep-alive and closes each connection right after its answer."""
    bench.samples(200, tools=False)
    with llama(bench.folder) as server:
        body = {"ignore_eos": True, "temperature": 0}
        bench.configure(f"llama: {server.address}/v1", extra=ONCE, max_tokens=8, extra_body=body)
        code, printed = bench.program("--request-concurrency", str(concurrency))
    assert (bench.failures(), len(bench.records()), code) == ({}, 200, 0), printed


@pytest.mark.parametrize("name", KEPT_FOR_A_SECOND)
def test_kept_for_a_second(bench: Bench, name: str) -> None:
    """Idle connections are closed after a second, and a question comes after about that long."""
    labels = ("faithful", "padded", "buffering", "text-leaker")
    bench.samples(len(GAPS_S), tools=True)
    due_s = [sum(GAPS_S[:number]) for number in range(len(GAPS_S))]
    (bench.folder / "schedule.csv").write_text("".join(f"{at:.3f}\n" for at in due_s), encoding="utf-8")
    with simulated(20) as behind, KEPT_FOR_A_SECOND[name](bench.folder, behind) as server:
        bench.configure(*(f"{label}: {server.address}/{label}/v1" for label in labels), extra=ONCE)
        code, printed = bench.program("--set", "run.replay_schedule=schedule.csv")
    assert (bench.failures(), len(bench.records()), code) == ({}, len(labels) * len(GAPS_S), 0), printed
