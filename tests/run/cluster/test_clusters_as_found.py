"""Clusters as Dask's users have them: one that adapts, one behind a client or a file, one without workers."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from clusters import ROOT, Cluster, Site, adapting_cluster, cluster_of, keys_of
from costs import PATIENCE_S, await_that
from distributed import Client, LocalCluster

from vendor_verifier.api import verify
from vendor_verifier.errors import NobodyToSend, UsageError
from vendor_verifier.run.cluster import dask_executor

pytestmark = pytest.mark.slow  # clusters of real processes


@pytest.fixture
def adapting() -> Iterator[LocalCluster]:
    with adapting_cluster() as cluster:
        yield cluster


def test_a_cluster_that_adapts_starts_workers_for_a_run_and_ends_none_at_work(
    site: Site, adapting: LocalCluster
) -> None:
    """From no worker to all three, by a client passed in; every record once; none is lost by scaling; after the run
    none is wanted any more."""
    site.configure("official: slow", settings="concurrency: 4", samples=400)
    most: list[int] = []
    with Client(adapting) as client:
        outcome = verify(
            site.folder / "config.yaml",
            samples=site.folder / "samples.jsonl",
            output_dir=site.folder / "adapted",
            dask_client=client,
            on_record=lambda _: most.append(len(adapting.workers)),
        )
        assert outcome.signal_number is None
        assert set(keys_of(site.records("adapted")).values()) == {1}
        assert len(site.records("adapted")) == 400
        executor = site.manifest("adapted")["executors"][-1]
        assert executor["lost_sessions"] == []
        assert len(executor["workers"]) == 3 == max(most)
        await_that(lambda: not adapting.workers)


def test_the_page_s_program_runs(site: Site) -> None:
    """As it stands, beside a config.yaml: it sends over workers that it had started."""
    site.configure("official: faithful", samples=40)
    page = (ROOT / "docs" / "distributed.md").read_text(encoding="utf-8")
    found = re.search(r"```python client\n(.*?)```", page, re.DOTALL)
    assert found is not None
    (site.folder / "program.py").write_text(found.group(1))
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "program.py"]
    printed = subprocess.run(command, cwd=site.folder, env=environment, check=True, capture_output=True, text=True)
    assert printed.stdout.split() == ["runs/adaptive", "official", "40"]
    assert len(site.records("runs/adaptive")) == 40


def test_a_client_of_a_program_is_used_and_left_open(site: Site, cluster: Cluster) -> None:
    """Beside the main thread, too; the program's own work goes on over the same client afterwards."""
    site.configure("official: faithful", samples=20)
    with Client(cluster.address, set_as_default=False) as client:
        run = {"samples": site.folder / "samples.jsonl", "dask_client": client}
        verify(site.folder / "config.yaml", output_dir=site.folder / "here", **run)
        folder = site.folder / "beside"
        beside = threading.Thread(
            target=verify, args=[site.folder / "config.yaml"], kwargs={**run, "output_dir": folder}
        )
        beside.start()
        beside.join(PATIENCE_S)
        assert client.submit(sum, [1, 2]).result(PATIENCE_S) == 3
    assert len(site.records("here")) == len(site.records("beside")) == 20
    with pytest.raises(UsageError, match="dask_client is closed"):
        verify(site.folder / "config.yaml", output_dir=site.folder / "closed", **run)
    assert not (site.folder / "closed").exists()


def test_a_scheduler_s_file_is_as_good_as_its_address(site: Site, cluster: Cluster) -> None:
    """By either name of the flag."""
    site.configure("official: faithful", samples=10)
    (site.folder / "scheduler.json").write_text(json.dumps({"address": cluster.address}))
    for name in ("scheduler", "address"):
        code, err = site.run(name, "--executor", "dask", f"--dask-{name}", "scheduler.json")
        assert code == 0, err
        assert len(site.records(name)) == 10


def test_a_dashboard_is_named_where_there_is_one(site: Site) -> None:
    """Not with --quiet."""
    site.configure("official: faithful", samples=10)
    words = ["--executor", "dask", "--dask-local", "1"]
    loud = site.start("loud", *words, quiet=False)
    _, err = loud.communicate(timeout=PATIENCE_S)
    assert "Dask's dashboard: http://127.0.0.1:" in err
    assert "dashboard" not in site.run("quiet", *words)[1]


def seen_by(watching: Client) -> int:
    """The clients that the scheduler has, the one that asks included."""
    # A named function of this module the scheduler could not load.
    found = watching.run_on_scheduler(
        lambda dask_scheduler: sum(name.startswith("Client-") for name in dask_scheduler.clients)
    )
    return int(found)


def test_where_no_worker_comes_no_folder_is_left(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the time that a cluster has to start one, and after Ctrl-C or SIGTERM while waiting, nothing is in the
    way."""
    site.configure("official: faithful", samples=10)
    with cluster_of(tmp_path / "cluster", 0) as empty:
        monkeypatch.setattr(dask_executor, "WORKERS_WITHIN_S", 1.0)
        with pytest.raises(NobodyToSend, match="no worker has joined"):
            verify(
                site.folder / "config.yaml",
                samples=site.folder / "samples.jsonl",
                output_dir=site.folder / "never",
                executor="dask",
                dask_scheduler=empty.address,
            )
        assert not (site.folder / "never").exists()
        for number in (signal.SIGINT, signal.SIGTERM):
            waiting = site.start("stopped", "--executor", "dask", "--dask-scheduler", empty.address)
            await_that(lambda: (site.folder / "stopped" / "manifest.json").exists())
            with Client(empty.address, set_as_default=False) as watching:
                # It has come as well, so it waits.
                await_that(lambda: seen_by(watching) > 1)
            waiting.send_signal(number)
            _, err = waiting.communicate(timeout=PATIENCE_S)
            assert waiting.returncode == 128 + number, err
            assert "Traceback" not in err
            assert not (site.folder / "stopped").exists()
    assert site.vendors.arrived_at == []
