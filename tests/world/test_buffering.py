"""A proxy that holds streams back is found, and the same one that passes them on is not accused."""

from __future__ import annotations

import pytest
from workbench import ONCE, Bench, simulated
from world_servers import haproxy

from vendor_verifier import load_run

pytestmark = pytest.mark.world


@pytest.mark.parametrize(
    ("option", "is_held_back"), [("no option http-no-delay", True), ("option http-no-delay", False)]
)
def test_buffering(bench: Bench, option: str, is_held_back: bool) -> None:
    """By itself haproxy holds small pieces for up to 200 ms, which is longer than these answers last."""
    bench.samples(60, tools=False)
    with simulated(1) as behind, haproxy(bench.folder, behind, option=option) as server:
        bench.configure(f"faithful: {server.address}/faithful/v1", extra=ONCE)
        code, printed = bench.program("--request-concurrency", "3")
    assert code == 0, printed
    assert (bench.failures(), len(bench.records())) == ({}, 60)
    seen = int(load_run(bench.folder / "run").records["anomalies"].str.contains("buffered", na=False).sum())
    assert (seen > 40) == is_held_back
