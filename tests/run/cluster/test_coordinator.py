"""The coordinator by itself: what it hands out, keeps, issues again and keeps aside; the gate is a list of orders."""

from __future__ import annotations

import pickle
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from asking import kept_in
from changing import replace
from hypothesis import given, settings
from hypothesis import strategies as st

from vendor_verifier.errors import ClusterError, StorageError
from vendor_verifier.records.plan import Entry, LoadShape, Plan
from vendor_verifier.records.record import Attempt, Failure, Record, RecordKey, TurnRecord
from vendor_verifier.records.request import Endpoint, Turn
from vendor_verifier.records.sample import Sample, listed
from vendor_verifier.redaction import Scrubber
from vendor_verifier.run.cluster.coordinator import MAX_FRUITLESS_LOSSES, Coordinator, block_size
from vendor_verifier.run.cluster.job import Block, Job
from vendor_verifier.run.conversation import Target
from vendor_verifier.run.engine import Emit
from vendor_verifier.run.local_run import Work
from vendor_verifier.run.work_queue import Part, WorkQueue
from vendor_verifier.store import encode_record
from vendor_verifier.suites.trigger import TriggerSuite
from vendor_verifier.vendor import OpenAICompatible
from vendor_verifier.wire.openai_chat import OpenAIChat

ENTRIES = [
    Entry("model", label, "plain", Endpoint("http://127.0.0.1", "m"), "openai", account=label) for label in ("a", "b")
]


def samples_of(count: int) -> list[Sample]:
    return [Sample(f"{n:03}-1", Turn(({"role": "user", "content": str(n)},))) for n in range(count)]


def work_of(count: int) -> WorkQueue:
    targets = [Target(entry, OpenAICompatible(), OpenAIChat()) for entry in ENTRIES]
    return WorkQueue(targets, [Part(TriggerSuite(), listed(samples_of(count)))], [1, 1])


@dataclass
class Bench:
    """A coordinator over ``count`` samples for two vendors in blocks of 5, and what came of it."""

    count: int = 20
    vendor_concurrency: int | None = None
    orders: list[tuple[str, Any]] = field(default_factory=list)
    kept: list[Record] = field(default_factory=list)
    twice: list[Record] = field(default_factory=list)
    ended: set[int] = field(default_factory=set)
    emit: Emit | None = None

    def __post_init__(self) -> None:
        plan = Plan(tuple(ENTRIES), (), vendor_concurrency=self.vendor_concurrency)
        job = Job("run", "run", plan, {}, Path("config.yaml"))
        work = Work(plan, work_of(self.count), job, self.emit or kept_in(self.kept), self.twice.append, Scrubber(()))
        self.coordinator = Coordinator(work, 5, lambda kind, *items: self.orders.extend((kind, item) for item in items))

    def given(self) -> dict[int, tuple[str, list[Record]]]:
        """Every dispatch so far: who has it and the records it should bring."""
        return {
            dispatch: (session, records_of(pickle.loads(data)))
            for session, dispatch, data in (order for kind, order in self.orders if kind == "blocks")
        }

    def out(self, *labels: str) -> list[int]:
        """Dispatches that have not ended, of these vendors or of all."""
        return [
            dispatch
            for dispatch, (_, records) in self.given().items()
            if dispatch not in self.ended and (not labels or records[0].label in labels)
        ]

    def finish_what_is_out(self) -> None:
        for dispatch in self.out():
            self.finish(dispatch)

    def row(self, dispatch: int, record: Record) -> None:
        self.coordinator.receive({"rows": [["s", dispatch, encode_record(record)]]})

    def finish(self, dispatch: int) -> None:
        session, records = self.given()[dispatch]
        for record in records:
            self.row(dispatch, record)
        self.ended.add(dispatch)
        self.coordinator.receive({"ended": [[session, dispatch]]})


def records_of(block: Block) -> list[Record]:
    return [
        Record("run", "model", ENTRIES[item.entry].label, "plain", item.suite, block.samples[item.sample].id, 0)
        for item in block.items
    ]


def keys(records: list[Record]) -> list[RecordKey]:
    return sorted(record.key for record in records)


