"""Shaped loads over a Dask cluster: one schedule from one epoch by every worker's own clock, limits of the whole."""

from __future__ import annotations

import os
import signal
from datetime import datetime
from statistics import median
from typing import Any

import numpy as np
import pytest
from clusters import Cluster, Site, assert_objectives_of_the_whole
from costs import PATIENCE_S
from scipy.stats import kstest
from shaped_runs import due_of, offered_in

from vendor_verifier.records.plan import LoadShape

pytestmark = pytest.mark.slow  # clusters of real processes
DASK = ("--executor", "dask", "--dask-scheduler")


def epoch_s(record: dict[str, Any]) -> float:
    """When the schedule began, by the wall clock of whoever sent this record."""
    timing = record["turns"][0]["attempts"][0]["timing"]
    sent_s = datetime.fromisoformat(timing["sent_at"]).timestamp()
    return float(sent_s + timing["scheduled_ns"] / 1e9 - record["offered_s"])


def test_the_arrivals_of_a_cluster_are_one_poisson_process(site: Site, cluster: Cluster) -> None:
    """Due moments are those of one process's schedule, from one epoch though each worker goes by its own clock; nothing
    leaves before its time; by the server's own log as many came as were due, warm-up included."""
    site.configure("a: faithful", samples=20)
    shape = LoadShape(request_rate=60, arrival="poisson", warmup=10, duration_s=4)
    words = ("--request-rate", "60", "--arrival", "poisson", "--warmup", "10", "--duration", "4", "--seed", "3")
    code, err = site.run("rate", *DASK, cluster.address, *words)
    assert code == 0, err
    records, due = site.records("rate"), due_of(shape, 3)
    assert offered_in(records) == pytest.approx(due)
    assert len(site.vendors.arrived_at) == len(due) + shape.warmup
    assert kstest(np.diff(due) * 60, "expon").pvalue > 0.01
    shares = [[record for record in records if record["worker"] == worker] for worker in ("w0", "w1")]
    assert min(map(len, shares)) > len(due) / 4
    told = site.manifest("rate")["load"]["simulated-model: a"]
    assert (told["begun"], told["warmup"], told["held_back"]) == (len(due), shape.warmup, 0)
    assert told["lag_p50_ms"] >= 0
    errors_ms = site.manifest("rate")["executors"][-1]["clock_error_ms"].values()
    assert len(errors_ms) == 2
    epochs = [median(map(epoch_s, share)) for share in shares]
    # Both are the same clock here. A process that waits for a core between two readings of a clock adds to the rest.
    assert 1e3 * abs(epochs[0] - epochs[1]) <= sum(errors_ms) + 50


def test_a_cap_and_a_budget_are_those_of_the_whole_cluster(site: Site, cluster: Cluster) -> None:
    """Three at a time over both workers, what found them taken counted; and not one request more than allowed."""
    site.configure("a: slow", samples=20)
    shape = ("--request-rate", "60", "--request-concurrency", "3", "--duration", "1")
    code, err = site.run("cap", *DASK, cluster.address, *shape)
    assert code == 0, err
    assert site.vendors.most_in_flight["slow"] == 3
    assert site.manifest("cap")["load"]["simulated-model: a"]["held_back"] > 0
    site.vendors.forget()
    words = ("--request-rate", "60", "--max-requests", "25", "--duration", "4")
    site.run("budget", *DASK, cluster.address, *words)
    # A worker that a busy machine holds up gives back what it was allowed and has not used.
    assert 15 < len(site.vendors.arrived_at) <= 25


def test_places_that_open_over_time_and_a_replayed_schedule(site: Site, cluster: Cluster) -> None:
    """A closed loop of four places that grows over a second; and the moments of a file, each with its record."""
    site.configure("a: faithful", samples=20)
    words = ("--request-concurrency", "4", "--ramp-up", "1", "--duration", "2", "--warmup", "3")
    code, err = site.run("closed", *DASK, cluster.address, *words)
    assert code == 0, err
    assert site.vendors.most_in_flight["faithful"] <= 4
    assert {record["worker"] for record in site.records("closed")} == {"w0", "w1"}
    times = [number / 20 for number in range(30)]
    (site.folder / "times.csv").write_text("at_s\n" + "".join(f"{at}\n" for at in times))
    code, err = site.run("replayed", *DASK, cluster.address, "--replay-schedule", "times.csv")
    assert code == 0, err
    assert offered_in(site.records("replayed")) == pytest.approx(times)


def test_what_a_lost_cluster_worker_had_is_asked_by_another(site: Site, cluster: Cluster) -> None:
    """Killed in the middle: every moment of the schedule has its record all the same, and the report names the loss."""
    site.configure("a: faithful", samples=20)
    shape = LoadShape(request_rate=40, duration_s=3)
    victim = cluster.start_worker()
    cluster.wait_for_workers()
    running = site.start("lost", *DASK, cluster.address, "--request-rate", "40", "--duration", "3", "--seed", "0")
    site.vendors.wait_for(20)
    victim.send_signal(signal.SIGKILL)
    _, err = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 0, err
    assert offered_in(site.records("lost")) == pytest.approx(due_of(shape, 0))
    assert site.manifest("lost")["executors"][-1]["lost_sessions"] != []


def test_an_interrupt_ends_a_shaped_load_of_workers_here(site: Site) -> None:
    """Ctrl-C to the whole group: nothing more is sent, what was begun is kept, and no worker is lost by it."""
    site.configure("a: faithful", samples=20)
    words = ("--executor", "dask", "--dask-local", "2", "--request-rate", "30", "--duration", "60")
    running = site.start("ended", *words, own_group=True)
    site.vendors.wait_for(30)
    os.killpg(running.pid, signal.SIGINT)
    _, err = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 128 + signal.SIGINT, err
    assert len(site.records("ended")) == len(site.vendors.arrived_at) < 1800
    assert site.manifest("ended")["executors"][-1]["lost_sessions"] == []


def test_objectives_are_held_to_every_request_of_all_workers(site: Site, cluster: Cluster) -> None:
    """Whoever sent a request, it keeps or breaks an SLO, and goodput is that of the whole."""
    assert_objectives_of_the_whole(site, *DASK, cluster.address)
