"""Runs over several processes and machines: nothing is lost, asked twice or sent too often, and no key travels."""

from __future__ import annotations

import os
import pickle
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from clusters import Site, cluster_of, keys_of, site, vendors, workers_of
from costs import PATIENCE_S
from msgspec import structs

from vendor_verifier.config.run_config import RunOptions
from vendor_verifier.errors import UsageError
from vendor_verifier.pipeline.execute import job_of
from vendor_verifier.pipeline.plan import prepare
from vendor_verifier.records.plan import Entry, Plan
from vendor_verifier.records.request import Endpoint
from vendor_verifier.run.shards import Shard, check_workers, shards_of, without_secrets
from vendor_verifier.store import RunFolder

__all__ = ["site", "vendors"]

KEY = "sk-proj-Kx7Qm2Vt9Lp4Zr8Wn3Bd"


def entry(label: str, account: str = "", **fields: Any) -> Entry:
    endpoint = Endpoint("http://127.0.0.1:9/v1", "m", key=KEY, headers={"X-Key": KEY, "X-Team": "red"})
    return Entry("m", label, "openai", endpoint, "openai_chat", account or label, **fields)


def plan(*entries: Entry, **fields: Any) -> Plan:
    return Plan(entries=entries, tasks=(), request_concurrency=5, **fields)


def labels(shards: list[Shard]) -> list[list[str]]:
    return [[each.label for each in shard.entries] for shard in shards]


def test_an_account_is_never_on_two_workers() -> None:
    """The accounts are divided by their places; entries of one account stay together."""
    many = plan(entry("a", "one"), entry("b", "one"), entry("c", concurrency=20), entry("d"))
    assert labels(shards_of(many, 2)) == [["c"], ["a", "b", "d"]]
    assert [shard.places for shard in shards_of(many, 2)] == [20, 10]
    assert labels(shards_of(many, 9)) == [["c"], ["a", "b"], ["d"]]
    assert len(shards_of(structs.replace(many, vendor_concurrency=1), 9)) == 1
    assert len(shards_of(structs.replace(many, max_requests=2), 9)) == 2


def test_each_shard_may_spend_an_equal_share() -> None:
    many = plan(entry("a"), entry("b"), entry("c"), max_requests=10, max_cost_usd=3.0)
    shares = [shard.share for shard in shards_of(many, 3)]
    assert [share.max_requests for share in shares] == [4, 3, 3]
    assert [share.max_cost_usd for share in shares] == [1.0] * 3


@pytest.mark.parametrize(
    ("stated", "words"),
    [
        (0, "expected at least 1"),
        ("tcp://10.0.0.7:8786", "neither encrypted nor on this machine"),
        ("tcp://scheduler:8786", "neither encrypted nor on this machine"),
        ("scheduler", "expected a number or tls://HOST:PORT"),
        ("https://scheduler:8786", "expected a number or tls://HOST:PORT"),
        ("tls://scheduler", "expected a number or tls://HOST:PORT"),
    ],
)
def test_workers_that_cannot_be_are_refused(stated: int | str, words: str) -> None:
    with pytest.raises(UsageError, match=re.escape(words)):
        check_workers(stated, [entry("a")])


def test_no_key_is_in_a_job(tmp_path: Path) -> None:
    """Neither the key nor a header made of it is in the bytes that travel; a worker gets the variables' names."""
    assert KEY not in repr(pickle.dumps(without_secrets(entry("a", header_templates={"X-Key": "${KEY}"}))))
    config = tmp_path / "config.yaml"
    config.write_text(
        "m:\n  vendors:\n    - name: a\n      model_id: m\n      url: http://127.0.0.1:9/v1\n      validator: openai\n"
        "      api_key: ${TEST_KEY}\n      extra_headers:\n        X-Key: Bearer ${TEST_KEY}\n"
    )
    prepared = prepare(RunOptions(config_file_path=config, limit=2, workers=2), {"TEST_KEY": KEY})
    (own,) = prepared.plan.entries
    assert own.endpoint.key == KEY
    job = job_of("run", structs.replace(prepared.plan, entries=(without_secrets(own),)), prepared)
    bytes_sent = pickle.dumps(job)
    assert KEY.encode() not in bytes_sent
    assert b"TEST_KEY" in bytes_sent


THREE = ("a: faithful", "b: padded", "c: slow")


def kill(process: int) -> None:
    os.kill(process, signal.SIGKILL)


def stop(process: int) -> None:
    os.kill(process, signal.SIGSTOP)


def until_records(site: Site, output: str, records: int, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while site.kept(output) < records:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.005)


@pytest.fixture
def busy(site: Site) -> Site:
    """Three vendors with a key each, so that each of three workers has one."""
    settings = {label: f"api_key: '${{KEY_{number}}}'" for number, label in enumerate("abc")}
    site.configure(*THREE, samples=100, settings=settings)
    return site


KEYS = {f"KEY_{number}": f"{KEY}-{number}" for number in range(3)}


def assert_whole(site: Site, output: str, most: int = 5, lost: int = 0) -> None:
    """Every record once, no more than ``most`` requests of an account in flight at the vendor at any moment."""
    counts = keys_of(site.records(output))
    assert len(counts) == 300
    assert set(counts.values()) == {1}
    assert max(site.vendors.most_in_flight.values()) <= most
    assert len({persona for persona, _ in site.vendors.asked_twice()}) <= lost
    assert len(site.manifest(output)["executors"][-1]["lost_sessions"]) == lost