def test_every_record_is_asked_for_once_and_kept_once() -> None:
    """Two sessions share every vendor's blocks alike, of which no more is out than was asked for; the end is known."""
    bench = Bench(60)
    bench.coordinator.receive({"joined": ["one", "two"]})
    shares = Counter((session, records[0].label) for session, records in bench.given().values())
    assert sorted(shares) == [("one", "a"), ("one", "b"), ("two", "a"), ("two", "b")]
    assert sorted(shares.values()) == [3, 3, 4, 4]
    assert shares["one", "a"] + shares["one", "b"] == shares["two", "a"] + shares["two", "b"]
    while not bench.coordinator.is_finished:
        bench.finish_what_is_out()
    assert len(set(keys(bench.kept))) == len(bench.kept) == 120
    assert bench.twice == []


def test_a_vendor_that_does_not_answer_holds_back_its_own_blocks_only() -> None:
    """While not one row of a vendor comes in, the other one is handed out to its end."""
    bench = Bench(200)
    bench.coordinator.receive({"joined": ["one", "two"]})
    while open_ones := bench.out("a"):
        bench.finish(open_ones[0])
    assert len(bench.kept) == 200
    assert {record.label for record in bench.kept} == {"a"}
    assert sum(len(bench.given()[dispatch][1]) for dispatch in bench.out("b")) < 40


def test_a_row_that_does_not_come_costs_its_own_place_only() -> None:
    """Of every block one row stays out; as many others are under way as if it had come."""
    bench = Bench(100)
    bench.coordinator.receive({"joined": ["one"]})
    for dispatch in bench.out("a")[:5]:
        for record in bench.given()[dispatch][1][1:]:
            bench.row(dispatch, record)
    planned = sum(len(records) for _, records in bench.given().values() if records[0].label == "a")
    assert planned - len(bench.kept) >= 35


def test_with_one_slot_vendors_take_turns_and_who_is_through_hands_over() -> None:
    """Nothing of the second vendor is out before all of the first one's turn has come in, and the other way round."""
    bench = Bench(100, vendor_concurrency=1)
    bench.coordinator.receive({"joined": ["one", "two"]})
    turns: list[str] = []
    while not bench.coordinator.is_finished:
        labels = {bench.given()[dispatch][1][0].label for dispatch in bench.out()}
        assert len(labels) == 1
        turns += labels - set(turns[-1:])
        bench.finish(bench.out()[0])
    assert len(turns) == 8
    assert len(bench.kept) == 200


def test_a_stopped_vendor_gives_its_turn_up_at_once() -> None:
    """What is left of it comes back as skipped beside the next one's work, and takes nobody's turn."""
    bench = Bench(100, vendor_concurrency=1)
    bench.coordinator.receive({"joined": ["one"]})
    first = bench.out()[0]
    skipped = TurnRecord((Attempt(1, failure=Failure("skipped", "plan", "the vendor was stopped")),))
    (label,) = {record.label for record in bench.given()[first][1]}
    bench.row(first, replace(bench.given()[first][1][0], turns=(skipped,)))
    assert {bench.given()[dispatch][1][0].label for dispatch in bench.out()} == {"a", "b"}
    assert len(bench.out(label)) > 1


def test_a_lost_session_s_missing_records_alone_are_issued_again() -> None:
    """What came back stays; the rest goes out under a new number and the same block number."""
    bench = Bench(5)
    bench.coordinator.receive({"joined": ["one"]})
    (_, records), (_, others) = bench.given()[1], bench.given()[2]
    for record in records[:3]:
        bench.row(1, record)
    bench.finish(2)
    bench.coordinator.receive({"left": [["one", "died", 2.0]], "joined": ["two"]})
    session, again = bench.given()[3]
    assert session == "two"
    assert keys(again) == keys(records[3:])
    bench.finish(3)
    assert bench.coordinator.is_finished
    assert keys(bench.kept) == keys(records + others)
    losses = bench.coordinator.losses
    assert (losses.issued_again, losses.lost_s, len(losses.lost_sessions)) == (2, 2.0, 1)


def test_the_first_of_two_rows_counts_and_the_other_is_kept_aside() -> None:
    """A hung worker that wakes up brings nothing into the results, and nothing it was paid for is forgotten."""
    bench = Bench(5)
    bench.coordinator.receive({"joined": ["one", "two"]})
    session, records = bench.given()[1]
    bench.ended = {dispatch for dispatch, (name, _) in bench.given().items() if name == session}
    bench.coordinator.receive({"left": [[session, "silent", 30.0]]})
    bench.finish_what_is_out()
    bench.row(1, records[0])
    assert len(bench.kept) == 10
    assert keys(bench.twice) == [records[0].key]
    assert bench.coordinator.losses.duplicates == 1


