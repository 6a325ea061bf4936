"""No row, however odd, raises anything but a DataError; what was read survives being written and read again."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from dataset_rows import FILE, ROWS, SAID, read, refusal, without
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.errors import DataError
from vendor_verifier.loaders import read_dataset_file
from vendor_verifier.loaders.tool_rows import row_of


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


@given(content=st.binary(max_size=60))
def test_arbitrary_bytes_raise_nothing_but_a_data_error(content: bytes) -> None:
    """Binary files end in a message."""
    for start in (b"", b"[", b'{"query":'):
        with suppress(DataError):
            read_dataset_file(start + content, dataset="d", file=FILE)


@given(text=st.text(st.sampled_from("[]{}()'\"\\-+*018:,.abeNjux_ \n"), max_size=40))
def test_an_arbitrary_list_of_functions_raises_nothing_but_a_data_error(text: str) -> None:
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


@pytest.mark.parametrize("name", ROWS)
def test_conversion_and_loading_give_the_same_samples(name: str) -> None:
    """Id, question, expectation and tags survive being written as our rows, for two equal rows too."""
    loaded = read(ROWS[name], ROWS[name])
    again = read(*map(row_of, loaded.samples))
    for before, after in zip(loaded.samples, again.samples, strict=True):
        assert (after.id, after.turn) == (before.id, before.turn)
        assert (after.expected, after.tags) == (before.expected, before.tags)
    assert [sample.id[-2:] for sample in again.samples] == ["-1", "-2"]


call_values = st.fixed_dictionaries(
    {"name": st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)},
    optional={"parameters": st.dictionaries(st.text(max_size=5), json_values, max_size=3), "output": json_values},
)
tag_values = st.dictionaries(st.sampled_from(["id", "category", "difficulty", "tags", "features"]), json_values)


@given(calls=st.lists(call_values, max_size=3), tags=tag_values)
def test_any_calls_and_tags_round_trip(calls: list[dict[str, Any]], tags: dict[str, Any]) -> None:
    """Whatever JSON calls and tags hold, writing and reading again changes nothing."""
    row = without(ROWS["tool_calls"], expected={"calls": calls}, tags=tags)
    try:
        [before] = read(row).samples
    except DataError as error:
        assert "half a character" in str(error)  # noqa: PT017 - any other refusal would be a defect
        return
    [after] = read(row_of(before)).samples
    assert (after.id, after.expected, after.tags) == (before.id, before.expected, before.tags)
