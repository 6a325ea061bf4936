"""Gemini's OpenAPI subset, read as strictly as Gemini reads it and given as JSON Schema; it checks no value."""

from __future__ import annotations

import re
from typing import Any

from vendor_verifier.simulate.body import object_in
from vendor_verifier.simulate.question import BadQuestion
from vendor_verifier.wire.payload import as_dict, as_list

_TYPES = frozenset({"STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"})
_KEPT = (
    "title", "description", "default", "minItems", "maxItems", "minProperties", "maxProperties", "minLength",
    "maxLength", "pattern", "minimum", "maximum", "enum", "required",
)  # fmt: skip
_KNOWN = frozenset({
    *_KEPT, "type", "format", "nullable", "items", "properties", "propertyOrdering", "example", "anyOf",
})  # fmt: skip
_FORMATS = frozenset({"enum", "date-time", "float", "double", "int32", "int64"})


def fields(value: object, place: str) -> dict[str, Any]:
    """The fields of a message under their JSON names; Google's servers take the names with underscores as well.

    Raises:
        BadQuestion: ``value`` is no object; ``place`` says where it stood.
    """
    message = object_in(value, place)
    return {re.sub(r"_([a-z])", lambda found: found[1].upper(), name): item for name, item in message.items()}


def json_schema_of(schema: object, place: str = "parameters") -> dict[str, Any]:
    """The JSON Schema that says the same.

    Raises:
        BadQuestion: a word, type or format that Gemini's ``Schema`` does not know; ``place`` says where.
    """
    node = fields(schema, place)
    unknown = node.keys() - _KNOWN
    if unknown:
        raise BadQuestion(f"Unknown name \"{min(unknown)}\" at '{place}': Cannot find field.", place)
    if "anyOf" in node and node.keys() - {"anyOf", "nullable"}:
        raise BadQuestion(f"{place}: when using any_of, it must be the only field set.", place)
    found = {key: node[key] for key in _KEPT if key in node}
    kind = node.get("type")
    if "anyOf" in node:
        options = [json_schema_of(option, f"{place}.any_of[{n}]") for n, option in enumerate(as_list(node["anyOf"]))]
        found["anyOf"] = [*options, {"type": "null"}] if node.get("nullable") is True else options
        return found
    if kind not in _TYPES:
        raise BadQuestion(f"Invalid value at '{place}.type': {kind}", place)
    found["type"] = kind.lower()
    _check_values(node, kind, place)
    if isinstance(node.get("format"), str) and node["format"] == "date-time":
        found["format"] = "date-time"
    if kind == "ARRAY":
        found["items"] = json_schema_of(node.get("items"), f"{place}.items")
    if kind == "OBJECT":
        inner = as_dict(node.get("properties"))
        found["properties"] = {
            name: json_schema_of(rule, f"{place}.properties[{name}]") for name, rule in inner.items()
        }
        if set(as_list(node.get("required"))) - inner.keys():
            raise BadQuestion(f"{place}.required: property is not defined", place)
    if node.get("nullable") is True:
        found["type"] = [found["type"], "null"]
        if "enum" in found:
            found["enum"] = [*found["enum"], None]
    return found


def _check_values(node: dict[str, Any], kind: str, place: str) -> None:
    form = node.get("format")
    if form is not None and form not in _FORMATS:
        raise BadQuestion(f"{place}.format: only 'enum' and 'date-time' are supported for STRING type", place)
    values = as_list(node.get("enum"))
    if values and (kind != "STRING" or not all(isinstance(value, str) and value for value in values)):
        raise BadQuestion(f"{place}.enum: only non-empty strings of type STRING are allowed", place)
