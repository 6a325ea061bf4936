"""Runs over real schedulers and workers on loopback: the same result as here, limits kept, nothing lost."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import statistics
import subprocess
import sys
from pathlib import Path

import pytest
from clusters import ROOT, Cluster, Site, cluster_of, free_port, keys_of
from costs import PATIENCE_S, await_that
from wire_tap import WireTap

pytestmark = pytest.mark.slow  # clusters of real processes

DASK = ("--executor", "dask", "--dask-scheduler")


def test_scores_equal_the_local_run_s_and_records_say_where_from(site: Site, cluster: Cluster) -> None:
    """Same seed, same scores; every planned record once, with worker and block; TTFT measured no worse than here."""
    site.configure("official: faithful", "poor: quantised", samples=60, baseline=True)
    assert site.run("here")[0] == 0
    code, err = site.run("there", *DASK, cluster.address)
    assert code == 0, err
    assert site.decisions("there") == site.decisions("here")
    records = site.records("there")
    assert set(keys_of(records).values()) == {1}
    assert keys_of(records) == keys_of(site.records("here"))
    assert len(records) >= 120
    assert {record["worker"] for record in records} == {"w0", "w1"}
    # 60 samples, at least four blocks for each of two workers.
    assert {record["block"] for record in records} == set(range(8))
    assert {record["label"] for record in records if record["worker"] == "w0"} == {"official", "poor"}
    executor = site.manifest("there")["executors"][-1]
    assert [worker["version"] for worker in executor["workers"]] == [executor["versions"]["version"]] * 2
    assert all(abs(worker["skew_ms"]) <= 50 + worker["skew_error_ms"] for worker in executor["workers"])
    assert (executor["lost_sessions"], executor["issued_again"], executor["duplicates"]) == ([], 0, 0)
    assert sum(worker["records"] for worker in executor["workers"]) == len(records)
    # Whoever reads the folder sees no other run: the same files, facts and headings.
    assert {path.name for path in (site.folder / "there").iterdir()} == {
        path.name for path in (site.folder / "here").iterdir()
    }
    assert site.manifest("there").keys() == site.manifest("here").keys()
    # A busy machine makes most of them late, and not the quickest; a detour over the scheduler would be in every one.
    assert site.ttft_ms("there")[0] < 2 * site.ttft_ms("here")[0]


def test_a_redacted_run_leaves_no_text_on_any_machine(site: Site, cluster: Cluster) -> None:
    """Scores are those of an open run here; neither the run's folder nor the logs of scheduler and workers hold a word
    that was asked or answered, and the open run shows that there were some."""
    site.configure("official: faithful", "poor: quantised", samples=40, baseline=True)
    assert site.run("open")[0] == 0
    code, err = site.run("closed", *DASK, cluster.address, "--redact-content")
    assert code == 0, err
    assert site.decisions("closed") == site.decisions("open")

    def found(*folders: Path) -> set[bytes]:
        files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
        return {word for word in (b"Please look up", b"look_up") for path in files if word in path.read_bytes()}

    assert found(site.folder / "open") == {b"Please look up", b"look_up"}
    assert found(site.folder / "closed", cluster.folder) == set()


def test_limits_hold_over_all_workers_also_when_one_is_killed(site: Site, cluster: Cluster) -> None:
    """The vendor's own log shows neither more in flight, nor more requests or tokens in a time, than one machine would
    be allowed; every record is there once."""
    site.configure("official: faithful", "twin: slow", settings="concurrency: 3", samples=60)
    site.amend("official", "rpm: 1800")
    site.amend("twin", "tpm: 120000")
    victim = cluster.start_worker()
    cluster.wait_for_workers()
    running = site.start("limited", *DASK, cluster.address)
    site.vendors.wait_for(40)
    victim.send_signal(signal.SIGKILL)
    _, err = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 0, err
    records = site.records("limited")
    assert set(keys_of(records).values()) == {1}
    assert max(site.vendors.most_in_flight.values()) <= 3
    at = {name: [when for when, who in site.vendors.arrived_at if who == name] for name in ("faithful", "slow")}
    # 30 a second, where three workers that each kept it for themselves would send 90: what a busy machine holds up and
    # then lets through at once is far from that.
    assert max(sum(1 for other in at["faithful"] if 0 <= other - begin < 1) for begin in at["faithful"]) <= 60
    assert len(at["faithful"]) - 1 <= 1.25 * 30 * (at["faithful"][-1] - at["faithful"][0])
    usages = [one["turns"][-1]["attempts"][-1]["response"]["usage"] for one in records if one["label"] == "twin"]
    mean_tokens = statistics.mean(usage["input"] + usage["output"] for usage in usages)
    # 2,000 a second, from the first request to the last.
    assert (len(at["slow"]) - 1) * mean_tokens <= 1.25 * 2000 * (at["slow"][-1] - at["slow"][0])


def test_workers_killed_at_five_random_moments_lose_nothing(site: Site, cluster: Cluster) -> None:
    """kill -9, five times in one run: every record once, and at most what was in flight is sent again."""
    site.configure("official: faithful", "twin: padded", settings="concurrency: 8", samples=200)
    victims = [cluster.start_worker() for _ in range(5)]
    cluster.wait_for_workers()
    running = site.start("killed", *DASK, cluster.address)
    moments = sorted(random.Random().sample(range(5, 250), 5))
    for victim, requests in zip(victims, moments, strict=True):
        site.vendors.wait_for(requests)
        victim.send_signal(signal.SIGKILL)
    _, err = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 0, err
    records = site.records("killed")
    assert len(records) == 400
    assert set(keys_of(records).values()) == {1}
    assert all(record["turns"][-1]["attempts"][-1]["failure"] is None for record in records), moments
    assert len(site.manifest("killed")["executors"][-1]["lost_sessions"]) >= 1
    assert max(site.vendors.most_in_flight.values()) <= 8
    # In flight were at most 16 requests each time; a few more were finished but not yet handed in.
    assert site.vendors.asked_more_than_once() <= 5 * (16 + 8)


def test_a_hung_worker_is_noticed_and_its_work_done_by_others(site: Site, cluster: Cluster) -> None:
    """SIGSTOP: its connections stay open, yet the run ends with every record once and says what it lost."""
    site.configure("official: faithful", "twin: padded", settings="concurrency: 6", samples=150)
    victim = cluster.start_worker()
    cluster.wait_for_workers()
    running = site.start("hung", *DASK, cluster.address, "--dask-hang-after", "10")
    site.vendors.wait_for(60)
    victim.send_signal(signal.SIGSTOP)
    _, err = running.communicate(timeout=PATIENCE_S)
    victim.kill()
    assert running.returncode == 0, err
    assert len(site.records("hung")) == 300
    assert set(keys_of(site.records("hung")).values()) == {1}
    executor = site.manifest("hung")["executors"][-1]
    assert executor["lost_s"] >= 10
    assert "silent" in executor["lost_sessions"][0]["reason"]


def test_nothing_is_sent_after_an_interrupt_and_the_run_goes_on_later(site: Site, cluster: Cluster) -> None:
    """Ctrl-C ends sending, keeps all that was sent, and --incremental completes the run."""
    site.configure("official: faithful", "twin: padded", settings="concurrency: 4", samples=250)
    running = site.start("stopped", *DASK, cluster.address)
    site.vendors.wait_for(30)
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 128 + signal.SIGINT, err
    assert len(site.records("stopped")) == len(site.vendors.arrived_at) < 500
    assert site.run("stopped", *DASK, cluster.address, "--incremental")[0] == 0
    assert len(site.vendors.arrived_at) == 500
    assert set(keys_of(site.records("stopped")).values()) == {1}


def test_a_dead_scheduler_is_survived(site: Site) -> None:
    """The run ends with a clear word, its records are kept, and a new scheduler and --incremental complete it."""
    site.configure("official: faithful", "twin: padded", settings="concurrency: 3", samples=250)
    with cluster_of(site.folder / "cluster", 1) as own:
        running = site.start("orphan", *DASK, own.address)
        await_that(lambda: site.kept("orphan") > 10)
        assert own.scheduler is not None
        own.scheduler.kill()
        _, err = running.communicate(timeout=PATIENCE_S)
        assert running.returncode == 4
        assert "--incremental" in err
        assert "Traceback" not in err
        executor = site.manifest("orphan")["executors"][-1]
        assert "scheduler went away" in executor["error"]
        assert [worker["name"] for worker in executor["workers"]] == ["w0"]
        assert [lost["reason"] for lost in executor["lost_sessions"]] == ["the scheduler went away"]
        kept = len(site.records("orphan"))
        assert 0 < kept < 500
        own.stop()
        own.start_scheduler()
        own.start_worker()
        code, err = site.run("orphan", *DASK, own.address, "--incremental")
        assert code == 0, err
    assert set(keys_of(site.records("orphan")).values()) == {1}
    assert len(site.records("orphan")) == 500


def medians_of_the_page(folder: Path) -> str:
    """What the page's own script for latency by region prints."""
    found = re.search(r"```python regions\n(.*?)```", (ROOT / "docs" / "distributed.md").read_text(), re.DOTALL)
    assert found is not None
    script = found.group(1).replace("runs/three-regions", str(folder))
    return subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True, cwd=ROOT).stdout


