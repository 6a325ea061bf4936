"""A reverse proxy that holds streams back is found, and the same one that passes them on is not accused."""

from __future__ import annotations

import pytest
from world_runs import Place
from world_servers import haproxy, nginx, simulated

from vendor_verifier import load_run

pytestmark = pytest.mark.world


@pytest.mark.parametrize("setting", ["on", "off"])
def test_buffering(place: Place, setting: str) -> None:
    """Streams are seen as buffered where proxy_buffering holds them back, and only there."""
    place.samples(60, tools=False)
    with (
        simulated(place.folder, speed=1.0) as vendors,
        haproxy(place.folder, vendors, "60s") as between,
        # nginx buffers an answer that ends with its connection, as haproxy gives it to who speaks HTTP/1.0.
        nginx(place.folder, between, f"proxy_buffering {setting};", speaks="1.0") as server,
    ):
        place.configure({"faithful": f"{server.address}/faithful/v1"})
        code, printed = place.run("--request-concurrency", "3")
    assert code == 0, printed
    assert (place.failures(), len(place.records())) == ({}, 60)
    seen = int(load_run(place.folder / "run").records["anomalies"].str.contains("buffered", na=False).sum())
    # The rest of an answer beyond one buffer of nginx comes later; a busy machine may join the pieces of a few.
    assert seen >= 48 if setting == "on" else seen <= 3
