"""The schema conversion: each keyword's fate, what is said to be lost, and bombs that must not go off."""

from __future__ import annotations

import json
from typing import Any

import pytest
from costs import at_most_calls
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.wire.gemini.schema import MAX_COST, MAX_DEPTH, gemini_schema

ALLOWED = {
    "type", "format", "title", "description", "nullable", "default", "items", "minItems", "maxItems", "enum",
    "properties", "propertyOrdering", "required", "minProperties", "maxProperties", "minimum", "maximum", "minLength",
    "maxLength", "pattern", "example", "anyOf",
}  # fmt: skip


def converted(schema: Any, **root: Any) -> dict[str, Any]:
    """The conversion of ``schema`` as the only property of an object."""
    whole = gemini_schema({"type": "object", "properties": {"p": schema}, **root}).schema
    inner: dict[str, Any] = whole["properties"]["p"]
    return inner


def lost(schema: Any, **root: Any) -> tuple[str, ...]:
    return gemini_schema({"type": "object", "properties": {"p": schema}, **root}).lost


KEPT = [
    ({"type": "string"}, {"type": "STRING"}),
    ({"type": "STRING"}, {"type": "STRING"}),
    ({"type": "integer", "minimum": 0, "maximum": 9.5}, {"type": "INTEGER", "minimum": 0, "maximum": 9.5}),
    ({"type": "string", "minLength": 1, "pattern": "^a"}, {"type": "STRING", "minLength": 1, "pattern": "^a"}),
    ({"type": "number", "format": "double"}, {"type": "NUMBER", "format": "double"}),
    ({"type": "string", "description": "d", "title": "t"}, {"type": "STRING", "description": "d", "title": "t"}),
    ({"type": "string", "default": "x"}, {"type": "STRING", "default": "x"}),
    ({"type": ["string", "null"]}, {"type": "STRING", "nullable": True}),
    ({"type": "string", "nullable": True}, {"type": "STRING", "nullable": True}),
    ({"type": "null"}, {"type": "NULL"}),
    ({"type": "string", "enum": ["a", "b", None]}, {"type": "STRING", "enum": ["a", "b"], "nullable": True}),
    ({"enum": ["a"]}, {"type": "STRING", "enum": ["a"]}),
    ({"const": "a"}, {"type": "STRING", "enum": ["a"]}),
    ({"properties": {"a": {"type": "boolean"}}}, {"type": "OBJECT", "properties": {"a": {"type": "BOOLEAN"}}}),
    ({"items": {"type": "number"}, "maxItems": 3}, {"type": "ARRAY", "items": {"type": "NUMBER"}, "maxItems": 3}),
    (
        {"anyOf": [{"type": "integer"}, {"type": "null"}], "title": "T"},
        {"type": "INTEGER", "nullable": True, "title": "T"},
    ),
    (
        {"oneOf": [{"type": "integer"}, {"type": "string"}], "description": "d"},
        {"anyOf": [{"type": "INTEGER", "description": "d"}, {"type": "STRING", "description": "d"}]},
    ),
    (
        {"type": ["integer", "string", "null"], "minimum": 1},
        {"anyOf": [{"type": "INTEGER", "minimum": 1, "nullable": True}, {"type": "STRING", "minimum": 1}]},
    ),
    (
        {
            "anyOf": [
                {"type": "string"},
                {"oneOf": [{"type": "integer"}, {"type": ["array", "null"], "items": {"type": "string"}}]},
            ]
        },
        {
            "anyOf": [
                {"type": "STRING"},
                {"type": "INTEGER"},
                {"type": "ARRAY", "items": {"type": "STRING"}, "nullable": True},
            ]
        },
    ),
    (
        {"type": "string", "anyOf": [{"pattern": "^a"}, {"enum": ["b"]}]},
        {"anyOf": [{"type": "STRING", "pattern": "^a"}, {"type": "STRING", "enum": ["b"]}]},
    ),
    (
        {
            "type": "object",
            "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
            "propertyOrdering": ["b", "a"],
        },
        {
            "type": "OBJECT",
            "properties": {"a": {"type": "STRING"}, "b": {"type": "STRING"}},
            "propertyOrdering": ["b", "a"],
        },
    ),
]


@pytest.mark.parametrize(("schema", "expected"), KEPT, ids=[json.dumps(schema)[:60] for schema, _ in KEPT])
def test_words_that_survive(schema: dict[str, Any], expected: dict[str, Any]) -> None:
    """What the subset can say is said in its own words."""
    assert converted(schema) == expected


