"""How many processes send: what was asked for, or as many as load and cores warrant."""

from __future__ import annotations

import pytest
from changing import replace

from vendor_verifier.errors import UsageError
from vendor_verifier.run.cluster.process_executor import cores_here, workers_for
from vendor_verifier.run.executors import check_choice, processes_of
from vendor_verifier.values.plan import Entry, ExecutorChoice, LoadShape, Plan, WorkersWish
from vendor_verifier.values.request import Endpoint


@pytest.mark.parametrize(
    ("wish", "in_flight", "cores", "count"),
    [
        (3, 1, 1, 3),
        ("auto", 1, 8, 1),
        ("auto", 300, 8, 1),
        ("auto", 301, 8, 2),
        ("auto", 1500, 8, 5),
        ("auto", 100_000, 8, 7),
        ("auto", 100_000, 2, 1),
        ("auto", 100_000, 1, 1),
    ],
)
def test_workers_follow_the_requests_in_flight_and_leave_a_core(
    wish: WorkersWish, in_flight: int, cores: int, count: int
) -> None:
    """One for each 300 at a time, never all cores, at least one; a number is taken as it is."""
    assert workers_for(wish, in_flight, cores) == count


def test_what_is_in_flight_is_counted_over_all_accounts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten accounts at 100 each are 1,000 in flight, however many entries share them; a shaped load has one process."""
    monkeypatch.setattr("vendor_verifier.run.executors.cores_here", lambda: 64)
    entries = tuple(
        Entry("model", f"v{number}", "plain", Endpoint("http://127.0.0.1", "m"), "openai", account=f"a{number // 2}")
        for number in range(20)
    )
    plan = Plan(entries, (), request_concurrency=100)
    choice = ExecutorChoice(workers="auto")
    assert processes_of(choice, plan) == 4
    assert processes_of(choice, replace(plan, load=LoadShape(request_rate=1.0))) == 1
    assert cores_here() >= 1


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
