"""The values made for a schema are accepted by it."""

from __future__ import annotations

import json
import random
from pathlib import Path

import jsonschema_rs
import pytest

from vendor_verifier.features.simulate.schema_values import value_for
from vendor_verifier.resources import shipped

FILES = ("samples", "toolbench", "mcp_toolbench", "tool_correctness")
WORDS = "report north blue seven".split()


@pytest.mark.parametrize("name", FILES)
def test_values_fit_every_shipped_schema(name: str) -> None:
    """Of each tool, from three seeds."""
    rows = map(json.loads, Path(shipped(f"datasets/{name}.jsonl")).read_text("utf-8").splitlines())
    for tool in (tool["function"] for row in rows for tool in row["tools"]):
        schema = {"type": "object", **tool.get("parameters", {})}
        for seed in range(3):
            value = value_for(schema, schema, random.Random(seed), WORDS)
            jsonschema_rs.validate(schema, value)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "integer", "exclusiveMinimum": 3, "maximum": 4},
        {"type": "number", "multipleOf": 0.25, "minimum": 0.1, "exclusiveMaximum": 0.5},
        {"type": ["null", "integer"], "maximum": -5},
        {"type": "array", "items": {"enum": [1, 2, 3]}, "minItems": 2, "uniqueItems": True},
        {"type": "string", "minLength": 40, "maxLength": 41},
        {"allOf": [{"type": "object", "properties": {"a": {"const": 7}}}, {"required": ["a"]}]},
        {"$defs": {"tree": {"anyOf": [{"$ref": "#/$defs/tree"}, {"type": "null"}]}}, "$ref": "#/$defs/tree"},
        {"type": "string", "pattern": "^[A-Z]{3}$"},
    ],
)
def test_values_fit_the_keywords(schema: dict[str, object]) -> None:
    for seed in range(20):
        jsonschema_rs.validate(schema, value_for(schema, schema, random.Random(seed), WORDS))
