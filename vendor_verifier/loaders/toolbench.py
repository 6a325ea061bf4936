"""Rows of ToolBench in its three published forms, and of MCPToolBench++; it downloads nothing.

- The evaluator's (``query``, ``tools``, ``ground_truth``): the calls as they are expected.
- OpenBMB's queries (``G1_query.json`` …) and their ``benchmark`` re-uploads: a row names the APIs that are relevant,
  without arguments and in no order. So the expected calls are bare names, in the row's order: good for Tool
  Correctness, while ToolBench's exact sequence asks more of a model than the row knows.
- Recorded conversations (the re-upload's config ``default``): the calls that the assistant made, with their results.
- MCPToolBench++ (``query``, its tools, ``function_call_label``).
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from vendor_verifier.loaders.base import Loader, Question, UnusableRequest, kind_of, shortened, unpacked
from vendor_verifier.loaders.tool_rows import (
    NormalCall,
    normal_calls,
    question_of,
    read_query,
    row_tags,
    tool_output,
)
from vendor_verifier.loaders.tools import Tool, declared_tools
from vendor_verifier.wire.payload import as_dict, as_list

LABEL = "function_call_label"


def recognises_mcp(row: Mapping[str, Any]) -> bool:
    """A row with its label."""
    return LABEL in row


def read_mcp_row(row: Mapping[str, Any]) -> Question:
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
KEY = "conversations"
_FINISH = "Finish"
_LIST_START = re.compile(r"APIs:\s*(?=\[)")
_MAX_LIST = 1_000_000
_Message = tuple[str, str]


def recognises(row: Mapping[str, Any]) -> bool:
    """A query with its ground truth."""
    return "query" in row and "ground_truth" in row


def read_row(row: Mapping[str, Any]) -> Question:
    """The question of a row; lists may be JSON text.

    Raises:
        UnusableRequest: no query, tools that are no list, or a ground truth that is no list of calls.
    """
    query = read_query(row)
    tools, defects = declared_tools(row.get("tools"))
    calls = normal_calls(row.get("ground_truth"), "ground_truth")
    return question_of(query, tools, calls, row_tags(row, id_key="id" if "id" in row else "query_id"), defects=defects)


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
    """A name that is still free: APIs that differ only in characters a name cannot have are numbered."""
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
    """The schema of a parameter; types of RapidAPI that JSON does not know (``DATE``, ``ENUM`` …) become text."""
    found = {"type": _TYPES.get(str(parameter.get("type")).lower(), "string")}
    words = [parameter["description"]] if isinstance(parameter.get("description"), str) else []
    if (example := parameter.get("default")) not in (None, ""):
        words.append(f"(example: {example})")
    text = " ".join(word for word in words if word).strip()
    return {**found, "description": text} if text else found


def recognises_conversations(row: Mapping[str, Any]) -> bool:
    """A row of the config ``default``; rows of ``benchmark`` look like OpenBMB's and are read as those."""
    return KEY in row


def read_conversation_row(row: Mapping[str, Any]) -> Question:
    """The question of a row of either config.

    Raises:
        UnusableRequest: no conversation with a question, no list of functions, or an action that cannot be read.
    """
    if KEY not in row and "api_list" in row:
        return read_openbmb_row(row)
    messages = _conversation(row)
    query = next((text.strip().removesuffix("Begin!").strip() for role, text in messages if role == "user"), "")
    if not query:
        raise UnusableRequest("no user message; expected one that asks something", KEY)
    tools, defects = _toolbench_tools(next((text for role, text in messages if role == "system"), ""))
    return question_of(query, tools, _calls(messages), row_tags(row), defects=defects)


def _conversation(row: Mapping[str, Any]) -> list[_Message]:
    """The (role, text) pairs of a conversation, given as a list of objects or an object of two lists."""
    value = unpacked(row.get(KEY), KEY)
    if isinstance(value, dict):
        roles, texts = value.get("from"), value.get("value")
        if not isinstance(roles, list) or not isinstance(texts, list) or len(roles) != len(texts):
            raise UnusableRequest("expected the lists `from` and `value`, of equal length", KEY)
        value = [{"from": role, "value": text} for role, text in zip(roles, texts, strict=True)]
    if not isinstance(value, list):
        raise UnusableRequest(f"expected an array of messages, read {kind_of(value)}", KEY)
    messages: list[_Message] = []
    for position, item in enumerate(value, 1):
        role, text = (item.get("from"), item.get("value")) if isinstance(item, dict) else (None, None)
        if not isinstance(role, str) or not isinstance(text, str):
            raise UnusableRequest("expected an object with texts as `from` and `value`", f"{KEY}[{position}]")
        messages.append((role, text))
    return messages


def _toolbench_tools(system: str) -> tuple[list[Tool], list[str]]:
    start = _LIST_START.search(system)
    if start is None:
        raise UnusableRequest("no system message that ends in a list of APIs", KEY)
    tools, defects = declared_tools(_literal(system[start.end() :].strip()), KEY)
    return [tool for tool in tools if tool["function"]["name"] != _FINISH], defects


def _literal(text: str) -> list[Any]:
    """The list as Python or JSON writes it; nothing is evaluated but literals."""
    if len(text) > _MAX_LIST:
        raise UnusableRequest(f"a list of APIs of more than {_MAX_LIST} characters", KEY)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about backslashes in other people's descriptions
            plain = json.dumps(ast.literal_eval(text))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        plain = text
    found = unpacked(plain, KEY)
    if not isinstance(found, list):
        raise UnusableRequest(f"expected a list of APIs, read {kind_of(found)}", KEY)
    return found


def _calls(messages: list[_Message]) -> list[NormalCall]:
    calls: list[NormalCall] = []
    for position, (role, text) in enumerate(messages, 1):
        before, is_action, arguments = text.partition("Action Input:")
        name = before.rpartition("Action:")[2].strip()
        if role != "assistant" or not is_action or name == _FINISH:
            continue
        if not name or "\n" in name:
            raise UnusableRequest("expected `Action:` and a name before `Action Input:`", f"{KEY}[{position}]")
        call: dict[str, Any] = {"name": name, "parameters": _parameters(arguments, position)}
        following = messages[position] if position < len(messages) else ("", "")
        if following[0] == "function":
            call["output"] = tool_output(following[1])
        calls.append(call)
    return calls


def _parameters(text: str, position: int) -> Mapping[str, Any]:
    key = f"{KEY}[{position}]"
    if not text.strip():
        return {}
    value = unpacked(text, key)
    if not isinstance(value, dict):
        raise UnusableRequest(f"expected an object after `Action Input:`, read {shortened(text, 40)}", key)
    return value


FORMATS = (
    Loader("mcp_toolbench_pp", read_mcp_row, recognises_mcp, "query, function_call_label"),
    Loader("toolbench", read_row, recognises, "query, tools, ground_truth"),
    Loader("toolbench_conversations", read_conversation_row, recognises_conversations, "conversations"),
    Loader("openbmb", read_openbmb_row, recognises_openbmb, "query, api_list, relevant APIs"),
)
