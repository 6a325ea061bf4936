"""Schemas in the dialects of those who describe tools are read as they mean them; strict keeps to what is written."""

from __future__ import annotations

import json
from typing import Any

import jsonschema_rs
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.records.event import ToolCall
from vendor_verifier.scoring.calls import valid_calls
from vendor_verifier.suites.schema import ArgumentChecker, dialect_notice, standard_schema


def checker(schema: Any) -> ArgumentChecker:
    return ArgumentChecker([{"type": "function", "function": {"name": "t", "parameters": schema}}])


def verdict(schema: Any, value: Any) -> str:
    """The class of ``{"a": value}`` where ``a`` has this schema."""
    judged = checker({"type": "object", "properties": {"a": schema}}).check(ToolCall("t", json.dumps({"a": value})))
    return judged.verdict


NUMBER_NAMES = [name for word in ("number", "float", "double") for name in (word, word.upper(), word.title())]


@pytest.mark.parametrize(
    ("schema", "fits", "breaks"),
    [
        ({"type": "string", "nullable": True}, None, 3),
        ({"type": "string", "enum": ["x"], "nullable": True}, None, "y"),
        ({"type": ["string", "integer"], "nullable": True}, None, 1.5),
        ({"allOf": [{"type": "string"}], "nullable": True}, None, 3),
        ({"oneOf": [{"type": "string"}, {"type": "null"}], "nullable": True}, None, 3),
        ({"oneOf": [{"type": "string"}, {"type": "integer"}], "nullable": True}, None, 1.5),
        ({"const": "x", "nullable": True}, None, "y"),
        ({"type": "object", "properties": {"b": {"type": "string", "nullable": True}}}, {"b": None}, {"b": 1}),
        ({"type": "array", "items": {"type": "string", "nullable": True}}, ["x", None], [1]),
        *(({"type": name}, 1.5, "x") for name in NUMBER_NAMES if name != "number"),
        *(({"type": name}, {"b": 1}, "x") for name in ("dict", "Dict", "OBJECT", "Object", "HashMap")),
        *(({"type": name}, [1], "x") for name in ("tuple", "list", "ARRAY", "ArrayList")),
        *(({"type": name}, "x", 1) for name in ("str", "STRING", "String")),
        *(({"type": name}, 1, 1.5) for name in ("int", "INTEGER", "long")),
        *(({"type": name}, True, "x") for name in ("bool", "BOOLEAN")),
        ({"type": ["STRING", "NULL"]}, None, 1),
        ({"type": "integer", "minimum": 1, "exclusiveMinimum": True}, 2, 1),
        ({"type": "integer", "minimum": 1, "exclusiveMinimum": False}, 1, 0),
        ({"type": "integer", "maximum": 9, "exclusiveMaximum": True}, 8, 9),
        ({"type": "array", "items": [{"type": "string"}, {"type": "integer"}]}, ["x", 1], ["x", "y"]),
        ({"type": "array", "items": [{"type": "string"}], "additionalItems": False}, ["x"], ["x", 1]),
    ],
)
def test_a_dialect_is_read_as_its_users_mean_it(schema: Any, fits: Any, breaks: Any) -> None:
    """What the author meant to allow is allowed, and what they meant to forbid is charged, wherever it stands."""
    assert verdict(schema, fits) in ("valid_in_dialect", "valid")
    assert verdict(schema, breaks) == "schema_mismatch"


@pytest.mark.parametrize("name", ["any", "ANY", "Any"])
def test_any_is_any_type(name: str) -> None:
    """A parameter of type any takes everything."""
    assert {verdict({"type": name}, value) for value in (1, "x", None, [1], {"b": 2})} == {"valid_in_dialect"}


