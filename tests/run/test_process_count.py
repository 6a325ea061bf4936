"""How many processes send: what was asked for, or as many as load and cores warrant."""

from __future__ import annotations

import math
from typing import Any

import pytest
from changing import replace

from vendor_verifier.errors import UsageError
from vendor_verifier.pipeline.options import RunOptions
from vendor_verifier.run import process_count
from vendor_verifier.run.executors import check_choice
from vendor_verifier.run.process_count import reckoned, workers_for
from vendor_verifier.values.plan import Due, Entry, ExecutorChoice, LoadShape, Plan, WorkersWish
from vendor_verifier.values.request import Endpoint


@pytest.mark.parametrize(
    ("wish", "streams", "cores", "count"),
    [
        (3, 1, 1, 3),
        ("auto", 1, 8, 1),
        ("auto", 300, 8, 1),
        ("auto", 301, 8, 2),
        ("auto", 1500, 8, 5),
        ("auto", 100_000, 8, 8),
        ("auto", 100_000, 2, 2),
        ("auto", 100_000, 1, 1),
    ],
)
def test_processes_follow_the_requests_in_flight(wish: WorkersWish, streams: int, cores: int, count: int) -> None:
    """One for as many as it times, never more than cores, at least one; a number is taken as it is."""
    assert workers_for(wish, streams, 300, cores) == count


def entry(label: str, account: str, url: str = "http://127.0.0.1") -> Entry:
    return Entry("model", label, "plain", Endpoint(url, "m"), "openai", account=account)


AUTO = ExecutorChoice(workers="auto")
PLAN = Plan(tuple(entry(f"v{n}", f"a{n // 2}") for n in range(20)), (), request_concurrency=100, executor=AUTO)
MANY = math.inf


@pytest.mark.parametrize(
    ("changes", "due", "streams"),
    [
        ({}, MANY, 1000),
        ({}, 250, 250),
        ({}, 0, 1),
        ({"vendor_concurrency": 3}, MANY, 300),
        ({"load": LoadShape(ramp_up_s=5)}, MANY, 1000),
        ({"load": LoadShape(request_rate=1.0)}, MANY, 600),
        ({"load": LoadShape(request_rate=1.0), "vendor_concurrency": 2}, MANY, 60),
        ({"load": LoadShape(request_rate=50.0)}, MANY, 1000),
        ({"load": LoadShape(request_rate=50.0)}, 400, 400),
        ({"load": LoadShape(schedule=tuple(map(Due, (0.0, 1.0, 40.0, 50.0, 60.0, 100.0))))}, MANY, 60),
    ],
)
def test_what_may_be_in_flight_is_counted(changes: dict[str, Any], due: float, streams: int) -> None:
    """Ten accounts of 100 places are 1,000, however many entries share them; never more than records are due, than
    vendors are asked at a time, or than come by the clock while one answer lasts half a minute."""
    assert reckoned(replace(PLAN, **changes), due).streams == streams


def test_the_measured_figure_decides_and_simulated_vendors_take_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand streams: four processes as usual, two where one was found to time 500; nobody times simulated ones."""
    monkeypatch.setattr(process_count, "cores_here", lambda: 64)
    assert reckoned(PLAN, MANY).processes == 4
    assert reckoned(replace(PLAN, executor=replace(AUTO, timed_streams=500)), MANY).processes == 2
    simulated = replace(PLAN, entries=tuple(entry(f"v{n}", f"a{n}", "sim://faithful") for n in range(20)))
    assert reckoned(simulated, MANY).processes == 1
    assert reckoned(replace(simulated, executor=ExecutorChoice(workers=2)), MANY).processes == 2


def test_nobody_who_says_nothing_gets_processes_for_a_small_run() -> None:
    """Without --workers a run chooses by itself; a program that verifies, and a cluster, send from where they are."""
    assert RunOptions().workers is None
    assert reckoned(replace(PLAN, request_concurrency=5), 10_000).processes == 1
    assert ExecutorChoice().workers == 1


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        (ExecutorChoice(workers=0), "--workers 0: expected a number of processes from 1 on, or auto"),
        (ExecutorChoice(workers=1_000_000), "--workers 1000000: at most 16 processes a core"),
        (ExecutorChoice(name="dask", local_workers=2, workers=2), "--workers are processes of this machine"),
        (ExecutorChoice(name="dask", local_workers=2, workers="auto"), "give --dask-local N"),
    ],
)
def test_what_cannot_be_meant_is_refused(choice: ExecutorChoice, words: str) -> None:
    """Before anything is read or written."""
    with pytest.raises(UsageError, match=words.replace("(", r"\(")):
        check_choice(choice)
