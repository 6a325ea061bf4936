"""Values made from schemas satisfy them."""

from __future__ import annotations

import json
import random
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from questions import CLOCK, WEATHER, shipped_bodies

from vendor_verifier.features.simulate.schema_values import satisfying_value

WORDS = ["harbour", "north", "seven"]


def _is_valid(schema: Any, value: Any) -> bool:
    return bool(jsonschema_rs.is_valid(schema, value, validate_formats=True))


def _bounded(low: str, high: str, top: int) -> st.SearchStrategy[dict[str, Any]]:
    pair = st.tuples(st.integers(0, top), st.integers(0, top)).map(sorted)
    return st.one_of(st.just({}), pair.map(lambda limits: {low: limits[0], high: limits[1]}))


_SCALARS = st.one_of(
    st.builds(lambda limits: {"type": "integer", **limits}, _bounded("minimum", "maximum", 1000)),
    st.builds(lambda limits: {"type": "number", **limits}, _bounded("minimum", "maximum", 50)),
    st.builds(lambda low, wide: {"type": "number", "exclusiveMinimum": low, "exclusiveMaximum": low + wide},
              st.integers(-5, 5), st.sampled_from([0.01, 0.5, 1, 3])),
    st.builds(lambda step: {"type": "number", "multipleOf": step, "minimum": 0.3}, st.sampled_from([0.1, 0.25, 3])),
    st.builds(lambda limits: {"type": "string", **limits}, _bounded("minLength", "maxLength", 60)),
    st.sampled_from(["^[A-Z]{3}-\\d+$", "^(a|b)+$"]).map(lambda pattern: {"type": "string", "pattern": pattern}),
    st.sampled_from(["date", "date-time", "email", "uuid", "uri", "ipv4", "ipv6", "time", "hostname"]).map(
        lambda name: {"type": "string", "format": name}
    ),
    st.lists(st.one_of(st.integers(), st.text(max_size=5), st.none()), min_size=1, max_size=4).map(
        lambda options: {"enum": options}
    ),
    st.text(max_size=5).map(lambda value: {"const": value}),
    st.sampled_from([{"type": "boolean"}, {"type": "null"}, {}, {"type": ["string", "null"]}]),
)  # fmt: skip


def _object(properties: dict[str, Any], needed: int, closed: bool) -> dict[str, Any]:
    names = list(properties)
    schema = {"type": "object", "properties": properties, "required": names[: needed % (len(names) + 1)]}
    return {**schema, "additionalProperties": False} if closed else schema


def _array(items: dict[str, Any], limits: dict[str, int]) -> dict[str, Any]:
    return {"type": "array", "items": items, **limits}


def _containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    named = st.dictionaries(st.text(min_size=1, max_size=6), inner, max_size=4)
    return st.one_of(
        st.builds(_object, named, st.integers(0, 9), st.booleans()),
        st.builds(_array, inner, _bounded("minItems", "maxItems", 4)),
        st.lists(inner, min_size=1, max_size=3).map(lambda branches: {"anyOf": branches}),
        st.lists(inner, min_size=1, max_size=3).map(lambda first: {"type": "array", "prefixItems": first}),
        inner.map(lambda one: {"allOf": [one]}),
        st.builds(lambda one, name: {"$defs": {name: one}, "$ref": f"#/$defs/{name}"}, inner, st.sampled_from("ab")),
    )  # fmt: skip


# Nested ``$defs`` would be looked for at the root, so a reference is only wrapped around the outside.
SATISFIABLE = st.recursive(_SCALARS, _containers, max_leaves=12).filter(
    lambda schema: (
        '"$defs"' not in json.dumps({k: v for k, v in schema.items() if k != "$defs"})
        and '"$defs"' not in json.dumps(schema.get("$defs", {}))
    )
)