def test_after_an_end_nothing_is_handed_out_and_what_is_under_way_is_awaited() -> None:
    """Closing by signal, or by the gate for a spending limit, waits for blocks to end with what they have."""
    bench = Bench()
    bench.coordinator.receive({"joined": ["one"]})
    bench.coordinator.close()
    assert ("close", True) in bench.orders
    issued = len(bench.given())
    assert not bench.coordinator.is_finished
    bench.row(1, bench.given()[1][1][0])
    bench.coordinator.receive({"ended": [["one", dispatch] for dispatch in bench.out()], "joined": ["two"]})
    assert bench.coordinator.is_finished
    assert len(bench.given()) == issued
    assert len(bench.kept) == 1


def test_work_that_kills_one_worker_after_another_ends_the_run() -> None:
    """Losing sessions without one new record is not repeated for ever."""
    bench = Bench(5)
    for number in range(MAX_FRUITLESS_LOSSES):
        assert bench.coordinator.failed is None
        bench.coordinator.receive({"joined": [f"s{number}"]})
        bench.coordinator.receive({"left": [[f"s{number}", "out of memory", 0.1]]})
    assert isinstance(bench.coordinator.failed, ClusterError)
    assert "out of memory" in str(bench.coordinator.failed)


def test_a_record_that_cannot_be_kept_ends_the_run() -> None:
    """The disk's refusal is the run's end, and is told as it is."""

    def full(_records: object) -> None:
        raise StorageError("disk full")

    bench = Bench(5, emit=full)
    bench.coordinator.receive({"joined": ["one"]})
    bench.row(1, bench.given()[1][1][0])
    assert isinstance(bench.coordinator.failed, StorageError)


@pytest.mark.parametrize(
    ("samples", "workers", "size"), [(1000, 2, 25), (60, 2, 8), (8, 4, 1), (3, 4, 1), (0, 1, 1), (200, 2, 25)]
)
def test_a_short_run_is_cut_fine_enough_for_every_worker(samples: int, workers: int, size: int) -> None:
    """Four blocks for each while there are samples, and never more than 25 of them in one."""
    assert block_size(work_of(samples), workers) == size


@pytest.mark.parametrize("count", [0, 1, 7])
def test_no_work_or_little_ends_too(count: int) -> None:
    """A resumed run that lacks nothing is finished before anybody joins."""
    bench = Bench(count)
    bench.coordinator.receive({"joined": ["one", "two", "three"]})
    bench.finish_what_is_out()
    assert bench.coordinator.is_finished
    assert len(bench.kept) == 2 * count


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(1, 4), st.integers(0, 6))
def test_whatever_dies_whenever_every_record_is_kept_exactly_once(rng: Any, sessions: int, deaths: int) -> None:
    """Rows, ends and deaths in any order, late rows of the dead included."""
    bench = Bench(15)
    alive = [f"s{number}" for number in range(sessions)]
    bench.coordinator.receive({"joined": list(alive)})
    open_rows: dict[int, list[Record]] = {}
    seen: set[int] = set()
    while not bench.coordinator.is_finished:
        for dispatch, (_, records) in bench.given().items():
            if dispatch not in seen:
                seen.add(dispatch)
                open_rows[dispatch] = rng.sample(records, len(records))
        dispatch = rng.choice(sorted(open_rows))
        session = bench.given()[dispatch][0]
        if deaths and rng.random() < 0.1:
            deaths -= 1
            victim = rng.choice(alive)
            alive.remove(victim)
            alive.append(f"{victim}+")
            bench.coordinator.receive({"left": [[victim, "died", 0.0]], "joined": [alive[-1]]})
        elif open_rows[dispatch]:
            bench.row(dispatch, open_rows[dispatch].pop())
        else:
            del open_rows[dispatch]
            bench.coordinator.receive({"ended": [[session, dispatch]]})
    planned = [("run", "model", one.label, "trigger", sample.id, 0) for one in ENTRIES for sample in samples_of(15)]
    assert keys(bench.kept) == sorted(planned)


def test_one_stretch_of_time_is_not_gone_on_with() -> None:
    """The advice for a run that broke off is one that will be taken."""
    bench = Bench()
    assert bench.coordinator.way_on == "go on with --incremental"
    timed = replace(bench.coordinator._work, plan=Plan(tuple(ENTRIES), (), load=LoadShape(duration_s=5)))
    assert Coordinator(timed, 5, print).way_on == "start a new run"
