"""Filters and limit of samples."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.loaders.selection import expects_call, select
from vendor_verifier.records.request import Turn
from vendor_verifier.records.sample import Sample

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
        ({"category": ["maps"], "difficulty": ["hard", "medium"], "limit": 1, "head": True}, "d"),
        ({"limit": 2, "head": True}, "ab"),
        ({"limit": 0}, ""),
        ({"limit": 99}, "abcdef"),
    ],
)
def test_filters_and_limit(options: dict[str, Any], kept: str) -> None:
    """Each filter by its rule, all of them together, then the limit; order is the set's."""
    assert "".join(name[0] for name in ids(select(SET, **options))) == kept


@given(
    st.lists(st.tuples(st.sampled_from([True, False, None]), st.sampled_from("abc")), max_size=40), st.integers(0, 45)
)
def test_a_larger_limit_only_adds_samples(kinds: list[tuple[bool | None, str]], limit: int) -> None:
    """The choice of N is part of the choice of N + 1, in the file's order, and holds every class if N allows it."""
    rows = [
        Sample(f"s{at:03}-1", Turn(()), {} if kind is None else {"expected_tool_call": kind}, {"category": category})
        for at, (kind, category) in enumerate(kinds)
    ]
    chosen, more = ids(select(rows, limit=limit)), ids(select(rows, limit=limit + 1))
    assert len(chosen) == min(limit, len(rows))
    assert set(chosen) <= set(more)
    assert [one for one in ids(rows) if one in chosen] == chosen
    there = {kind for kind, _ in kinds}
    if limit >= len(there):
        assert {expects_call(one) for one in select(rows, limit=limit)} == there


@pytest.mark.parametrize(
    ("expected", "wanted"),
    [
        ({"expected_tool_call": True}, True),
        ({"expected_tool_call": False}, False),
        ({"calls": [{"name": "f"}]}, True),
        ({"calls": []}, False),
        ({"category": "live_irrelevance", "answer": [{}]}, False),
        ({"category": "simple_python", "answer": [{"f": {}}]}, True),
        ({}, None),
    ],
)
def test_whether_a_call_is_expected(expected: dict[str, Any], wanted: bool | None) -> None:
    """A stated class, expected calls and the leaderboard's irrelevant rows; a row without an answer key is unknown."""
    assert expects_call(Sample("s", Turn(()), expected)) is wanted