@settings(max_examples=300)
@given(SATISFIABLE, st.integers(0, 2**32))
def test_a_satisfiable_schema_is_satisfied(schema: dict[str, Any], seed: int) -> None:
    """Whatever a schema asks for in the keywords tools use, the value made for it is valid."""
    value = satisfying_value(schema, random.Random(seed), WORDS)
    assert _is_valid(schema, value), value


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
_KEYWORDS = (
    "type", "enum", "const", "$ref", "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "properties", "required",
    "additionalProperties", "minProperties", "maxProperties", "patternProperties", "propertyNames",
    "dependentRequired", "items", "prefixItems", "contains", "minItems", "maxItems", "uniqueItems", "minLength",
    "maxLength", "pattern", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
    "examples", "dependencies", "additionalItems",
)  # fmt: skip


@given(st.dictionaries(st.sampled_from(_KEYWORDS), _JSON, max_size=6), st.integers(0, 999))
def test_nonsense_as_a_schema_gives_some_json_value(schema: dict[str, Any], seed: int) -> None:
    """Keywords with values they must not have are survived, and what is made can be written as JSON."""
    json.dumps(satisfying_value(schema, random.Random(seed), WORDS))


TREE = {
    "type": "object",
    "properties": {"op": {"enum": ["and", "or"]}, "parts": {"type": "array", "items": {"$ref": "#"}, "minItems": 1}},
    "required": ["op"],
}
FILTER = {
    "$defs": {
        "leaf": {"type": "object", "properties": {"field": {"type": "string"}}, "required": ["field"],
                 "additionalProperties": False},
        "all": {"type": "object", "properties": {"all": {"type": "array", "items": {"$ref": "#/$defs/filter"}}},
                "required": ["all"], "additionalProperties": False},
        "filter": {"oneOf": [{"$ref": "#/$defs/leaf"}, {"$ref": "#/$defs/all"}]},
    },
    "$ref": "#/$defs/filter",
}  # fmt: skip
CONDITIONAL = {
    "type": "object",
    "properties": {"kind": {"enum": ["card", "cash"]}, "number": {"type": "string", "pattern": "^\\d{12}$"}},
    "required": ["kind"],
    "if": {"properties": {"kind": {"const": "card"}}},
    "then": {"required": ["number"]},
    "dependentRequired": {"number": ["kind"]},
}
MAP = {"type": "object", "patternProperties": {"^[a-z]{2}$": {"type": "integer"}}, "minProperties": 3,
       "additionalProperties": False}  # fmt: skip


@pytest.mark.parametrize("schema", [TREE, FILTER, CONDITIONAL, MAP])
def test_recursion_conditions_and_maps(schema: dict[str, Any]) -> None:
    """Recursive, conditional and map-like schemas are satisfied for every one of a hundred seeds."""
    for seed in range(100):
        value = satisfying_value(schema, random.Random(seed), WORDS)
        assert _is_valid(schema, value), value


def test_an_endless_schema_ends() -> None:
    """A schema that cannot be satisfied by any finite value still gets an answer."""
    endless = {
        "type": "object",
        "properties": {"next": {"$ref": "#"}, "also": {"$ref": "#"}},
        "required": ["next", "also"],
    }
    assert "next" in satisfying_value(endless, random.Random(0), WORDS)
    assert satisfying_value({"$ref": "#"}, random.Random(0), WORDS) is not None


def test_remote_references_are_not_fetched() -> None:
    """A reference to an address is answered as if it said nothing."""
    assert satisfying_value({"$ref": "http://127.0.0.1:9/schema.json"}, random.Random(0), WORDS)


def test_arguments_for_every_shipped_tool_are_valid() -> None:
    """For every tool of the shipped samples (or two of our own) at least 98 % of the values made are valid."""
    tools = [tool for row in shipped_bodies() for tool in row.get("tools", [])] or [WEATHER, CLOCK]
    schemas = {json.dumps(tool["function"].get("parameters") or {}) for tool in tools}
    verdicts = [
        _is_valid(
            json.loads(text), satisfying_value({"type": "object", **json.loads(text)}, random.Random(seed), WORDS)
        )
        for text in sorted(schemas)
        for seed in range(5)
    ]
    assert sum(verdicts) / len(verdicts) >= 0.98