def test_workers_use_their_own_keys_and_say_their_region(site: Site) -> None:
    """The vendor sees the worker's key, never the coordinator's, and neither is ever on a wire of the cluster or in a
    file or log of it; the region is in records, manifest and report."""
    key = "WORKER-0123456789abcdef"
    site.configure("official: faithful", settings="api_key_env: CLUSTER_KEY", samples=30)
    environment = {"CLUSTER_KEY": key, "VENDOR_VERIFIER_REGION": "eu-west"}
    port = free_port()
    with WireTap(port) as tap, cluster_of(site.folder / "cluster", 0, environment=environment, port=port) as own:
        own.start_worker(f"tcp://127.0.0.1:{tap.port}")
        code, err = site.run("keys", *DASK, f"tcp://127.0.0.1:{tap.port}", CLUSTER_KEY="COORDINATOR-0123456789")
        assert code == 0, err
    assert b"Please look up record 7." in tap.heard
    assert b"CLUSTER_KEY" in tap.heard
    assert not [word for word in (key.encode(), b"COORDINATOR-0123456789") if word in tap.heard]
    assert site.vendors.authorizations == {f"Bearer {key}"}
    assert {record["region"] for record in site.records("keys")} == {"eu-west"}
    assert site.manifest("keys")["executors"][-1]["regions"] == {"eu-west": 1}
    assert medians_of_the_page(site.folder / "keys").split()[:2] == ["official", "eu-west"]
    everything = b"".join(path.read_bytes() for path in site.folder.rglob("*") if path.is_file())
    assert b"COORDINATOR-0123456789" not in everything
    assert key.encode() not in everything


