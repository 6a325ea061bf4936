"""Runs over worker processes: the result of one process, limits kept, nothing lost, nobody left behind."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from statistics import median

import pytest
from clusters import Site, keys_of
from costs import PATIENCE_S, await_that
from worker_processes import all_gone, workers_of

WORKERS = ("--workers", "2")
# Longer than any stall of a busy machine.
STOPPED_S = 3.0


@pytest.mark.slow
def test_two_workers_find_what_one_process_finds(site: Site) -> None:
    """Same seed, same scores; every planned record once, all vendors on both workers, limits kept over both."""
    site.configure("official: faithful", "poor: quantised", settings="concurrency: 3", samples=20, baseline=True)
    assert site.run("one")[0] == 0
    site.vendors.forget()
    code, err = site.run("two", *WORKERS)
    assert code == 0, err
    assert site.decisions("two") == site.decisions("one")
    records = site.records("two")
    assert keys_of(records) == keys_of(site.records("one"))
    assert set(keys_of(records).values()) == {1}
    assert {(record["worker"], record["label"]) for record in records} == {
        (worker, label) for worker in ("w0", "w1") for label in ("official", "poor")
    }
    assert max(site.vendors.most_in_flight.values()) <= 3
    executor = site.manifest("two")["executors"][-1]
    assert (executor["name"], executor["lost_sessions"]) == ("workers", [])
    assert sum(worker["records"] for worker in executor["workers"]) == len(records)
    assert [worker["name"] for worker in executor["workers"]] == ["w0", "w1"]
    assert all(worker["event_loop"]["watched_s"] > 0 for worker in executor["workers"])
    assert site.manifest("two")["event_loop"]["watched_s"] > 0


@pytest.mark.slow  # two processes and a key that must be nowhere
def test_keys_reach_the_workers_and_no_command_line(site: Site) -> None:
    """Each worker asks with the key of the config; neither its command line nor any file holds it."""
    key = "WORKERS-0123456789abcdef"
    site.configure("official: slow", settings="api_key_env: OWN_KEY", samples=30)
    running = site.start("keys", *WORKERS, OWN_KEY=key)
    site.vendors.wait_for(3)
    lines = [(Path("/proc") / str(worker) / "cmdline").read_bytes() for worker in workers_of(running.pid)]
    _, err = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 0, err
    assert site.vendors.authorizations == {f"Bearer {key}"}
    assert key.encode() not in b"".join(lines)
    assert key.encode() not in b"".join(path.read_bytes() for path in site.folder.rglob("*") if path.is_file())


@pytest.mark.slow  # processes that are killed
def test_a_killed_worker_loses_nothing_and_is_told_of(site: Site) -> None:
    """kill -9: every record once, at most what was in flight asked again, the limit kept, a word in the report."""
    site.configure("official: faithful", "twin: padded", settings="concurrency: 6", samples=150)
    running = site.start("killed", *WORKERS)
    site.vendors.wait_for(60)
    os.kill(workers_of(running.pid)[0], signal.SIGKILL)
    _, err = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 0, err
    records = site.records("killed")
    assert len(records) == 300
    assert set(keys_of(records).values()) == {1}
    assert max(site.vendors.most_in_flight.values()) <= 6
    assert site.vendors.asked_more_than_once() <= 12 + 8
    executor = site.manifest("killed")["executors"][-1]
    assert [loss["reason"] for loss in executor["lost_sessions"]] == ["killed by signal 9"]
    assert "was lost (killed by signal 9)" in (site.folder / "killed" / "report.md").read_text()


@pytest.mark.slow  # processes that are killed
def test_when_no_worker_is_left_the_run_ends_and_can_be_gone_on_with(site: Site) -> None:
    """Exit 4 with the reason; what came back is kept, and --incremental brings the rest."""
    site.configure("official: faithful", "twin: padded", settings="concurrency: 3", samples=250)
    running = site.start("orphaned", *WORKERS)
    await_that(lambda: site.kept("orphaned") > 10)
    for worker in workers_of(running.pid):
        os.kill(worker, signal.SIGKILL)
    _, err = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 4
    assert "no worker process is left" in err
    assert "--incremental" in err
    kept = len(site.records("orphaned"))
    assert 0 < kept < 500
    executor = site.manifest("orphaned")["executors"][-1]
    assert "no worker process is left" in executor["error"]
    assert len(executor["lost_sessions"]) == len(executor["workers"])
    code, err = site.run("orphaned", *WORKERS, "--incremental")
    assert code == 0, err
    assert len(site.records("orphaned")) == 500
    assert set(keys_of(site.records("orphaned")).values()) == {1}


@pytest.mark.slow  # whole runs that are ended
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_is_the_parent_s_and_what_is_in_flight_is_kept(site: Site, number: signal.Signals) -> None:
    """Sent to the whole group as a terminal does: sending ends, answers under way are kept, nobody stays."""
    site.configure("official: faithful", "twin: padded", settings="concurrency: 4", samples=250)
    running = site.start("stopped", *WORKERS, own_group=True)
    site.vendors.wait_for(30)
    workers = workers_of(running.pid)
    os.killpg(running.pid, number)
    _, err = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 128 + number, err
    assert len(site.records("stopped")) == len(site.vendors.arrived_at) < 500
    assert site.manifest("stopped")["executors"][-1]["lost_sessions"] == []
    assert all_gone(workers)


@pytest.mark.slow  # a whole run that is killed
def test_no_worker_outlives_its_parent(site: Site) -> None:
    """kill -9 of the parent: the workers notice and end, long before all is sent."""
    site.configure("official: slow", "twin: slow", settings="concurrency: 4", samples=500)
    running = site.start("beheaded", *WORKERS)
    site.vendors.wait_for(10)
    workers = workers_of(running.pid)
    running.kill()
    running.communicate(timeout=PATIENCE_S)
    assert all_gone(workers)
    assert len(site.vendors.arrived_at) < 1000


@pytest.mark.slow  # a pace of seconds
def test_a_request_budget_holds_over_all_workers(site: Site) -> None:
    """The vendor's own log: no more than the budget and one in any stretch, though two processes send."""
    site.configure("official: faithful", settings="rpm: 1200\nconcurrency: 20", samples=80)
    code, err = site.run("paced", *WORKERS)
    assert code == 0, err
    assert len({record["worker"] for record in site.records("paced")}) == 2
    at = sorted(moment for moment, _ in site.vendors.arrived_at)
    # 20 a second, and half as many again for what a busy machine holds up and lets through at once; two processes that
    # each kept it for themselves would send 40.
    assert max(sum(1 for other in at if 0 <= other - moment < 1.0) for moment in at) <= 30
    waited = [record["turns"][0]["attempts"][0]["timing"] for record in site.records("paced")]
    # The wait is before the sending: who waited longest was answered like the others.
    assert max(-timing["scheduled_ns"] for timing in waited) > 2e9
    assert median(timing["first_token_ns"] for timing in waited) < median(-timing["scheduled_ns"] for timing in waited)


