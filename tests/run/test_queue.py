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


@given(data=st.data(), seed=st.integers(), repeats=st.tuples(*[st.integers(1, 3)] * 3))
def test_everything_left_comes_once_in_the_one_order(data: st.DataObject, seed: int, repeats: tuple[int, ...]) -> None:
    """Tasks share samples or not, some records are there already. Nothing is lost, nothing comes twice, and every
    vendor's samples follow one order with one count of blocks. For loads that may end at any moment all samples are
    asked before any comes again, once through or for ever."""
    some_samples = st.lists(st.sampled_from(samples(60)), unique_by=lambda one: one.id).map(tuple)
    tasks = data.draw(st.lists(some_samples, max_size=3))
    work, keys = queue(*tasks, repeats=repeats), every_key(tasks, repeats)
    answered = data.draw(st.lists(st.sampled_from(keys), unique=True)) if keys else []
    assert [work.cross_off(each) for each in answered] == [True] * len(answered)
    ids = sorted({each[4] for each in keys})
    random.Random(seed).shuffle(ids)
    order = work.order(seed)
    assert len(work) == len(keys) - len(answered)
    for target, label in enumerate(LABELS):
        left = sorted(each for each in keys if each[2] == label and each not in answered)
        found = list(work.items_of(target, order, seed))
        assert sorted(key(item) for _, item in found) == left
        places = [ids.index(item.sample.id) for _, item in found]
        assert places == sorted(places)
        assert [block for block, _ in found] == [place // BLOCK for place in places]
        rounds = [key(item) for item in work.rounds_of(target, order, endless=False)]
        assert sorted(rounds) == left
        assert [each[5] for each in rounds] == sorted(each[5] for each in rounds)
        if order:
            endless = [key(item) for item in islice(work.rounds_of(target, order, endless=True), 3 * len(order))]
            assert [each[5] for each in endless] == [n for n in range(3) for _ in order]
            assert [each[4] for each in endless] == 3 * [each[4] for each in endless[: len(order)]]