def test_a_worker_without_a_key_is_refused_before_anything_is_sent(site: Site, cluster: Cluster) -> None:
    """The message names the variable, and no vendor was asked."""
    site.configure("official: faithful", settings="api_key_env: CLUSTER_KEY", samples=3)
    code, err = site.run("keyless", *DASK, cluster.address, CLUSTER_KEY="COORDINATOR-0123456789")
    assert code == 2
    assert "no value for CLUSTER_KEY" in err
    assert site.vendors.arrived_at == []


def test_ctrl_c_in_the_terminal_does_not_kill_the_workers(site: Site) -> None:
    """It reaches every process of the group; what is in flight on local workers is still finished and kept."""
    site.configure("official: faithful", "twin: padded", settings="concurrency: 4", samples=250)
    running = site.start("terminal", "--executor", "dask", "--dask-local", "2", own_group=True)
    site.vendors.wait_for(30)
    os.killpg(running.pid, signal.SIGINT)
    _, err = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 128 + signal.SIGINT, err
    assert len(site.records("terminal")) == len(site.vendors.arrived_at) < 500
    assert site.manifest("terminal")["executors"][-1]["lost_sessions"] == []


def test_processes_here_need_no_cluster(site: Site) -> None:
    """--dask-local starts what it needs and leaves nothing running."""
    site.configure("official: faithful", "twin: faithful", samples=60)
    code, err = site.run("processes", "--executor", "dask", "--dask-local", "2", "--json")
    assert code == 0, err
    assert len({record["worker"] for record in site.records("processes")}) == 2
    assert json.loads((site.folder / "processes" / "manifest.json").read_text())["status"] == "finished"