@pytest.mark.slow  # processes
@pytest.mark.parametrize(
    ("after", "event", "lost"), [(60, kill, 1), (60, stop, 1), (0, kill, 0)], ids=["killed", "stopped", "starting"]
)
def test_a_lost_process_loses_nothing(busy: Site, after: int, event: Callable[[int], None], lost: int) -> None:
    """Killed, stopped, or killed while it starts: others ask what is missing, within the vendor's limits."""
    process = busy.start("run", "--workers", "3", **KEYS)
    workers = workers_of(process.pid, 3)
    if after:
        until_records(busy, "run", after, process)
    event(workers[0])
    kept = busy.records("run")
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, err
    assert_whole(busy, "run", lost=lost)
    numbers = RunFolder(busy.folder / "run").read_samples("trigger").ids
    asked_twice = {(persona, numbers[int(number)]) for persona, number in busy.vendors.asked_twice()}
    personas = dict(words.split(": ") for words in THREE)
    assert not asked_twice & {(personas[record["label"]], record["sample"]) for record in kept}


@pytest.mark.slow
def test_workers_decide_as_one_process_does(busy: Site) -> None:
    """The same scores; every worker sent; a limit of requests is that of the whole, and a resumed run completes it."""
    code, err = busy.run("one", **KEYS)
    assert code == 0, err
    busy.vendors.forget()
    code, err = busy.run("many", "--workers", "3", "--max-requests", "100", **KEYS)
    assert code == 3, err
    assert sum(busy.vendors.asked.values()) == 100
    assert busy.manifest("many")["limit"] == "--max-requests 100 was reached"
    code, err = busy.run("many", "--workers", "3", "--incremental", **KEYS)
    assert code == 0, err
    assert_whole(busy, "many")
    assert busy.decisions("many") == busy.decisions("one")
    assert len({record["worker"] for record in busy.records("many")}) == 3


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_workers_end_with_their_run(busy: Site, number: signal.Signals) -> None:
    """Ctrl-C in a terminal, which reaches the workers too, or a kill: no worker goes on; what came back is kept."""
    process = busy.start("run", "--workers", "2", "--repeat", "50", own_group=True, **KEYS)
    workers = workers_of(process.pid, 2)
    until_records(busy, "run", 30, process)
    if number == signal.SIGINT:
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)
    process.communicate(timeout=PATIENCE_S)
    assert process.returncode == (130 if number == signal.SIGINT else -number)
    deadline = time.monotonic() + PATIENCE_S
    while any(Path(f"/proc/{each}").exists() for each in workers):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    asked = sum(busy.vendors.asked.values())
    kept = busy.kept("run")
    assert 30 <= kept <= asked
    if number == signal.SIGINT:
        assert kept == asked, "what was in flight was finished"


@pytest.mark.slow
def test_a_scheduler_that_dies_and_comes_back(busy: Site) -> None:
    """What came back is kept, ``--incremental`` asks the rest over the new scheduler, and no key travels."""
    from distributed import Client

    with cluster_of(busy.folder / "cluster", 0) as cluster:
        cluster.start_worker(**KEYS)
        cluster.wait_for_workers()
        words = ("--workers", cluster.address)
        process = busy.start("run", *words, **KEYS)
        until_records(busy, "run", 60, process)
        cluster.stop()
        _, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 4, err
        assert "the Dask scheduler went away" in err
        cluster.start_scheduler()
        cluster.start_worker(**KEYS)
        code, err = busy.run("run", *words, "--incremental", **KEYS)
        assert code == 0, err
        counts = keys_of(busy.records("run"))
        assert len(counts) == 300
        assert set(counts.values()) == {1}
        assert max(busy.vendors.most_in_flight.values()) <= 5
        assert busy.vendors.authorizations == {f"Bearer {key}" for key in KEYS.values()}
        with Client(cluster.address, set_as_default=False) as client:
            events = repr(client.get_events())
    everything = "".join(log.read_text() for log in (busy.folder / "cluster").glob("*.log"))
    everything += "".join(path.read_text() for path in (busy.folder / "run").iterdir() if path.is_file())
    assert "records of" in events
    assert KEY not in everything + events


@pytest.mark.slow
def test_a_worker_without_a_key_is_refused_by_name(busy: Site) -> None:
    """Others send in its place; where nobody can, nothing is left of the run. A wrong scheme is one sentence."""
    with cluster_of(busy.folder / "cluster", 1) as cluster:
        cluster.wait_for_workers()
        words = ("--workers", cluster.address)
        code, err = busy.run("run", *words, **KEYS)
        assert code == 2
        assert "worker w0 at tcp://" in err
        assert "no value for KEY_0, KEY_1, KEY_2" in err
        assert not (busy.folder / "run").exists()
        cluster.start_worker(**KEYS)
        cluster.wait_for_workers()
        code, err = busy.run("run", *words, **KEYS)
        assert code == 0, err
        assert_whole(busy, "run")
        (refused,) = busy.manifest("run")["executors"][-1]["refused"]
        assert refused.startswith("worker w0 at ")
        code, err = busy.run("wrong", "--workers", cluster.address.replace("tcp", "tls"), **KEYS)
        assert code == 2
        assert "cannot be used" in err
