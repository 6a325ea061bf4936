"""Runs over several processes and machines: nothing is lost, asked twice or sent too often, and no key travels."""

from __future__ import annotations

import contextlib
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest
from costs import PATIENCE_S, await_that, held_until
from fault_server import DONE, FaultServer, Script, Seen, delta, event, serving, stream
from msgspec import structs
from workbench import ONCE, ROOT, Bench, free_port

from vendor_verifier.config.run_config import RunOptions
from vendor_verifier.errors import UsageError
from vendor_verifier.pipeline.execute import job_of
from vendor_verifier.pipeline.plan import prepare
from vendor_verifier.records.plan import Entry, Plan
from vendor_verifier.records.request import Endpoint
from vendor_verifier.run.queue import check_workers, shards_of, without_secrets
from vendor_verifier.store import RunFolder

KEY = "sk-proj-Kx7Qm2Vt9Lp4Zr8Wn3Bd"


def entry(label: str, account: str = "", **fields: Any) -> Entry:
    endpoint = Endpoint("http://127.0.0.1:9/v1", "m", key=KEY, headers={"X-Key": KEY, "X-Team": "red"})
    return Entry("m", label, "openai", endpoint, "openai_chat", account or label, **fields)


def plan(*entries: Entry, **fields: Any) -> Plan:
    return Plan(entries=entries, tasks=(), request_concurrency=5, **fields)


def test_an_account_is_never_on_two_workers() -> None:
    """The accounts are divided by their places; entries of one account stay together. Each shard may spend as much."""
    many = plan(entry("a", "one"), entry("b", "one"), entry("c", concurrency=20), entry("d"))
    for workers, labels, places in ((2, ["c", "abd"], [20, 10]), (9, ["c", "ab", "d"], [20, 5, 5])):
        shards = shards_of(many, workers)
        assert ["".join(each.label for each in shard.entries) for shard in shards] == labels
        assert [shard.places for shard in shards] == places
    assert len(shards_of(structs.replace(many, vendor_concurrency=1), 9)) == 1
    assert len(shards_of(structs.replace(many, max_requests=2), 9)) == 2
    shares = [shard.share for shard in shards_of(structs.replace(many, max_requests=10, max_cost_usd=3.0), 3)]
    assert [(share.max_requests, share.max_cost_usd) for share in shares] == [(4, 1.0), (3, 1.0), (3, 1.0)]


