"""Queries of OpenBMB's ToolBench (``G1_query.json`` …) and of its ``benchmark`` re-uploads; it downloads nothing.

A row names the APIs that are relevant, without arguments and in no order. So the expected calls are bare names, in the
row's order: good for Tool Correctness, while ToolBench's exact sequence asks more of a model than the row knows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from vendor_verifier.loaders.base import Question, kind_of
from vendor_verifier.loaders.building import UnusableRequest
from vendor_verifier.loaders.tool_rows import (
    NormalCall,
    Tool,
    declared_tools,
    normal_calls,
    question_of,
    read_query,
    row_tags,
    unpacked,
)
from vendor_verifier.wire.payload import as_dict, as_list

LABEL = "function_call_label"


def recognises(row: Mapping[str, Any]) -> bool:
    """A row with its label."""
    return LABEL in row


def read_row(row: Mapping[str, Any]) -> Question:
    """The question of a row.

    Raises:
        UnusableRequest: no query, no tools anywhere, or a label that is no list of calls.
    """
    query = read_query(row)
    tools, defects = _tools(row)
    label = unpacked(row[LABEL], LABEL) if isinstance(row.get(LABEL), str) else row.get(LABEL)
    calls = [_without_placeholder(call) for call in normal_calls(label, LABEL)]
    steps = label if isinstance(label, list) else [label]
    servers = sorted({str(step["mcp_server"]) for step in map(as_dict, steps) if step.get("mcp_server")})
    tags = row_tags(row, id_key="uuid" if "uuid" in row else "id")
    if row.get("call_type") is not None:
        tags["call_type"] = row["call_type"]
    if servers:
        tags["mcp_servers"] = servers
    similar = [_similar(step) for step in steps] if len(steps) == len(calls) else ()
    return question_of(query, tools, calls, tags, similar=similar, defects=defects)


def _tools(row: Mapping[str, Any]) -> tuple[list[Tool], list[str]]:
    """The definitions, which stand in ``tools`` or in ``mcp_tools_dict``; bare names if they stand in neither."""
    listed, by_server = row.get("tools"), row.get("mcp_tools_dict")
    if isinstance(listed, str) and listed.strip():
        listed = unpacked(listed, "tools")
    if isinstance(by_server, str) and by_server.strip():
        by_server = unpacked(by_server, "mcp_tools_dict")
    if _has_definitions(listed) or not by_server:
        return declared_tools(listed)
    if _has_definitions(by_server) or not listed:
        return declared_tools(by_server, "mcp_tools_dict")
    return declared_tools(listed)


def _has_definitions(value: object) -> bool:
    members: Sequence[object] = list(value.values()) if isinstance(value, dict) else as_list(value)
    return any(isinstance(member, dict) or _has_definitions(member) for member in members if member != value)


def _without_placeholder(call: NormalCall) -> NormalCall:
    if isinstance(call, str):
        return call
    output = call.get("output")
    empty = isinstance(output, dict) and not output.get("result") and output.keys() <= {"status_code", "result"}
    return {key: value for key, value in call.items() if key != "output"} if empty else call


def _similar(step: object) -> list[str]:
    similar = as_dict(step).get("similar_tools")
    if similar is not None and not isinstance(similar, list):
        raise UnusableRequest("expected an array of tools under similar_tools", LABEL)
    names = [tool if isinstance(tool, str) else as_dict(tool).get("name") for tool in similar or ()]
    return [name for name in names if isinstance(name, str) and name]


RELEVANT_KEYS = ("relevant APIs", "relevant_apis")
_MAX_NAME = 64
_NOT_A_NAME = re.compile(r"[^a-z0-9_]+")
_TYPES = {
    "number": "number", "float": "number", "integer": "integer", "int": "integer", "boolean": "boolean",
    "bool": "boolean", "object": "object", "array": "array", "list": "array",
}  # fmt: skip
_Api = tuple[str, str]


def recognises_openbmb(row: Mapping[str, Any]) -> bool:
    """A query with its APIs."""
    return "api_list" in row and any(key in row for key in RELEVANT_KEYS)


def read_openbmb_row(row: Mapping[str, Any]) -> Question:
    """The question of a row; both lists may be JSON text.

    Raises:
        UnusableRequest: no query, an API without names, or relevant APIs that are no list of (tool, API).
    """
    query = read_query(row)
    apis = unpacked(row.get("api_list"), "api_list")
    if not isinstance(apis, list):
        raise UnusableRequest(f"expected an array of APIs, read {kind_of(apis)}", "api_list")
    names: dict[_Api, str] = {}
    tools: list[Tool] = []
    for position, item in enumerate(apis, 1):
        api = _api(item, position)
        if api not in names:
            names[api] = _free_name(function_name(*api), set(names.values()))
            tools.append(_declared(names[api], item))
    calls = [names.get(api, function_name(*api)) for api in _relevant(row)]
    tags = row_tags(row, id_key="query_id" if "query_id" in row else "id")
    categories = [as_dict(item).get("category_name") for item in apis]
    if "category" not in tags and any(isinstance(name, str) for name in categories):
        tags["category"] = ", ".join(dict.fromkeys(name for name in categories if isinstance(name, str)))
    return question_of(query, tools, calls, tags, defects=() if tools else ("no tool is offered",))


def function_name(tool: str, api: str) -> str:
    """The name under which the API is offered, ``<api>_for_<tool>``, its end kept if it is too long."""
    name = "_for_".join(_NOT_A_NAME.sub("_", part.lower()).strip("_") or "unnamed" for part in (api, tool))
    return name[-_MAX_NAME:].lstrip("_")


def _free_name(name: str, taken: set[str]) -> str:
    """Two APIs that differ only in characters a name cannot have are told apart by number."""
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name[: _MAX_NAME - 8]}_{number}"
    return free


def _api(item: object, position: int) -> _Api:
    key = f"api_list[{position}]"
    if not isinstance(item, dict):
        raise UnusableRequest(f"expected an object, read {kind_of(item)}", key)
    tool, api = item.get("tool_name"), item.get("api_name")
    if not (isinstance(tool, str) and tool and isinstance(api, str) and api):
        raise UnusableRequest("expected texts as tool_name and api_name", key)
    return tool, api


def _relevant(row: Mapping[str, Any]) -> list[_Api]:
    key = next((key for key in RELEVANT_KEYS if row.get(key) is not None), RELEVANT_KEYS[0])
    relevant = unpacked(row.get(key), key)
    if not isinstance(relevant, list):
        raise UnusableRequest(f"expected an array of [tool, API], read {kind_of(relevant)}", key)
    pairs: list[_Api] = []
    for position, item in enumerate(relevant, 1):
        if isinstance(item, dict):
            item = [item.get("tool_name"), item.get("api_name")]
        if not (isinstance(item, list) and len(item) == 2 and all(isinstance(name, str) for name in item)):
            raise UnusableRequest("expected [tool, API], two texts", f"{key}[{position}]")
        pairs.append((item[0], item[1]))
    return pairs


def _declared(name: str, item: Mapping[str, Any]) -> Tool:
    properties: dict[str, Any] = {}
    required: list[str] = []
    for group in ("required_parameters", "optional_parameters"):
        for parameter in map(as_dict, as_list(item.get(group))):
            key = parameter.get("name")
            if not isinstance(key, str) or not key or key in properties:
                continue
            properties[key] = _property(parameter)
            if group.startswith("required"):
                required.append(key)
    about = item.get("api_description")
    described = {"description": about} if isinstance(about, str) and about else {}
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    return {"type": "function", "function": {"name": name, **described, "parameters": schema}}


def _property(parameter: Mapping[str, Any]) -> dict[str, Any]:
    """RapidAPI's types are many (``STRING``, ``DATE``, ``ENUM`` …); what JSON does not know is text."""
    found = {"type": _TYPES.get(str(parameter.get("type")).lower(), "string")}
    words = [parameter["description"]] if isinstance(parameter.get("description"), str) else []
    if (example := parameter.get("default")) not in (None, ""):
        words.append(f"(example: {example})")
    text = " ".join(word for word in words if word).strip()
    return {**found, "description": text} if text else found
