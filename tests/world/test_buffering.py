"""A proxy that holds streams back is found, and the same one that passes them on is not accused."""

from __future__ import annotations

import pytest
from world_runs import Place
from world_servers import haproxy, simulated

from vendor_verifier import load_run

pytestmark = pytest.mark.world


@pytest.mark.parametrize(
    ("option", "is_held_back"), [("no option http-no-delay", True), ("option http-no-delay", False)]
)
def test_buffering(place: Place, option: str, is_held_back: bool) -> None:
    """By itself haproxy holds small pieces for up to 200 ms, which is longer than these answers last."""
    place.samples(60, tools=False)
    with simulated(place.folder, speed=1.0) as behind, haproxy(place.folder, behind, option=option) as server:
        place.configure({"faithful": f"{server.address}/faithful/v1"})
        code, printed = place.run("--request-concurrency", "3")
    assert code == 0, printed
    assert (place.failures(), len(place.records())) == ({}, 60)
    seen = int(load_run(place.folder / "run").records["anomalies"].str.contains("buffered", na=False).sum())
    assert (seen > 40) == is_held_back
