"""One set of simulated vendors for all cluster tests, a folder for each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from clusters import Cluster, Site, WatchedVendors, cluster_of


@pytest.fixture(scope="session")
def vendors() -> Iterator[WatchedVendors]:
    with WatchedVendors() as watched:
        yield watched


@pytest.fixture
def site(tmp_path: Path, vendors: WatchedVendors) -> Site:
    vendors.forget()
    return Site(tmp_path, vendors)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A scheduler and two workers that outlive a single test."""
    with cluster_of(tmp_path_factory.mktemp("cluster"), 2) as running:
        yield running
