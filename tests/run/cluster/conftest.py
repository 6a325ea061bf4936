"""One set of simulated vendors for all cluster tests, a folder for each, and one cluster a module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from clusters import Cluster, cluster_of, site, vendors

__all__ = ["cluster", "site", "vendors"]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A scheduler and two workers that outlive a single test."""
    with cluster_of(tmp_path_factory.mktemp("cluster"), 2) as running:
        yield running
