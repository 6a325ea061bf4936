"""Equal tool declarations are kept once, and only equal ones."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.records.request import Turn
from vendor_verifier.records.sample import ToolSets

_VALUES = st.sampled_from([1, 1.0, True, "1", None, [], {}, "\ud800", 2**70])


def _turn(value: Any) -> Turn:
    return Turn(({"role": "user", "content": "hi"},), ({"function": {"name": "f", "parameters": value}},))


@given(st.lists(_VALUES, max_size=8))
def test_a_turn_asks_the_same_whoever_else_declared_it(values: list[Any]) -> None:
    """Not even 1, 1.0 and true are taken for each other, and what cannot be written is let alone."""
    sets = ToolSets()
    for value in values:
        assert json.dumps(sets.shared(_turn(value)).tools) == json.dumps(_turn(value).tools)


def test_equal_sets_are_one_object() -> None:
    """Thousands of samples with the same tools hold them once."""
    sets = ToolSets()
    first, second = sets.shared(_turn({"type": "object"})), sets.shared(_turn({"type": "object"}))
    assert first.tools is second.tools
    assert sets.shared(_turn({"type": "array"})).tools is not first.tools
    assert sets.shared(second) is second
