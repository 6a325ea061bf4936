"""The schema conversion: each keyword's fate, what is said to be lost, and bombs that must not go off."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from costs import at_most_calls
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.wire.gemini_schema import MAX_DEPTH, MAX_NODES, gemini_schema

ALLOWED = {
    "type", "format", "title", "description", "nullable", "default", "items", "minItems", "maxItems", "enum",
    "properties", "propertyOrdering", "required", "minProperties", "maxProperties", "minimum", "maximum", "minLength",
    "maxLength", "pattern", "example", "anyOf",
}  # fmt: skip


ROWS = [json.loads(line) for line in (Path(__file__).parent / "schemas.jsonl").read_bytes().splitlines()]


@pytest.mark.parametrize("row", ROWS, ids=[row["case"] for row in ROWS])
def test_a_schema_is_said_in_the_subset_or_the_loss_is_named(row: dict[str, Any]) -> None:
    """Unions, references, nullable types, enums, arrays and what has no word there; a row of ``schemas.jsonl`` each."""
    schema, lost = gemini_schema(row["given"])
    assert {"schema": schema, "lost": sorted(lost)} == row["expected"]


def definitions(count: int, step: Any, last: Any) -> dict[str, Any]:
    """Definitions d0 … d<count>, each made by ``step`` from a reference to the next."""
    made = {f"d{number}": step({"$ref": f"#/$defs/d{number + 1}"}) for number in range(count)}
    return {**made, f"d{count}": last}


BOMBS = {
    "circle of two": {"d0": {"$ref": "#/$defs/d1"}, "d1": {"$ref": "#/$defs/d0"}},
    "root inside root": {"d0": {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}},
    "doubling properties": definitions(
        40, lambda ref: {"type": "object", "properties": {"l": ref, "r": ref}}, {"type": "string"}
    ),
    "doubling anyOf": definitions(
        40, lambda ref: {"anyOf": [ref, {"type": "array", "items": ref}]}, {"type": "string"}
    ),
    "doubling allOf": definitions(40, lambda ref: {"allOf": [ref, ref]}, {"type": "string"}),
    "long chain": definitions(20_000, lambda ref: ref, {"type": "string"}),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_bombs_do_not_go_off(bomb: str) -> None:
    """Schemas that unroll without end or double at each step cost few calls and little memory."""
    schema = {"type": "object", "properties": {"p": {"$ref": "#/$defs/d0"}}, "$defs": BOMBS[bomb]}
    with at_most_calls(200 * MAX_NODES):
        result, lost = gemini_schema(schema)
    assert len(json.dumps(result)) < 200 * MAX_NODES
    assert lost


def test_depth_is_capped() -> None:
    """A schema nested deeper than any tool needs is cut at the cap, not at the interpreter's."""
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(5 * MAX_DEPTH):
        schema = {"type": "object", "properties": {"p": schema}}
    result, lost = gemini_schema(schema)
    assert json.dumps(result).count("{") <= 2 * MAX_DEPTH + 4
    assert lost == ("depth",)


WORDS = st.sampled_from([*sorted(ALLOWED), "$ref", "$defs", "oneOf", "allOf", "const", "not", "prefixItems"])
LEAVES = (
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3)
    | st.sampled_from(["string", "object", "array", "null", "#", "#/$defs/a", "#/properties/a", "date-time"])
)  # fmt: skip
SCHEMAS = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS | st.just("a"), inner, max_size=5),
    max_leaves=25,
)  # fmt: skip


def nodes(schema: dict[str, Any]) -> list[dict[str, Any]]:
    found = [schema]
    inner = [*schema.get("properties", {}).values(), *schema.get("anyOf", []), schema.get("items")]
    for child in inner:
        if child is not None:
            found.extend(nodes(child))
    return found


@given(st.dictionaries(WORDS | st.just("a"), SCHEMAS, max_size=6))
def test_only_words_of_the_subset_come_out(schema: dict[str, Any]) -> None:
    """Whatever goes in, what comes out uses the subset's words alone, is typed, and requires only what it names."""
    for node in nodes(gemini_schema(schema)[0]):
        assert node.keys() <= ALLOWED
        assert "type" in node or node.keys() == {"anyOf"}
        assert node.get("type", "ANY").isupper()
        assert all(isinstance(word, str) and word for word in node.get("enum", ["x"]))
        assert set(node.get("required", [])) <= node.get("properties", {}).keys()
        assert node.get("type") != "ARRAY" or "items" in node
