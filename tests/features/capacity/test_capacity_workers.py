"""Levels of a capacity search over several processes: one load, one account book, by the server's own log."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from clusters import WatchedVendors

from vendor_verifier.cli.main import run_app

pytestmark = pytest.mark.slow
_SAMPLES = 8


@pytest.fixture
def vendors() -> Iterator[WatchedVendors]:
    with WatchedVendors(speed=4) as started:
        yield started


def search(vendors: WatchedVendors, folder: Path, persona: str, *words: str) -> dict[str, Any]:
    """The vendor's part of capacity.json, and every counted record under ``records``."""
    config = folder / "config.yaml"
    config.write_text(
        "simulated-model:\n  vendors:\n    - {name: simulated, label: v, model_id: simulated-model, validator: openai, "
        f"price: {{input: 10, output: 10}}, url: '{vendors.server.base_url(persona)}'}}\n"
    )
    out = folder / "out"
    command = ["capacity", "--config-file-path", str(config), "-n", str(_SAMPLES), "-q", "-o", str(out), *words]
    assert run_app(command) in (0, 3)
    (found,) = json.loads((out / "capacity.json").read_text())["capacity"]["vendors"]
    lines = (out / "records.jsonl").read_bytes().splitlines()
    return {**found, "records": [json.loads(line) for line in lines]}


def test_a_level_is_one_load_over_two_processes(vendors: WatchedVendors, tmp_path: Path) -> None:
    """Six in flight are six over both, never seven; as many came as are told, each process has its share, and what is
    asked one after the other goes from here."""
    found = search(vendors, tmp_path, "faithful", "--workers", "2", "--sweep", "2,6", "--slo", "ttft.p95 <= 60000")
    assert vendors.most_in_flight["faithful"] == 6
    assert found["requests"] == len(vendors.arrived_at)
    assert [(one["stage"], one["level"], one["processes"]) for one in found["sittings"]] == [
        ("unloaded", 1, 1),
        ("level", 2, 2),
        ("level", 6, 2),
    ]
    of_level = {(record["run"].split(":")[1], record["worker"]) for record in found["records"]}
    assert of_level == {("unloaded", None), *((level, worker) for level in "26" for worker in ("w0", "w1"))}
    outcomes = [(point["level"], point["outcome"]) for point in found["points"]]
    assert outcomes == [(1, "holds"), (2, "holds"), (6, "holds")]


def test_refusals_and_requests_of_a_rate_are_counted_as_in_one_process(vendors: WatchedVendors, tmp_path: Path) -> None:
    """A vendor with room for six gives way by its rate limit; requests of a rate come as many as are due."""
    found = search(vendors, tmp_path, "throttled", "--workers", "2", "--sweep", "4,12")
    assert (found["capacity"], found["broke_at"]) == (4, 12)
    assert found["gave_way"][0]["aspect"] == "rate_limit"
    vendors.forget()
    (tmp_path / "rate").mkdir()
    found = search(vendors, tmp_path / "rate", "faithful", "--workers", "2", "--by", "rate", "--sweep", "20")
    assert found["requests"] == len(vendors.arrived_at)
    assert found["sittings"][1]["processes"] == 2


def test_money_is_counted_over_all_processes(vendors: WatchedVendors, tmp_path: Path) -> None:
    """The answers of workers are paid from the one book, and it ends the search."""
    found = search(vendors, tmp_path, "faithful", "--workers", "2", "--sweep", "2,4,8,16", "--max-cost", "0.2")
    assert (found["reason"], found["sittings"][-1]["stage"]) == ("cost", "level")
    assert found["requests"] == len(vendors.arrived_at)
