"""The order of work: shuffled by seed, cut into blocks, vendors together."""

from __future__ import annotations

from collections import Counter

import pytest
from asking import Plain, items, samples
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.run.engine import WorkItem, cut_shards
from vendor_verifier.values.plan import Entry
from vendor_verifier.values.request import Endpoint

LABELS = ("a", "b", "c")
ENTRIES = [Entry("model", label, Plain.name, Endpoint("http://127.0.0.1", "m"), "openai", label) for label in LABELS]


def work(count: int, repeat: int = 1) -> list[WorkItem]:
    return items(ENTRIES, samples(count), repeat)


def order(count: int, block: int, seed: int) -> list[tuple[str, str]]:
    return [
        (item.sample.id, item.line.entry.label)
        for shard in cut_shards(work(count), block, seed)
        for item in shard.items
    ]


@given(count=st.integers(0, 40), block=st.integers(1, 12), seed=st.integers(), repeat=st.integers(1, 3))
def test_every_item_stands_in_exactly_one_shard(count: int, block: int, seed: int, repeat: int) -> None:
    """Cutting and shuffling lose nothing and double nothing, and shards are numbered in order."""
    whole = work(count, repeat)
    shards = list(cut_shards(whole, block, seed))
    assert Counter(map(id, (item for shard in shards for item in shard.items))) == Counter(map(id, whole))
    assert [shard.number for shard in shards] == list(range(-(-count // block)))


@given(count=st.integers(1, 40), block=st.integers(1, 12), seed=st.integers())
def test_a_block_asks_all_vendors_the_same(count: int, block: int, seed: int) -> None:
    """Every shard holds its samples for every vendor, each sample's items side by side."""
    for shard in cut_shards(work(count), block, seed):
        ids = [item.sample.id for item in shard.items]
        assert len(set(ids)) <= block
        for start in range(0, len(ids), len(LABELS)):
            assert len(set(ids[start : start + len(LABELS)])) == 1
            assert {item.line.entry.label for item in shard.items[start : start + len(LABELS)]} == set(LABELS)


def test_the_same_seed_gives_the_same_order() -> None:
    """A run can be repeated in its order, and another seed is another order."""
    assert order(30, 8, 1) == order(30, 8, 1)
    assert order(30, 8, 1) != order(30, 8, 2)


def test_the_order_does_not_come_from_the_file() -> None:
    """Neighbours in the sample file are not neighbours in time, and the first vendor asked is chance."""
    asked = order(60, 60, 0)
    assert [sample for sample, _ in asked[:: len(LABELS)]] != sorted({sample for sample, _ in asked})
    assert {label for _, label in asked[:: len(LABELS)]} == set(LABELS)


@pytest.mark.parametrize("seed", range(3))
def test_the_order_does_not_depend_on_how_the_items_came(seed: int) -> None:
    """The samples of a resumed run, listed in another order, are shuffled the same way."""
    forwards = [shard.items[0].sample.id for shard in cut_shards(work(20), 1, seed)]
    backwards = [shard.items[0].sample.id for shard in cut_shards(work(20)[::-1], 1, seed)]
    assert forwards == backwards