@pytest.mark.parametrize(
    ("stated", "words"),
    [
        (0, "expected at least 1"),
        ("tcp://10.0.0.7:8786", "neither encrypted nor on this machine"),
        ("tcp://scheduler:8786", "neither encrypted nor on this machine"),
        ("scheduler", "expected a number or tls://HOST:PORT"),
        ("https://scheduler:8786", "expected a number or tls://HOST:PORT"),
        ("tls://scheduler", "expected a number or tls://HOST:PORT"),
        ("tls://[x", "expected a number or tls://HOST:PORT"),
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


# --- processes


GOES_ON = threading.Event()


def _answer(server: FaultServer, seen: Seen) -> Script:
    """A call of the tool after 25 ms, or 75 from the vendor ``c``; every fourth record is not looked up.

    Until ``GOES_ON`` is set nobody gets more than 40 answers.
    """
    arguments = f'{{"id": {number_of(seen)}}}'
    call = {"index": 0, "id": "c1", "function": {"name": "look_up", "arguments": arguments}}
    said = {"content": "No."} if number_of(seen).endswith("3") else {"tool_calls": [call]}
    usage = event({"choices": [], "usage": {"prompt_tokens": 20, "completion_tokens": 10}})
    finish = delta("stop" if "content" in said else "tool_calls")
    answer = stream(delta(**said), finish, usage, DONE)
    if len(server.by_vendor(seen.vendor)) > 40 and not GOES_ON.is_set():
        return Script(held_until(GOES_ON.is_set, answer), "keep")
    return Script([(0.075 if seen.vendor == "c" else 0.025, answer)], "keep")


def number_of(seen: Seen) -> str:
    """The number of the record that was asked for."""
    return str(seen.body["messages"][0]["content"]).partition("record ")[2].rstrip(".")


def asked_twice(server: FaultServer) -> set[tuple[str, int]]:
    """Label and number of each record that was asked for more than once."""
    counts = Counter((seen.vendor, int(number_of(seen))) for seen in server.seen)
    return {question for question, count in counts.items() if count > 1}


@pytest.fixture
def vendors() -> Iterator[FaultServer]:
    """A server in a thread of its own, by whose log nobody may be asked too often."""
    GOES_ON.set()
    with serving(_answer) as server:
        yield server


@dataclass
class Cluster:
    """A scheduler and workers, each a process of its own."""

    folder: Path
    port: int = field(default_factory=free_port)
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"tcp://127.0.0.1:{self.port}"

    def start_scheduler(self) -> None:
        self._start("scheduler", "scheduler", "--host", self.address, "--port", str(self.port), "--no-dashboard")

    def start_worker(self, name: str, **keys: str) -> None:
        """A worker on its way up; :meth:`wait_for` waits for it."""
        words = ("--name", name, "--nthreads", "1", "--no-nanny", "--no-dashboard")
        self._start(name, "worker", self.address, *words, **keys)

    def wait_for(self, name: str) -> None:
        """Until this worker has been known to the scheduler."""
        await_that(lambda: b"Registered to" in (self.folder / f"{name}.log").read_bytes())

    def _start(self, log: str, *words: str, **keys: str) -> None:
        with (self.folder / f"{log}.log").open("ab") as out:
            command, known = [sys.executable, "-m", "dask", *words], {**os.environ, "PYTHONPATH": str(ROOT), **keys}
            self.processes.append(subprocess.Popen(command, stdout=out, stderr=out, cwd=self.folder, env=known))

    def stop(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait(10)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """A cluster with a scheduler on its way up."""
    (tmp_path / "cluster").mkdir()
    made = Cluster(tmp_path / "cluster")
    made.start_scheduler()
    yield made
    made.stop()


def workers_of(parent: int, count: int) -> list[psutil.Process]:
    """The worker processes of a run once there are ``count``."""
    found: list[psutil.Process] = []

    def are_there() -> bool:
        with contextlib.suppress(psutil.Error):
            children = psutil.Process(parent).children()
            found[:] = [each for each in children if any("spawn_main" in word for word in each.cmdline())]
        return len(found) == count

    await_that(are_there)
    return sorted(found, key=lambda each: each.pid)


def until_records(bench: Bench, records: int, process: subprocess.Popen[str]) -> None:
    await_that(lambda: bench.kept() >= records or process.poll() is not None)
    assert process.poll() is None, process.communicate()


@pytest.fixture
def busy(bench: Bench, vendors: FaultServer) -> Bench:
    """Three vendors with a key each, so that each of three workers has one."""
    entries = [{"label": label, "url": vendors.url(label), "api_key": f"${{KEY_{label}}}"} for label in "abc"]
    bench.configure(*entries, extra=ONCE)
    bench.samples(100)
    return bench


KEYS = {f"KEY_{label}": f"{KEY}-{label}" for label in "abc"}


def assert_whole(bench: Bench, vendors: FaultServer, output: str = "run") -> None:
    """Every record once, no more than five requests of an account in flight at the vendor at any moment."""
    keys = [(record["label"], record["sample"]) for record in bench.records(output)]
    assert len(keys) == len(set(keys)) == 300
    assert max(vendors.most_in_flight.values()) <= 5


@pytest.mark.slow  # processes
@pytest.mark.parametrize(
    ("after", "numbers"), [(60, (signal.SIGKILL, signal.SIGSTOP)), (0, (signal.SIGKILL,))], ids=["running", "starting"]
)
def test_lost_processes_lose_nothing(
    busy: Bench, vendors: FaultServer, after: int, numbers: tuple[signal.Signals, ...]
) -> None:
    """Killed, stopped, or killed while it starts: others ask what is missing, within the vendor's limits."""
    GOES_ON.clear()
    process, lost = busy.start("--workers", "3", **KEYS), len(numbers) if after else 0
    workers = workers_of(process.pid, 3)
    if after:
        until_records(busy, after, process)
    for worker, number in zip(workers, numbers, strict=False):
        worker.send_signal(number)
    GOES_ON.set()
    kept = busy.records()
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, err
    assert_whole(busy, vendors)
    ids = RunFolder(busy.folder / "run").read_samples("trigger").ids
    twice = {(label, ids[place]) for label, place in asked_twice(vendors)}
    assert len({label for label, _ in twice}) <= lost == len(busy.manifest()["executors"][-1]["lost_sessions"])
    assert not twice & {(record["label"], record["sample"]) for record in kept}


@pytest.mark.slow
def test_workers_decide_as_one_process_does(busy: Bench, vendors: FaultServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same scores; every worker sent; a limit of requests is that of the whole, and a resumed run completes it."""
    for name, key in KEYS.items():
        monkeypatch.setenv(name, key)
    assert busy.run(output="one")[0] == 0
    vendors.seen.clear()
    code, printed = busy.program("--workers", "2", "--max-requests", "100")
    assert code == 3, printed
    assert len(vendors.seen) == 100
    assert busy.manifest()["limit"] == "--max-requests 100 was reached"
    code, printed = busy.program("--workers", "2", "--incremental")
    assert code == 0, printed
    assert_whole(busy, vendors)
    assert not asked_twice(vendors)
    assert len({record["worker"] for record in busy.records()}) == 2
    for key in ("f1", "success_rate", "schema_accuracy", "counts", "failures"):
        many, one = ({label: each[key] for label, each in busy.vendors(run).items()} for run in ("run", "one"))
        assert many == one


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_workers_end_with_their_run(busy: Bench, vendors: FaultServer, number: signal.Signals) -> None:
    """Ctrl-C in a terminal, which reaches the workers too, or a kill: no worker goes on; what came back is kept."""
    process = busy.start("--workers", "2", "--repeat", "50", own_group=True, **KEYS)
    workers = workers_of(process.pid, 2)
    until_records(busy, 30, process)
    if number == signal.SIGINT:
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)
    process.communicate(timeout=PATIENCE_S)
    assert process.returncode == (130 if number == signal.SIGINT else -number)
    await_that(lambda: not any(each.is_running() for each in workers))
    asked = len(vendors.seen)
    assert 30 <= busy.kept() <= asked
    if number == signal.SIGINT:
        assert busy.kept() == asked, "what was in flight was finished"


@pytest.mark.slow
def test_a_cluster_of_other_peoples_processes(busy: Bench, vendors: FaultServer, cluster: Cluster) -> None:
    """A worker without keys is refused by name, others send in its place; where nobody can, nothing is left of the run.
    When the scheduler dies what came back is kept, ``--incremental`` asks the rest over the new one. No key travels."""
    from distributed import Client

    cluster.start_worker("w0")
    cluster.wait_for("w0")
    words = ("--workers", cluster.address)
    code, err = busy.program(*words, **KEYS)
    assert code == 2
    assert "worker w0 at tcp://" in err
    assert "no value for KEY_a, KEY_b, KEY_c" in err
    assert not (busy.folder / "run").exists()
    cluster.start_worker("w1", **KEYS)
    cluster.wait_for("w1")
    process = busy.start(*words, **KEYS)
    until_records(busy, 60, process)
    cluster.stop()
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 4, err
    assert "the Dask scheduler went away" in err
    cluster.start_scheduler()
    cluster.start_worker("w2", **KEYS)
    code, err = busy.program(*words, "--incremental", **KEYS)
    assert code == 0, err
    assert_whole(busy, vendors)
    (refused,) = busy.manifest()["executors"][0]["refused"]
    assert refused.startswith("worker w0 at ")
    assert {seen.key for seen in vendors.seen} == set(KEYS.values())
    with Client(cluster.address, set_as_default=False) as client:
        events = repr(client.get_events())
    code, err = busy.program("--workers", cluster.address.replace("tcp", "tls"), output="wrong", **KEYS)
    assert code == 2
    assert "cannot be used" in err
    everything = "".join(log.read_text() for log in (busy.folder / "cluster").glob("*.log"))
    everything += "".join(path.read_text() for path in (busy.folder / "run").iterdir() if path.is_file())
    assert "records of" in events
    assert KEY not in everything + events
