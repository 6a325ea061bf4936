"""Shaped loads over worker processes: one schedule from one epoch, limits of the whole, nothing lost with a worker."""

from __future__ import annotations

import os
import signal
import time

import numpy as np
import pytest
from clusters import Site, assert_objectives_of_the_whole
from costs import PATIENCE_S
from scipy.stats import kstest
from shaped_runs import due_of, offered_in
from worker_processes import workers_of

from vendor_verifier.records.plan import LoadShape

pytestmark = pytest.mark.slow
WORKERS = ("--workers", "2")


def test_the_arrivals_of_two_processes_are_one_poisson_process(site: Site) -> None:
    """Due moments are those of one process's schedule, each worker has its share of them, the union is Poisson, and by
    the server's own log as many came as were due, warm-up included."""
    site.configure("a: faithful", samples=20)
    shape = LoadShape(request_rate=60, arrival="poisson", warmup=10, duration_s=4)
    words = ("--request-rate", "60", "--arrival", "poisson", "--warmup", "10", "--duration", "4", "--seed", "3")
    code, err = site.run("rate", *WORKERS, *words)
    assert code == 0, err
    records, due = site.records("rate"), due_of(shape, 3)
    assert offered_in(records) == pytest.approx(due)
    assert len(site.vendors.arrived_at) == len(due) + shape.warmup
    assert kstest(np.diff(due) * 60, "expon").pvalue > 0.01
    shares = [sum(record["worker"] == worker for record in records) for worker in ("w0", "w1")]
    assert min(shares) > len(due) / 4
    told = site.manifest("rate")["load"]["simulated-model: a"]
    assert (told["begun"], told["warmup"], told["held_back"]) == (len(due), shape.warmup, 0)
    assert told["lag_p50_ms"] >= 0  # nothing left before its time


def test_a_cap_and_a_budget_are_those_of_the_whole(site: Site) -> None:
    """Three at a time over both processes, what found them taken counted; and not one request more than allowed."""
    site.configure("a: slow", samples=20)
    code, err = site.run("cap", *WORKERS, "--request-rate", "60", "--request-concurrency", "3", "--duration", "1")
    assert code == 0, err
    assert site.vendors.most_in_flight["slow"] == 3
    assert site.manifest("cap")["load"]["simulated-model: a"]["held_back"] > 0
    site.vendors.forget()
    site.run("budget", *WORKERS, "--request-rate", "60", "--max-requests", "25", "--duration", "4")
    # A process that a busy machine holds up gives back what it was allowed and has not used.
    assert 15 < len(site.vendors.arrived_at) <= 25


def test_places_that_open_over_time_and_a_stated_time(site: Site) -> None:
    """A closed loop of four places for two seconds, growing over one: four at most, and both processes send."""
    site.configure("a: faithful", samples=20)
    code, err = site.run("closed", *WORKERS, "--request-concurrency", "4", "--ramp-up", "1", "--duration", "2")
    assert code == 0, err
    assert site.vendors.most_in_flight["faithful"] <= 4
    assert {record["worker"] for record in site.records("closed")} == {"w0", "w1"}


def test_what_a_lost_worker_had_is_asked_by_the_other(site: Site) -> None:
    """Killed in the middle: every moment of the schedule has its record all the same, and the report names the loss."""
    site.configure("a: faithful", samples=20)
    shape = LoadShape(request_rate=40, duration_s=3)
    running = site.start("lost", *WORKERS, "--request-rate", "40", "--duration", "3", "--seed", "0")
    site.vendors.wait_for(20)
    os.kill(workers_of(running.pid)[0], signal.SIGKILL)
    _, err = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 0, err
    assert offered_in(site.records("lost")) == pytest.approx(due_of(shape, 0))
    assert [lost["session"] for lost in site.manifest("lost")["executors"][-1]["lost_sessions"]] != []


def test_what_waited_for_a_permit_while_the_command_stood_still_began_late_by_our_doing(site: Site) -> None:
    """The command that gives permits is stopped, its processes are not: what they sent late bears the mark of it."""
    site.configure("a: faithful", samples=20)
    running = site.start("stood", *WORKERS, "--request-rate", "40", "--duration", "3", "--seed", "0")
    site.vendors.wait_for(30)
    os.kill(running.pid, signal.SIGSTOP)
    time.sleep(0.8)
    os.kill(running.pid, signal.SIGCONT)
    _, err = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 0, err
    timings = [record["turns"][0]["attempts"][0]["timing"] for record in site.records("stood")]
    late = [timing for timing in timings if -timing["scheduled_ns"] > 150e6]
    assert len(late) >= 5
    # Not each alone: on a busy machine a request may be late by more than the stall.
    marked_ns = sum(timing["begun_late_ns"] for timing in late)
    assert marked_ns > 0.5 * sum(-timing["scheduled_ns"] for timing in late)


def test_objectives_are_held_to_every_request_of_all_processes(site: Site) -> None:
    """Whoever sent a request, it keeps or breaks an SLO, and goodput is that of the whole."""
    assert_objectives_of_the_whole(site, *WORKERS)
