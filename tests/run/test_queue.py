"""The order of work: shuffled by seed, one for all vendors, numbered by blocks, and what is answered left out."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from itertools import islice

from asking import Plain, samples
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.records.plan import Entry
from vendor_verifier.records.record import RecordKey
from vendor_verifier.records.request import Endpoint
from vendor_verifier.records.sample import Sample, Samples
from vendor_verifier.run.queue import BLOCK, Part, Target, WorkItem, WorkQueue
from vendor_verifier.suites.trigger import TriggerSuite
from vendor_verifier.wire.openai_chat import OpenAIChat

LABELS = ("a", "b", "c")
ENTRIES = [Entry("model", label, Plain.name, Endpoint("http://127.0.0.1", "m"), "openai", label) for label in LABELS]


def queue(*tasks: Sequence[Sample], repeats: Sequence[int] = (1, 1, 1)) -> WorkQueue:
    """Tasks ``t0``, ``t1`` … of these samples for all three entries."""
    targets = [Target(entry, Plain(), OpenAIChat()) for entry in ENTRIES]
    parts = [Part(TriggerSuite(f"t{place}"), Samples(asked)) for place, asked in enumerate(tasks)]
    return WorkQueue(targets, parts, repeats)


def every_key(tasks: Iterable[Sequence[Sample]], repeats: Sequence[int]) -> list[RecordKey]:
    """What there is to ask, as the plan lists it."""
    return [
        ("run", "model", label, f"t{place}", sample.id, repetition)
        for place, asked in enumerate(tasks)
        for sample in asked
        for label, most in zip(LABELS, repeats, strict=True)
        for repetition in range(most)
    ]


def key(item: WorkItem) -> RecordKey:
    entry = item.target.entry
    return ("run", entry.model, entry.label, item.suite.name, item.sample.id, item.repetition)


def asked(work: WorkQueue, target: int, seed: int = 0) -> list[tuple[int, WorkItem]]:
    return list(work.items_of(target, work.order(seed), seed))


@st.composite
def plans(draw: st.DrawFn) -> tuple[list[tuple[Sample, ...]], tuple[int, ...], list[RecordKey]]:
    """Tasks that share samples or not, how often each entry is asked, and what is answered already."""
    known = samples(60)
    tasks = draw(st.lists(st.lists(st.sampled_from(known), unique_by=lambda one: one.id).map(tuple), max_size=3))
    repeats = draw(st.tuples(*[st.integers(1, 3)] * 3))
    keys = every_key(tasks, repeats)
    answered = draw(st.lists(st.sampled_from(keys), unique=True)) if keys else []
    return tasks, repeats, answered


@given(plan=plans(), seed=st.integers())
def test_everything_left_comes_once_in_the_one_order(
    plan: tuple[list[tuple[Sample, ...]], tuple[int, ...], list[RecordKey]], seed: int
) -> None:
    """Nothing is lost, nothing comes twice, and every vendor's samples follow one order with one count of blocks."""
    tasks, repeats, answered = plan
    work = queue(*tasks, repeats=repeats)
    assert [work.cross_off(each) for each in answered] == [True] * len(answered)
    keys = every_key(tasks, repeats)
    order = sorted({each[4] for each in keys})
    random.Random(seed).shuffle(order)
    for target, label in enumerate(LABELS):
        found = asked(work, target, seed)
        left = sorted(each for each in keys if each[2] == label and each not in answered)
        assert sorted(key(item) for _, item in found) == left
        places = [order.index(item.sample.id) for _, item in found]
        assert places == sorted(places)
        assert [block for block, _ in found] == [place // BLOCK for place in places]
    assert len(work) == len(keys) - len(answered)


@given(plan=plans(), seed=st.integers())
def test_rounds_ask_all_samples_before_any_comes_again(
    plan: tuple[list[tuple[Sample, ...]], tuple[int, ...], list[RecordKey]], seed: int
) -> None:
    """For loads that may end at any moment: repetition after repetition over one order, once through or for ever."""
    tasks, repeats, answered = plan
    work = queue(*tasks, repeats=repeats)
    for each in answered:
        work.cross_off(each)
    order = work.order(seed)
    for target, label in enumerate(LABELS):
        found = [key(item) for item in work.rounds_of(target, order, endless=False)]
        assert sorted(found) == sorted(
            each for each in every_key(tasks, repeats) if each[2] == label and each not in answered
        )
        assert [each[5] for each in found] == sorted(each[5] for each in found)
        if order:
            endless = [key(item) for item in islice(work.rounds_of(target, order, endless=True), 3 * len(order))]
            assert [each[5] for each in endless] == [n for n in range(3) for _ in order]
            assert [each[4] for each in endless] == 3 * [each[4] for each in endless[: len(order)]]
