"""The order of work: shuffled by seed, one for all vendors, numbered by blocks, and what is answered left out."""

from __future__ import annotations

import random
import tracemalloc
from collections import Counter
from collections.abc import Iterable, Sequence

import pytest
from asking import Plain, samples
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.records.plan import Entry, Plan
from vendor_verifier.records.record import RecordKey
from vendor_verifier.records.request import Endpoint, Turn
from vendor_verifier.records.sample import Sample, listed
from vendor_verifier.run.conversation import Target
from vendor_verifier.run.load_lane import in_lanes
from vendor_verifier.run.work_queue import Part, Stream, WorkItem, WorkQueue, streams_of
from vendor_verifier.suites.trigger import TriggerSuite
from vendor_verifier.wire.openai_chat import OpenAIChat

LABELS = ("a", "b", "c")
ENTRIES = [Entry("model", label, Plain.name, Endpoint("http://127.0.0.1", "m"), "openai", label) for label in LABELS]


def queue(*tasks: Sequence[Sample], repeats: Sequence[int] = (1, 1, 1)) -> WorkQueue:
    """Tasks ``t0``, ``t1`` … of these samples for all three entries."""
    targets = [Target(entry, Plain(), OpenAIChat()) for entry in ENTRIES]
    parts = [Part(TriggerSuite(f"t{place}"), listed(asked)) for place, asked in enumerate(tasks)]
    return WorkQueue(targets, parts, repeats)


def every_key(tasks: Iterable[Sequence[Sample]], repeats: Sequence[int]) -> list[RecordKey]:
    """What there is to ask, as the plan lists it."""
    return [
        ("run", "model", label, f"t{place}", sample.id, repetition)
        for place, asked in enumerate(tasks)
        for sample in asked
        for repetition in range(max(repeats))
        for label, most in zip(LABELS, repeats, strict=True)
        if repetition < most
    ]


def key(item: WorkItem) -> RecordKey:
    entry = item.target.entry
    return ("run", entry.model, entry.label, item.suite.name, item.sample.id, item.repetition)


def taken(stream: Stream) -> list[tuple[int, WorkItem]]:
    """All of a stream, in its order."""
    return list(iter(stream.take, None))


def streams(work: WorkQueue, seed: int, block: int = 25) -> dict[str, list[tuple[int, WorkItem]]]:
    """Everything that each vendor is asked, with block numbers."""
    return {
        stream.entry.label: taken(stream) for stream in streams_of(work, Plan(tuple(ENTRIES), (), seed=seed), block)
    }


def order_by_the_book(left: Iterable[RecordKey], seed: int) -> list[str]:
    """The ids of all samples of which anything is left, shuffled: the order, written with everything in memory."""
    order = sorted({each[4] for each in left})
    random.Random(seed).shuffle(order)
    return order


def lanes_by_the_book(left: Iterable[RecordKey], seed: int) -> list[list[RecordKey]]:
    """All keys entry by entry, repetition after repetition over one order of the samples."""
    left = list(left)
    ids = sorted({each[4] for each in left})
    random.Random(seed).shuffle(ids)
    lanes: dict[str, list[RecordKey]] = {}
    for each in left:
        lanes.setdefault(each[2], []).append(each)
    return [sorted(lane, key=lambda each: (each[5], ids.index(each[4]))) for lane in lanes.values()]


@st.composite
def plans(draw: st.DrawFn) -> tuple[list[tuple[Sample, ...]], tuple[int, ...], list[RecordKey]]:
    """Tasks that share samples or not, how often each entry is asked, and what is answered already."""
    known = samples(12)
    tasks = draw(st.lists(st.lists(st.sampled_from(known), unique_by=lambda one: one.id).map(tuple), max_size=3))
    repeats = draw(st.tuples(*[st.integers(1, 3)] * 3))
    keys = every_key(tasks, repeats)
    answered = draw(st.lists(st.sampled_from(keys), unique=True)) if keys else []
    return tasks, repeats, answered