LOSSES = [
    ({"type": "object", "additionalProperties": False}, {"type": "OBJECT"}, "additionalProperties"),
    ({"type": "integer", "exclusiveMinimum": 0}, {"type": "INTEGER"}, "exclusiveMinimum"),
    ({"type": "integer", "enum": [1, 2]}, {"type": "INTEGER"}, "enum"),
    ({"const": 5}, {"type": "INTEGER"}, "enum"),
    ({"const": True}, {"type": "BOOLEAN"}, "enum"),
    ({"enum": [1, 2.5]}, {"type": "NUMBER"}, "enum"),
    ({"type": "string", "enum": ["", "a"]}, {"type": "STRING", "enum": ["a"]}, "enum"),
    ({"type": "string", "format": "email"}, {"type": "STRING"}, "format"),
    ({"type": "string", "if": {}, "then": {}}, {"type": "STRING"}, "if"),
    ({"type": "string", "not": {"const": "a"}}, {"type": "STRING"}, "not"),
    ({"type": "string", "default": ["x"]}, {"type": "STRING"}, "default"),
    ({"type": "dict"}, {"type": "STRING"}, "type"),
    ({}, {"type": "STRING"}, "untyped"),
    (True, {"type": "STRING"}, "untyped"),
    (False, {"type": "STRING"}, "false"),
    ("string", {"type": "STRING"}, "malformed"),
    ({"type": "array"}, {"type": "ARRAY", "items": {"type": "STRING"}}, "items"),
    (
        {"type": "array", "uniqueItems": True, "items": {"type": "string"}},
        {"type": "ARRAY", "items": {"type": "STRING"}},
        "uniqueItems",
    ),
    (
        {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]},
        {"type": "ARRAY", "items": {"anyOf": [{"type": "STRING"}, {"type": "INTEGER"}]}},
        "prefixItems",
    ),
    ({"type": "object", "required": ["ghost"]}, {"type": "OBJECT"}, "required"),
    (
        {"type": "object", "properties": {"a": {"type": "string"}}, "anyOf": [{"required": ["a"]}]},
        {"type": "OBJECT", "properties": {"a": {"type": "STRING"}}},
        "anyOf",
    ),
    (
        {
            "allOf": [
                {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
                {"properties": {"b": {"type": "integer"}}},
            ]
        },
        {"type": "OBJECT", "properties": {"a": {"type": "STRING"}, "b": {"type": "INTEGER"}}, "required": ["a"]},
        "allOf",
    ),
    ({"$ref": "https://x.test/schema.json"}, {"type": "OBJECT"}, "$ref"),
    ({"$ref": "#/$defs/ghost"}, {"type": "OBJECT"}, "$ref"),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "expected", "word"), LOSSES, ids=[word for _, _, word in LOSSES])
def test_words_that_are_lost_are_named(schema: dict[str, Any], expected: dict[str, Any], word: str) -> None:
    """What the subset cannot say is left out of what is sent, and its word is reported."""
    assert converted(schema) == expected
    assert word in lost(schema)


def test_nothing_is_lost_in_a_plain_schema() -> None:
    """A schema within the subset is reported as whole, annotations and definitions notwithstanding."""
    root = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": {"n": {"type": "number"}}}
    assert lost({"$ref": "#/$defs/n", "description": "d"}, additionalProperties=True, **root) == ()


def test_references_are_replaced() -> None:
    """A local reference becomes what it points to, also through escapes, and words beside it win."""
    definitions = {"a/b": {"type": "string", "description": "far"}, "c": {"$ref": "#/$defs/a~1b"}}
    assert converted({"$ref": "#/$defs/c", "description": "near"}, **{"$defs": definitions}) == {
        "type": "STRING",
        "description": "near",
    }


def test_a_reference_inside_itself_is_cut() -> None:
    """A recursive schema is unrolled once and then cut, and the cut is reported."""
    node = {"type": "object", "properties": {"name": {"type": "string"}, "next": {"$ref": "#/$defs/node"}}}
    assert converted({"$ref": "#/$defs/node"}, **{"$defs": {"node": node}}) == {
        "type": "OBJECT",
        "properties": {"name": {"type": "STRING"}, "next": {"type": "OBJECT"}},
    }
    assert lost({"$ref": "#/$defs/node"}, **{"$defs": {"node": node}}) == ("$ref",)


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
    "heavy leaf": definitions(
        12,
        lambda ref: {"type": "object", "properties": {"l": ref, "r": ref}},
        {"type": "string", "description": "x" * 50_000, "enum": ["y" * 500] * 500},
    ),
    "wide": {"d0": {"type": "object", "properties": {f"p{number}": {"type": "string"} for number in range(50_000)}}},
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_bombs_do_not_go_off(bomb: str) -> None:
    """Schemas that unroll without end or double at each step cost few calls and little memory."""
    schema = {"type": "object", "properties": {"p": {"$ref": "#/$defs/d0"}}, "$defs": BOMBS[bomb]}
    with at_most_calls(50 * MAX_COST):
        result = gemini_schema(schema)
    assert len(json.dumps(result.schema)) < 200 * MAX_COST
    assert result.lost


def test_depth_is_capped() -> None:
    """A schema nested deeper than any tool needs is cut at the cap, not at the interpreter's."""
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(5 * MAX_DEPTH):
        schema = {"type": "object", "properties": {"p": schema}}
    result = gemini_schema(schema)
    assert json.dumps(result.schema).count("{") <= 2 * MAX_DEPTH + 4
    assert result.lost == ("depth",)


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
    for node in nodes(gemini_schema(schema).schema):
        assert node.keys() <= ALLOWED
        assert "type" in node or node.keys() == {"anyOf"}
        assert node.get("type", "ANY").isupper()
        assert all(isinstance(word, str) and word for word in node.get("enum", ["x"]))
        assert set(node.get("required", [])) <= node.get("properties", {}).keys()
        assert node.get("type") != "ARRAY" or "items" in node
