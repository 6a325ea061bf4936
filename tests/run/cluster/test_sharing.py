"""A scheduler that is not for one run alone, and workers that are not what they should be."""

from __future__ import annotations

from pathlib import Path

import pytest
from clusters import ROOT, Cluster, Site, cluster_of, keys_of
from costs import PATIENCE_S

pytestmark = pytest.mark.slow  # clusters of real processes

DASK = ("--executor", "dask", "--dask-scheduler")


def test_two_runs_at_once_both_end_whole_and_warn_of_each_other(site: Site, cluster: Cluster) -> None:
    """Each has every record once and keeps its own limit; both reports name the other run and the shared vendors."""
    site.configure("official: faithful", "twin: padded", settings="concurrency: 2\nrpm: 600", samples=20)
    both = {name: site.start(name, *DASK, cluster.address, "--no-history") for name in ("one", "two")}
    for name, running in both.items():
        _, err = running.communicate(timeout=PATIENCE_S)
        assert running.returncode == 0, err
        assert set(keys_of(site.records(name)).values()) == {1}
        assert len(site.records(name)) == 40
    assert max(site.vendors.most_in_flight.values()) <= 4
    runs = {name: site.manifest(name)["run"] for name in both}
    for name, other in (("one", "two"), ("two", "one")):
        told = site.manifest(name)["executors"][-1]["beside"]
        assert told == {runs[other]: ["simulated-model: official", "simulated-model: twin"]}
        assert f"Run {runs[other]} used the same accounts" in (site.folder / name / "report.md").read_text()


def test_a_worker_of_another_version_is_refused_before_anything_is_sent(site: Site, tmp_path: Path) -> None:
    """What it measures would not be the same; the message names the worker and both versions."""
    site.configure("official: faithful", samples=3)
    other = tmp_path / "other"
    other.mkdir()
    (other / "sitecustomize.py").write_text("import vendor_verifier\nvendor_verifier.__version__ = '9.9.9'\n")
    with cluster_of(site.folder / "cluster", 0) as own:
        own.start_worker(PYTHONPATH=f"{other}:{ROOT}")
        code, err = site.run("old", *DASK, own.address)
    assert code == 2
    assert "worker w0" in err
    assert "version 9.9.9 instead of" in err
    assert site.vendors.arrived_at == []
