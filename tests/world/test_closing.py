"""Servers that close connections the client would use again: it is nobody's failure."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from world_runs import Place
from world_servers import Server, haproxy, litellm, llama, nginx, simulated

pytestmark = pytest.mark.world

Kept = Callable[[Path, Server], AbstractContextManager[Server]]
# The last answer's end and the next question are about as far apart as the server keeps a connection: from 60 ms less
# to 60 ms more, and answers take some ms themselves.
GAPS_S = [1.0 + 0.005 * step for step in range(-12, 13)]
KEPT_FOR_A_SECOND: dict[str, Kept] = {
    "nginx": lambda folder, behind: nginx(folder, behind, "keepalive_timeout 1s;"),
    "haproxy": lambda folder, behind: haproxy(folder, behind, "1s"),
}


@pytest.mark.parametrize("concurrency", [1, 5, 20])
def test_llama(place: Place, record_property: Callable[[str, object], None], concurrency: int) -> None:
    """Each connection is closed right after its answer, though keep-alive was announced: no failure of 200."""
    place.samples(200, tools=False)
    with llama(place.folder) as server:
        record_property("server", server.name)
        body = {"ignore_eos": True, "temperature": 0}
        place.configure({"llama": f"{server.address}/v1"}, {"max_tokens": 8, "extra_body": body})
        code, told = place.run("--request-concurrency", str(concurrency))
    record_property("found", f"{sum(place.failures().values())} failures of {len(place.records())}")
    assert place.failures() == {}
    assert len(place.records()) == 200
    assert code == 0, told


@pytest.mark.parametrize("name", KEPT_FOR_A_SECOND)
def test_keep_alive_of_a_second(place: Place, record_property: Callable[[str, object], None], name: str) -> None:
    """Idle connections are closed after a second, and a question comes after about that long: no failure."""
    labels = ("faithful", "padded", "buffering", "text-leaker")
    place.samples(len(GAPS_S), tools=True)
    due_s = [sum(GAPS_S[:place]) for place in range(len(GAPS_S))]
    (place.folder / "schedule.csv").write_text("".join(f"{at:.3f}\n" for at in due_s), encoding="utf-8")
    with simulated(place.folder) as behind, KEPT_FOR_A_SECOND[name](place.folder, behind) as server:
        record_property("server", server.name)
        place.configure({label: f"{server.address}/{label}/v1" for label in labels})
        code, told = place.run("--replay-schedule", "schedule.csv")
    record_property("found", f"{sum(place.failures().values())} failures of {len(place.records())}")
    assert place.failures() == {}
    assert len(place.records()) == len(labels) * len(GAPS_S)
    assert code == 0, told


def test_litellm(place: Place, record_property: Callable[[str, object], None]) -> None:
    """A gateway passes everything on: no failure of 100, and every answer is read as it is without it."""
    place.samples(100)
    with simulated(place.folder) as behind, litellm(place.folder, behind) as server:
        record_property("server", server.name)
        addresses = {"direct": f"{behind.address}/faithful/v1", "gateway": f"{server.address}/v1"}
        place.configure(addresses)
        code, told = place.run("--request-concurrency", "10")
    answers: dict[str, dict[str, object]] = {label: {} for label in addresses}
    for record in place.records():
        calls = record["turns"][-1]["attempts"][-1]["response"]["tool_calls"]
        answers[record["label"]][record["sample"]] = [(call["name"], call["arguments"]) for call in calls]
    differ = sum(answers["gateway"].get(sample) != calls for sample, calls in answers["direct"].items())
    record_property("found", f"{sum(place.failures().values())} failures of {len(place.records())}, {differ} differ")
    assert place.failures() == {}
    assert (len(answers["direct"]), len(answers["gateway"]), differ) == (100, 100, 0)
    assert code == 0, told
