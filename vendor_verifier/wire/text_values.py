"""Reads argument values that a model wrote without quotes; what the tool declares decides between text and JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from vendor_verifier.wire.payload import PayloadError, as_dict, as_list, as_text, parse_json

DeclaredValues = Mapping[str, Mapping[str, Any]]
"""Tool name → parameter name → declared schema."""


def declared_values(tools: Iterable[Mapping[str, Any]]) -> DeclaredValues:
    """The parameters of each tool; of a name declared twice the first counts."""
    found: dict[str, Mapping[str, Any]] = {}
    for tool in tools:
        function = as_dict(tool.get("function")) or tool
        name = as_text(function.get("name"))
        if name:
            found.setdefault(name, as_dict(as_dict(function.get("parameters")).get("properties")))
    return found


def read_value(text: str, schema: object, is_text: bool | None = None) -> Any:
    """The value ``text`` stands for. ``is_text`` is what the model itself said about it, where its family can.

    A declared string stays text; anything else, undeclared values included, is JSON if it reads as JSON.
    """
    if is_text if is_text is not None else _is_text(schema, text):
        return text
    try:
        return parse_json(text)
    except PayloadError:
        return text


def _is_text(schema: object, text: str) -> bool:
    declared = as_dict(schema).get("type")
    types = declared if isinstance(declared, list) else [declared]
    if "string" in types:
        return not (text.strip() == "null" and "null" in types)
    choices = as_list(as_dict(schema).get("enum"))
    return bool(choices) and all(isinstance(choice, str) for choice in choices)
