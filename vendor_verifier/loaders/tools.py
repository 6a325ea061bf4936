"""Tools in their many spellings, read as chat completions declares them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vendor_verifier.loaders.base import kind_of

Tool = Mapping[str, Any]
_SCHEMA_KEYS = ("parameters", "input_schema", "inputSchema", "arguments")
_SCHEMA_WORDS = frozenset({"type", "properties", "$ref", "$schema", "anyOf", "oneOf", "allOf", "additionalProperties"})


def read_tool(item: object) -> tuple[Tool | None, str | None]:
    """One tool as chat completions declares it, None if there is none, and what is wrong with it.

    Read are chat-completions tools, objects with ``parameters``, ``input_schema`` or ``inputSchema`` (a schema, or a
    mapping of properties), and bare names.
    """
    if isinstance(item, str) and item:
        return _declared(item, None, {}), None
    if not isinstance(item, dict):
        return None, f"is not an object but {kind_of(item)}; it is left out"
    inner = item.get("function")
    body = inner if isinstance(inner, dict) else item
    name = body.get("name")
    if not isinstance(name, str) or not name:
        return None, "has no name; it is left out"
    spelled = next((body[key] for key in _SCHEMA_KEYS if body.get(key) is not None), None)
    schema = {} if spelled is None else _schema(spelled)
    if schema is None:
        return _declared(name, body.get("description"), {}), f"has {kind_of(spelled)} for a schema; it takes anything"
    if body is inner and spelled is body.get("parameters") is schema:
        return item, None
    return _declared(name, body.get("description"), schema), None


def _schema(spelled: object) -> Mapping[str, Any] | None:
    """A schema as it is, or one made of a mapping of properties."""
    if not isinstance(spelled, dict):
        return None
    if not spelled or isinstance(spelled.get("type"), (str, list)) or (_SCHEMA_WORDS - {"type"}) & spelled.keys():
        return spelled
    if all(isinstance(value, dict) for value in spelled.values()):
        return {"type": "object", "properties": spelled}
    return spelled


def _declared(name: str, description: object, schema: Mapping[str, Any]) -> Tool:
    function: dict[str, Any] = {"name": name}
    if isinstance(description, str) and description:
        function["description"] = description
    if schema:
        function["parameters"] = schema
    return {"type": "function", "function": function}
