"""No row, however odd, raises anything but a DataError."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from dataset_rows import ROWS, SAID, read, refusal, without
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.errors import DataError


def test_half_characters_are_refused_wherever_they_hide() -> None:
    """A lone surrogate cannot be sent, whether it stands in an array, in packed JSON or in a Python literal."""
    assert "half a character" in refusal(without(ROWS["toolbench"], query="\ud83d"), array=True)[0]
    assert "half a character" in refusal(without(ROWS["toolbench"], tools='["\\ud83d"]'))[0]
    system = SAID[0][1].replace("It's hot", "\\ud83d")
    row = {"conversations": [{"from": "system", "value": system}, {"from": "user", "value": "?"}]}
    assert "half a character" in refusal(row)[0]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
KEYS = sorted({key for row in ROWS.values() for key in row} | {"request", "relevant_apis", "prompt"})


@given(rows=st.lists(st.dictionaries(st.sampled_from(KEYS), json_values, max_size=5), max_size=3), array=st.booleans())
def test_arbitrary_rows_raise_nothing_but_a_data_error(rows: list[dict[str, Any]], array: bool) -> None:
    """Whatever stands under the known keys is read or refused, in the file's format and in every other."""
    for name in (None, *ROWS):
        with suppress(DataError):
            read(*rows, format=name, array=array)


@given(name=st.sampled_from(sorted(ROWS)), data=st.data())
def test_a_field_replaced_raises_nothing_but_a_data_error(name: str, data: st.DataObject) -> None:
    """A good row with any one value, at any depth, replaced is read or refused."""
    row = json.loads(json.dumps(ROWS[name]))
    node: Any = row
    while True:
        key = data.draw(st.sampled_from(sorted(node) if isinstance(node, dict) else list(range(len(node)))))
        if not isinstance(node[key], (dict, list)) or not node[key] or data.draw(st.booleans()):
            node[key] = data.draw(json_values)
            break
        node = node[key]
    with suppress(DataError):
        read(row, format=name)


@given(text=st.text(st.sampled_from("[]{}()'\"\\-+*018:,.abeNjux_ \n"), max_size=40))
def test_an_arbitrary_list_of_functions_is_read_or_refused(text: str) -> None:
    """Python literals that are no JSON (sets, bytes, complex numbers, tuples as keys) and nonsense are refused."""
    row = {"conversations": [{"from": "system", "value": f"APIs: [{text}"}, {"from": "user", "value": "?"}]}
    with suppress(DataError):
        read(row)


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, "-" * 100_000 + "1]", "{1, 2}]", "b'x']", "1j]", "{(1,): 2}]", "9" * 5000 + "]", "1e999]", "\x00]"],
)
def test_literals_made_to_hurt_are_refused(text: str) -> None:
    """Depth, long numbers and values that JSON cannot hold end in a message, not in a crash."""
    row = {"conversations": [{"from": "system", "value": f"APIs: [{text}"}, {"from": "user", "value": "?"}]}
    assert refusal(row)[0].startswith("set.json:1: conversations")


def test_an_action_without_a_name_is_refused() -> None:
    """An input to nothing is the row's fault, named with the message it stands in."""
    row = json.loads(json.dumps(ROWS["toolbench_conversations"]))
    row["conversations"][2]["value"] = "Action Input: {}"
    assert refusal(row) == ["set.json:1: conversations[3]: expected `Action:` and a name before `Action Input:`"]
    row["conversations"][2]["value"] = "Action: weather\nAction Input: [3]"
    assert "expected an object after `Action Input:`" in refusal(row)[0]