def test_a_reference_beside_nullable_may_be_null() -> None:
    """Where nullable stands beside a reference the value is what it points to, or null."""
    schema = {"$defs": {"n": {"type": "string"}}, "properties": {"a": {"$ref": "#/$defs/n", "nullable": True}}}
    found = [checker(schema).check(ToolCall("t", text)).verdict for text in ('{"a": null}', '{"a": "x"}', '{"a": 1}')]
    assert found == ["valid_in_dialect", "valid", "schema_mismatch"]


def test_names_and_values_are_no_words_of_a_dialect() -> None:
    """A parameter that is called nullable or type, and a value that says so, are left alone."""
    schema = {"properties": {"nullable": {"type": "boolean"}, "type": {"const": {"type": "dict", "nullable": True}}}}
    assert standard_schema(schema) == (schema, ())
    assert standard_schema(schema)[0] is schema


@pytest.mark.parametrize(
    "draft", ["http://json-schema.org/draft-04/schema#", "http://json-schema.org/draft-07/schema#"]
)
def test_a_schema_that_names_its_draft_is_taken_at_its_word(draft: str) -> None:
    """Draft 7's tuples and draft 4's bounds are judged by these drafts."""
    schema = {"$schema": draft, "properties": {"a": {"items": [{"type": "string"}]}}}
    assert checker(schema).check(ToolCall("t", '{"a": ["x"]}')).verdict == "valid"
    assert checker(schema).check(ToolCall("t", '{"a": [1]}')).verdict == "schema_mismatch"


def test_strict_keeps_to_the_letter() -> None:
    """Under strict a call that fits only the dialect is charged, as it always was; under lenient it is valid."""
    found = verdict({"type": "string", "nullable": True}, None)
    classes = pd.Series([found], dtype="category")
    assert [valid_calls(classes, policy).sum() for policy in ("lenient", "strict")] == [1, 0]


def test_a_refusal_of_such_a_schema_is_the_data_sets_doing() -> None:
    """A vendor that takes JSON Schema at its word may refuse what is none; a data set says so once."""
    assert checker({"type": "dict"}).may_be_refused
    schemas = ({"type": "dict"}, {"properties": {"a": {"type": "string", "nullable": True}}}, {"type": "object"})
    assert [checker(schema).defects for schema in schemas] == [(), (), ()]
    (notice,) = dialect_notice([checker(schema).dialect for schema in schemas])
    assert notice.startswith("2 samples with schemas in a dialect of JSON Schema (nullable, type dict)")
    assert list(dialect_notice([()])) == []


_WORDS = st.sampled_from(["string", "integer", "object", "array", "null", "STRING", "dict", "any", "tuple", "wizard"])
_SCHEMAS: st.SearchStrategy[Any] = st.recursive(
    st.fixed_dictionaries({}, optional={"type": _WORDS | st.lists(_WORDS, max_size=2), "nullable": st.booleans()}),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "type": _WORDS, "nullable": st.booleans(), "items": inner | st.lists(inner, max_size=2),
            "properties": st.dictionaries(st.sampled_from("ab"), inner),
            "anyOf": st.lists(inner, min_size=1, max_size=2),
            "minimum": st.integers(0, 3), "exclusiveMinimum": st.booleans() | st.integers(0, 3),
            "required": st.booleans() | st.lists(st.sampled_from("ab"), unique=True), "enum": st.lists(st.integers()),
        },
    ),
    max_leaves=5,
)  # fmt: skip
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 4) | st.sampled_from(["", "x"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=4,
)


@given(schema=_SCHEMAS, value=_VALUES)
def test_reading_a_dialect_only_ever_allows_more(schema: Any, value: Any) -> None:
    """Arguments that fit a usable schema by its letter fit it as it is read; reading twice changes nothing more."""
    read, words = standard_schema(schema)
    assert standard_schema(read)[0] == read or not words
    try:
        plain = jsonschema_rs.validator_for(schema)
    except (jsonschema_rs.ValidationError, ValueError):
        return
    if plain.is_valid(value):
        assert jsonschema_rs.validator_for(read).is_valid(value)