@pytest.mark.slow  # a process that is stopped for a while
def test_a_worker_s_late_clock_flags_its_rows_and_is_told_of(site: Site) -> None:
    """They stand still for seconds: what was under way is flagged, and the manifest says that both loops were late."""
    site.configure("official: slow", settings="concurrency: 8", samples=60)
    running = site.start("late", *WORKERS)
    site.vendors.wait_for(12)
    # Both, because the places may all be with either of them.
    workers = workers_of(running.pid)
    for worker in workers:
        os.kill(worker, signal.SIGSTOP)
    time.sleep(STOPPED_S)
    for worker in workers:
        os.kill(worker, signal.SIGCONT)
    _, err = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 0, err
    told = {one["name"]: one["event_loop"]["max_ms"] for one in site.manifest("late")["executors"][-1]["workers"]}
    assert len(told) == 2
    assert min(told.values()) > 900 * STOPPED_S
    attempts = [record["turns"][-1]["attempts"][-1] for record in site.records("late")]
    late = [each for each in attempts if (each["timing"].get("our_lateness_ns") or 0) > 0.9e9 * STOPPED_S]
    # What began after it, in either of them, is not.
    assert 1 <= len(late) <= 8
    assert all("loop_lag" in each["response"]["anomalies"] for each in late)
    assert site.manifest("late")["event_loop"]["stalls"] >= 1


@pytest.mark.slow  # a whole command
def test_what_a_worker_cannot_do_is_told_as_one_process_tells_it(site: Site) -> None:
    """A usage problem that only shows where it is sent: exit 2 and the reason, not a worker that died."""
    site.configure("official: faithful", samples=3)
    path = site.folder / "config.yaml"
    path.write_text(path.read_text().replace("validator: openai", "validator: gemini"))
    code, err = site.run("refused", *WORKERS, "--client", "sdk")
    assert code == 2
    assert "no official SDK is used for the wire gemini" in err
    assert "worker" not in err
