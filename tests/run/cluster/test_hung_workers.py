"""Workers that are stopped and woken (SIGSTOP, SIGCONT), on a real cluster and as processes of one machine.

Verdicts are by the vendor's own log: how many were in flight at once, and that others went on.
"""

from __future__ import annotations

import os
import signal

import pytest
from clusters import Cluster, Site, keys_of
from costs import PATIENCE_S
from worker_processes import DASKS, OURS, is_alive, workers_of

pytestmark = pytest.mark.slow  # processes that are stopped for seconds

PLACES = 20
SAMPLES = 500


def configure(site: Site, samples: int = SAMPLES) -> None:
    site.configure("official: slow", settings=f"concurrency: {PLACES}", samples=samples)


def test_a_stopped_worker_holds_nobody_back_and_sends_nothing_too_many(site: Site, cluster: Cluster) -> None:
    """Stopped again and again while all are busy: what it has not used is used by others, which go on for many times
    the places there are; when it wakes, nothing is sent on a permit that others have by now, and nothing twice."""
    configure(site)
    victim = cluster.start_worker()
    cluster.wait_for_workers()
    running = site.start(
        "stopped", "--executor", "dask", "--dask-scheduler", cluster.address, "--dask-hang-after", "60"
    )
    site.vendors.wait_for(2 * PLACES)
    for _ in range(3):
        arrived = len(site.vendors.arrived_at)
        victim.send_signal(signal.SIGSTOP)
        site.vendors.wait_for(arrived + 4 * PLACES)
        victim.send_signal(signal.SIGCONT)
        site.vendors.wait_for(arrived + 5 * PLACES)
    _, err = running.communicate(timeout=PATIENCE_S)
    victim.kill()
    assert running.returncode == 0, err
    assert site.vendors.most_in_flight["slow"] <= PLACES
    records = site.records("stopped")
    assert set(keys_of(records).values()) == {1}
    assert len(records) == SAMPLES == len(site.vendors.arrived_at)
    assert site.manifest("stopped")["executors"][-1]["lost_sessions"] == []
    assert {record["worker"] for record in records} == {"w0", "w1", f"w{cluster.workers.index(victim)}"}


def test_a_worker_that_wakes_after_its_work_went_to_others_sends_nothing_more(site: Site, cluster: Cluster) -> None:
    """It is given up after seconds; woken while others are at work it may hand in what came, but asks for nothing."""
    configure(site)
    victim = cluster.start_worker()
    cluster.wait_for_workers()
    running = site.start("woken", "--executor", "dask", "--dask-scheduler", cluster.address, "--dask-hang-after", "3")
    site.vendors.wait_for(2 * PLACES)
    victim.send_signal(signal.SIGSTOP)
    site.vendors.wait_for(2 * PLACES + 10 * PLACES)
    victim.send_signal(signal.SIGCONT)
    _, err = running.communicate(timeout=PATIENCE_S)
    victim.kill()
    assert running.returncode == 0, err
    assert site.vendors.most_in_flight["slow"] <= PLACES
    records = site.records("woken")
    assert set(keys_of(records).values()) == {1}
    assert len(records) == SAMPLES
    # What it had in flight, and no more, was asked for again.
    assert site.vendors.asked_more_than_once() <= PLACES


def test_a_worker_that_never_wakes_costs_the_others_its_own_places_and_those_for_an_attempt_s_time(
    site: Site, cluster: Cluster
) -> None:
    """Of a cluster that is not ours to kill in: it holds no more than its share, the others go on at once and to the
    end, within the limit, and every sample is answered once."""
    configure(site)
    victim = cluster.start_worker()
    cluster.wait_for_workers()
    words = ("--dask-hang-after", "3", "--timeout", "6")
    running = site.start("lost", "--executor", "dask", "--dask-scheduler", cluster.address, *words)
    site.vendors.wait_for(6 * PLACES)
    victim.send_signal(signal.SIGSTOP)
    _, err = running.communicate(timeout=PATIENCE_S)
    victim.kill()
    assert running.returncode == 0, err
    assert site.vendors.most_in_flight["slow"] <= PLACES
    records = site.records("lost")
    assert set(keys_of(records).values()) == {1}
    assert len(records) == SAMPLES
    # What it had in flight was asked again by others.
    assert site.vendors.asked_more_than_once() <= PLACES // 2
    (lost,) = site.manifest("lost")["executors"][-1]["lost_sessions"]
    assert "silent" in lost["reason"]


@pytest.mark.parametrize(
    ("words", "by"),
    [(("--workers", "2"), OURS), (("--executor", "dask", "--dask-local", "2"), DASKS)],
    ids=["workers", "dask-local"],
)
def test_a_stopped_process_of_ours_is_ended_and_its_places_are_used(
    site: Site, words: tuple[str, ...], by: bytes
) -> None:
    """Given up after seconds it is killed, so that what it had in flight counts no longer."""
    configure(site)
    running = site.start("ours", *words, "--dask-hang-after", "3")
    site.vendors.wait_for(2 * PLACES)
    victim = workers_of(running.pid, by=by)[0]
    os.kill(victim, signal.SIGSTOP)
    _, err = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 0, err
    assert not is_alive(victim)
    assert site.vendors.most_in_flight["slow"] <= PLACES
    assert set(keys_of(site.records("ours")).values()) == {1}
    assert len(site.records("ours")) == SAMPLES
    (lost,) = site.manifest("ours")["executors"][-1]["lost_sessions"]
    assert "silent" in lost["reason"]
