"""Gemini's schemas are read as strictly as Gemini reads them, and mean what they say."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest
from questions import shipped_bodies

from vendor_verifier.features.simulate.question import BadQuestion
from vendor_verifier.features.simulate.wires.gemini import json_schema_of
from vendor_verifier.wire.gemini.schema import gemini_schema


def test_what_the_product_sends_is_accepted() -> None:
    """The product's conversion of every shipped tool is a schema that Gemini knows every word of."""
    schemas = [
        tool["function"].get("parameters") or {"type": "object"} for row in shipped_bodies() for tool in row["tools"]
    ]
    assert len(schemas) > 100
    for schema in schemas:
        assert isinstance(json_schema_of(gemini_schema(schema).schema), dict)


@pytest.mark.parametrize(
    ("schema", "valid", "invalid"),
    [
        ({"type": "STRING", "nullable": True, "enum": ["a"]}, ["a", None], ["b", 1]),
        ({"type": "ARRAY", "items": {"type": "INTEGER"}, "max_items": 1}, [[1], []], [["a"], [1, 2]]),
        ({"type": "OBJECT", "properties": {"a": {"type": "NUMBER"}}, "required": ["a"]}, [{"a": 1.5}], [{}, {"a": ""}]),
        ({"anyOf": [{"type": "STRING", "nullable": True}, {"type": "INTEGER"}]}, ["a", 1, None], [1.5, []]),
    ],
)
def test_schemas_mean_what_they_say(schema: dict[str, Any], valid: list[Any], invalid: list[Any]) -> None:
    """Types, null, enumerations and unions hold for values as Gemini documents them, in either spelling of a word."""
    assert all(jsonschema_rs.is_valid(json_schema_of(schema), value) for value in valid)
    assert not any(jsonschema_rs.is_valid(json_schema_of(schema), value) for value in invalid)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {"type": "OBJECT", "additionalProperties": False},
        {"$ref": "#/$defs/a"},
        {"type": "INTEGER", "enum": [1]},
        {"type": "STRING", "enum": [""]},
        {"type": "STRING", "format": "email"},
        {"type": "ARRAY"},
        {"type": "OBJECT", "properties": {}, "required": ["a"]},
        {"anyOf": [{"type": "STRING"}], "description": "x"},
        {"type": "OBJECT", "properties": {"a": {"oneOf": []}}},
        [],
    ],
)
def test_what_gemini_refuses_is_refused(schema: Any) -> None:
    """Words, types, formats and shapes outside the subset are a bad request."""
    with pytest.raises(BadQuestion):
        json_schema_of(schema)
