"""Rows of MCPToolBench++ (``query``, its tools, ``function_call_label``); it downloads nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vendor_verifier.loaders.base import Loader, Question
from vendor_verifier.loaders.building import UnusableRequest, unpacked
from vendor_verifier.loaders.tool_rows import (
    NormalCall,
    Tool,
    declared_tools,
    normal_calls,
    question_of,
    read_query,
    row_tags,
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


FORMATS = (Loader("mcp_toolbench_pp", read_row, recognises, "query, function_call_label"),)
