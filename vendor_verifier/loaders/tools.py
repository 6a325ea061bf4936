"""Tools in their many spellings, read as chat completions declares them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vendor_verifier.loaders.base import UnusableRequest, kind_of, shortened, unpacked

Tool = Mapping[str, Any]
_SCHEMA_KEYS = ("parameters", "input_schema", "inputSchema", "arguments")
_SCHEMA_WORDS = frozenset({"properties", "$ref", "$schema", "anyOf", "oneOf", "allOf", "additionalProperties"})


def declared_tools(value: object, key: str = "tools") -> tuple[list[Tool], list[str]]:
    """Tools as chat completions declares them, and what is wrong with them.

    They are an array of what :func:`read_tool` reads, or an object with such arrays under the names of servers.

    Raises:
        UnusableRequest: it is neither.
    """
    value = unpacked(value, key) if value else value
    if isinstance(value, dict):
        value = [tool for server in value.values() for tool in (server if isinstance(server, list) else [server])]
    if not isinstance(value, list):
        raise UnusableRequest(f"expected an array of tools, read {kind_of(value)}", key)
    tools: list[Tool] = []
    defects: list[str] = []
    names: set[str] = set()
    for position, item in enumerate(value, 1):
        tool, defect = read_tool(item)
        if defect:
            defects.append(f"tool {position} {defect}")
        if tool is None:
            continue
        tools.append(tool)
        name = tool["function"]["name"]
        if name in names:
            defects.append(f"tool {shortened(name)} is declared twice; the first definition counts")
        names.add(name)
    return tools, defects if tools else [*defects, "no tool is offered"]


def read_tool(item: object) -> tuple[Tool | None, str | None]:
    """One tool as chat completions declares it, None if there is none, and what is wrong with it.

    Read are chat-completions tools, objects with ``parameters``, ``input_schema`` or ``inputSchema`` (a schema, or a
    mapping of properties), and bare names.
    """
    if isinstance(item, str) and item:
        return declared(item), None
    if not isinstance(item, dict):
        return None, f"is not an object but {kind_of(item)}; it is left out"
    inner = item.get("function")
    body = inner if isinstance(inner, dict) else item
    name = body.get("name")
    if not isinstance(name, str) or not name:
        return None, "has no name; it is left out"
    about = body.get("description")
    schema: Any = next((body[key] for key in _SCHEMA_KEYS if body.get(key) is not None), {})
    if not isinstance(schema, dict):
        return declared(name, about), f"has {kind_of(schema)} for a schema; it takes anything"
    is_schema = isinstance(schema.get("type"), (str, list)) or _SCHEMA_WORDS & schema.keys()
    if schema and not is_schema and all(isinstance(each, dict) for each in schema.values()):
        schema = {"type": "object", "properties": schema}
    if body is inner and schema is body.get("parameters"):
        return item, None
    return declared(name, about, schema), None


def declared(name: str, description: object = None, schema: Mapping[str, Any] | None = None) -> Tool:
    """The declaration of a function; what is empty is left out."""
    function: dict[str, Any] = {"name": name}
    if isinstance(description, str) and description:
        function["description"] = description
    if schema:
        function["parameters"] = schema
    return {"type": "function", "function": function}