@given(plan=plans(), block=st.integers(1, 12), seed=st.integers())
def test_the_order_is_the_books(
    plan: tuple[list[tuple[Sample, ...]], tuple[int, ...], list[RecordKey]], block: int, seed: int
) -> None:
    """Items that are made in turn are those of a list that is shuffled whole: nothing lost, nothing twice, and every
    vendor's samples in the one order, numbered by the one count of blocks."""
    tasks, repeats, answered = plan
    work = queue(*tasks, repeats=repeats)
    assert [work.cross_off(each) for each in answered] == [True] * len(answered)
    left = [each for each in every_key(tasks, repeats) if each not in answered]
    order = order_by_the_book(left, seed)
    found = streams(work, seed, block)
    for label in LABELS:
        asked = found.get(label, [])
        assert sorted(key(item) for _, item in asked) == sorted(each for each in left if each[2] == label)
        places = [order.index(item.sample.id) for _, item in asked]
        assert places == sorted(places)
        assert [number for number, _ in asked] == [place // block for place in places]
    assert (len(work), work.samples) == (len(left), len(order))


@given(plan=plans(), seed=st.integers())
def test_lanes_are_the_books(
    plan: tuple[list[tuple[Sample, ...]], tuple[int, ...], list[RecordKey]], seed: int
) -> None:
    """Each entry's lane holds what is left of it, in the one order of all, and who has nothing left has no lane."""
    tasks, repeats, answered = plan
    work = queue(*tasks, repeats=repeats)
    for each in answered:
        work.cross_off(each)
    lanes = in_lanes(work, seed)
    found = [[key(lane[place]) for place in range(len(lane))] for lane in lanes]
    assert found == lanes_by_the_book((each for each in every_key(tasks, repeats) if each not in answered), seed)


@given(plan=plans())
def test_what_is_answered_is_counted_once_and_what_is_not_planned_never(
    plan: tuple[list[tuple[Sample, ...]], tuple[int, ...], list[RecordKey]],
) -> None:
    """A key can be crossed off once; another vendor, task, sample or repetition cannot be at all."""
    tasks, repeats, answered = plan
    work = queue(*tasks, repeats=repeats)
    for each in answered:
        run, model, label, suite, sample, _ = each
        assert work.awaits(each)
        assert [work.cross_off(each), work.cross_off(each), work.awaits(each)] == [True, False, False]
        assert not work.cross_off((run, model, label, suite, sample, 3))
        assert not work.cross_off((run, model, label, suite, sample, -1))
    for stranger in (("run", "model", "z", "t0", "000-1", 0), ("run", "model", "a", "t9", "000-1", 0)):
        assert not work.cross_off(stranger)
    assert not work.cross_off(("run", "model", "a", "t0", "999-1", 0))
    counted = Counter(each[2] for each in answered)
    assert [work.crossed_of(target) for target in range(3)] == [counted[label] for label in LABELS]


def test_what_one_vendor_was_asked_already_changes_nobodys_order() -> None:
    """A resumed vendor meets what is left in the same order as one that begins anew."""
    tasks = samples(30)
    work = queue(tasks)
    for sample in tasks[:20]:
        work.cross_off(("run", "model", "a", "t0", sample.id, 0))
    found = {label: [item.sample.id for _, item in asked] for label, asked in streams(work, 5).items()}
    assert found["b"] == found["c"]
    assert found["a"] == [sample for sample in found["b"] if sample in {one.id for one in tasks[20:]}]


def test_another_seed_is_another_order() -> None:
    """Neighbours in the sample file are not neighbours in time, and the first vendor asked is chance."""

    def order(seed: int) -> list[str]:
        return [item.sample.id for _, item in streams(queue(samples(60)), seed)["a"]]

    assert order(0) == order(0) != order(1)
    assert order(0) != sorted(order(0))
    assert {next(iter(streams(queue(samples(3)), seed))) for seed in range(20)} == set(LABELS)


def test_repetitions_of_a_sample_come_in_any_order() -> None:
    """A sample's repetitions stand together, and the first of them is not always asked first."""
    asked = streams(queue(samples(40), repeats=(2, 1, 1)), 0)["a"]
    pairs = [(one.repetition, other.repetition) for (_, one), (_, other) in zip(asked[::2], asked[1::2], strict=True)]
    assert set(pairs) == {(0, 1), (1, 0)}


@pytest.mark.parametrize("seed", range(3))
def test_the_order_does_not_depend_on_how_the_samples_came(seed: int) -> None:
    """The samples of a resumed run, listed in another order, are shuffled the same way."""
    forwards = [item.sample.id for _, item in streams(queue(samples(20)), seed)["b"]]
    backwards = [item.sample.id for _, item in streams(queue(samples(20)[::-1]), seed)["b"]]
    assert forwards == backwards


def test_work_is_made_when_its_turn_comes() -> None:
    """At no moment do ten thousand samples for three vendors take more than 80 bytes a sample, the order included."""
    count = 10_000
    asked = listed([Sample(f"{n:05}-1", Turn(())) for n in range(count)])
    work = queue(asked)
    assert len(asked.ids) == count
    tracemalloc.start()
    try:
        made = sum(1 for stream in streams_of(work, Plan(tuple(ENTRIES), ())) for _ in iter(stream.take, None))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert made == 3 * count
    assert most < 80 * count
