"""Filters, limit and strata: which samples of a set are asked."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.errors import UsageError
from vendor_verifier.loaders.selection import select
from vendor_verifier.values.request import Turn
from vendor_verifier.values.sample import Sample

TOOL = {"type": "function", "function": {"name": "get_rate", "description": "Exchange Rate"}}


def sample(name: str, tools: tuple[dict[str, Any], ...] = (), **tags: Any) -> Sample:
    return Sample(name, Turn(({"role": "user", "content": name},), tools), tags=tags)


def ids(samples: tuple[Sample, ...]) -> list[str]:
    return [one.id for one in samples]


SET = (
    sample("a-1", (TOOL,), id=7, category="Finance", difficulty="Easy"),
    sample("b-1", category="personal finance", difficulty="hard", features=["nested"]),
    sample("c-1", category="maps", call_type="single"),
    sample("d-1", category="maps", call_type="multi"),
    sample("e-1", category="maps", call_type="multi", difficulty="medium"),
    sample("f-1"),
)


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ({}, "abcdef"),
        ({"ids": ["c-1", "7"]}, "ac"),
        ({"difficulty": ["EASY"]}, "ac"),
        ({"difficulty": ["single"]}, "c"),
        ({"difficulty": ["hard"]}, "bd"),
        ({"difficulty": ["medium"]}, "de"),
        ({"difficulty": ["multi"]}, "de"),
        ({"category": ["FINANCE"]}, "ab"),
        ({"category": ["maps", "personal"]}, "bcde"),
        ({"tags": ["exchange rate"]}, "a"),
        ({"tags": ["nested"]}, "b"),
        ({"tags": ["exchange", "nested"]}, ""),
        ({"category": ["maps"], "difficulty": ["hard", "medium"], "limit": 1}, "d"),
        ({"limit": 2}, "ab"),
        ({"limit": 0}, ""),
        ({"limit": 99, "stratify_by": "category"}, "abcdef"),
    ],
)
def test_filters_and_limit(options: dict[str, Any], kept: str) -> None:
    """Each filter by its rule, all of them together, then the first so many; order is the set's."""
    assert "".join(name[0] for name in ids(select(SET, **options))) == kept


def test_strata_share_a_limit_by_largest_remainders() -> None:
    """60, 30 and 10 of a hundred share 7 as 4, 2 and 1: quotas 4.2, 2.1 and 0.7."""
    rows = [sample(f"{at}", category="abc"[(at % 10 >= 6) + (at % 10 >= 9)]) for at in range(100)]
    chosen = select(rows, stratify_by="category", limit=7)
    assert Counter(one.tags["category"] for one in chosen) == {"a": 4, "b": 2, "c": 1}
    assert [int(one.id) for one in chosen] == sorted(int(one.id) for one in chosen)


def test_the_draw_depends_on_the_seed_and_on_nothing_else() -> None:
    """The same seed draws the same samples from a reordered set, another seed draws others."""
    rows = [sample(f"s{at}", category="ab"[at % 2]) for at in range(40)]
    first = set(ids(select(rows, stratify_by="category", limit=10, seed=1)))
    assert first == set(ids(select(rows[::-1], stratify_by="category", limit=10, seed=1)))
    assert first != set(ids(select(rows, stratify_by="category", limit=10, seed=2)))


def test_what_cannot_be_meant_is_refused() -> None:
    """A misspelt tag to stratify by lists the tags there are; a negative limit is no limit."""
    with pytest.raises(UsageError, match="'kategorie' to stratify by; there are call_type, category, difficulty"):
        select(SET, stratify_by="kategorie", limit=2)
    with pytest.raises(UsageError, match="at least 0, read -1"):
        select(SET, limit=-1)


@given(st.lists(st.sampled_from("abcd"), max_size=40), st.integers(0, 50), st.integers())
def test_a_stratified_choice_is_proportional(categories: list[str], limit: int, seed: int) -> None:
    """As many as asked for, each stratum within one of its share, all from the set, none twice."""
    rows = [sample(f"s{at}", category=name) for at, name in enumerate(categories)]
    chosen = select(rows, stratify_by="category", limit=limit, seed=seed)
    assert len(chosen) == min(limit, len(rows)) == len({one.id for one in chosen})
    for name, size in Counter(categories).items():
        share = size * min(limit, len(rows)) / len(rows)
        assert abs(sum(one.tags["category"] == name for one in chosen) - share) < 1
