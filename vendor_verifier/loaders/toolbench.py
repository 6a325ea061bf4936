"""Rows of ToolBench in its published forms, and of MCPToolBench++; it downloads nothing.

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
from contextlib import suppress
from typing import Any

from vendor_verifier.loaders.base import Loader, Question, UnusableRequest, kind_of, shortened, unpacked
from vendor_verifier.loaders.building import Tool, declared, declared_tools
from vendor_verifier.loaders.tool_rows import FINISH, NormalCall, normal_calls, question_of, read_query, row_tags
from vendor_verifier.wire.payload import as_dict, as_list

_LABEL = "function_call_label"
_SAID = "conversations"
_RELEVANT = ("relevant APIs", "relevant_apis")
_MAX_NAME = 64
_NOT_A_NAME = re.compile(r"[^a-z0-9_]+")
_LIST_START = re.compile(r"APIs:\s*(?=\[)")
_MAX_LIST = 1_000_000
_TYPES = {
    "number": "number", "float": "number", "integer": "integer", "int": "integer", "boolean": "boolean",
    "bool": "boolean", "object": "object", "array": "array", "list": "array",
}  # fmt: skip


def read_row(row: Mapping[str, Any]) -> Question:
    """The question of a row of the evaluator; lists may be JSON text."""
    query = read_query(row)
    tools, defects = declared_tools(row.get("tools"))
    calls = normal_calls(row.get("ground_truth"), "ground_truth")
    return question_of(query, tools, calls, row_tags(row, id_key="id" if "id" in row else "query_id"), defects=defects)


def read_mcp_row(row: Mapping[str, Any]) -> Question:
    """The question of a row of MCPToolBench++."""
    query = read_query(row)
    tools, defects = _mcp_tools(row)
    label = unpacked(row[_LABEL], _LABEL) if _LABEL in row else None
    calls = [_without_placeholder(call) for call in normal_calls(label, _LABEL)]
    steps = [as_dict(step) for step in (label if isinstance(label, list) else [label])]
    tags = row_tags(row, id_key="uuid" if "uuid" in row else "id")
    if row.get("call_type") is not None:
        tags["call_type"] = row["call_type"]
    if servers := sorted({str(step["mcp_server"]) for step in steps if step.get("mcp_server")}):
        tags["mcp_servers"] = servers
    return question_of(query, tools, calls, tags, defects=defects)


def _mcp_tools(row: Mapping[str, Any]) -> tuple[list[Tool], list[str]]:
    """The definitions in ``tools`` or in ``mcp_tools_dict``; bare names where neither has any."""
    places = {key: row.get(key) for key in ("tools", "mcp_tools_dict")}
    for key, value in places.items():
        if isinstance(value, str) and value.strip():
            places[key] = unpacked(value, key)
    defined = [key for key, value in places.items() if _has_definitions(value)]
    key = next(iter([*defined, *(key for key, value in places.items() if value)]), "tools")
    return declared_tools(places[key], key)


def _has_definitions(value: object) -> bool:
    members: Sequence[object] = list(value.values()) if isinstance(value, dict) else as_list(value)
    return any(isinstance(member, dict) or _has_definitions(member) for member in members)


def _without_placeholder(call: NormalCall) -> NormalCall:
    if isinstance(call, str) or not isinstance(output := call.get("output"), dict):
        return call
    is_empty = not output.get("result") and output.keys() <= {"status_code", "result"}
    return {key: value for key, value in call.items() if key != "output"} if is_empty else call


def read_openbmb_row(row: Mapping[str, Any]) -> Question:
    """The question of a row of OpenBMB; both lists may be JSON text."""
    query = read_query(row)
    apis = unpacked(row.get("api_list"), "api_list")
    if not isinstance(apis, list):
        raise UnusableRequest(f"expected an array of APIs, read {kind_of(apis)}", "api_list")
    names: dict[tuple[str, str], str] = {}
    tools: list[Tool] = []
    for position, item in enumerate(apis, 1):
        key = f"api_list[{position}]"
        if not isinstance(item, dict):
            raise UnusableRequest(f"expected an object, read {kind_of(item)}", key)
        tool, name = item.get("tool_name"), item.get("api_name")
        if not (isinstance(tool, str) and tool and isinstance(name, str) and name):
            raise UnusableRequest("expected texts as tool_name and api_name", key)
        api = tool, name
        if api not in names:
            name = free = _function_name(tool, name)
            number = 1
            while free in names.values():
                number += 1
                free = f"{name[: _MAX_NAME - 8]}_{number}"
            names[api] = free
            tools.append(declared(free, item.get("api_description"), _parameters_schema(item)))
    calls = [names.get(api, _function_name(*api)) for api in _relevant(row)]
    tags = row_tags(row, id_key="query_id" if "query_id" in row else "id")
    categories = [name for item in apis if isinstance(name := item.get("category_name"), str)]
    if "category" not in tags and categories:
        tags["category"] = ", ".join(dict.fromkeys(categories))
    return question_of(query, tools, calls, tags, defects=() if tools else ("no tool is offered",))


def _function_name(tool: str, api: str) -> str:
    """The name under which the API is offered, ``<api>_for_<tool>``, its end kept if it is too long."""
    name = "_for_".join(_NOT_A_NAME.sub("_", part.lower()).strip("_") or "unnamed" for part in (api, tool))
    return name[-_MAX_NAME:].lstrip("_")


def _relevant(row: Mapping[str, Any]) -> list[tuple[str, str]]:
    key = next((key for key in _RELEVANT if row.get(key) is not None), _RELEVANT[0])
    relevant = unpacked(row.get(key), key)
    if not isinstance(relevant, list):
        raise UnusableRequest(f"expected an array of [tool, API], read {kind_of(relevant)}", key)
    pairs: list[tuple[str, str]] = []
    for position, item in enumerate(relevant, 1):
        pair = [item.get("tool_name"), item.get("api_name")] if isinstance(item, dict) else item
        if not (isinstance(pair, list) and len(pair) == 2 and all(isinstance(name, str) for name in pair)):
            raise UnusableRequest("expected [tool, API], two texts", f"{key}[{position}]")
        pairs.append((pair[0], pair[1]))
    return pairs


def _parameters_schema(api: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of an API; types of RapidAPI that JSON does not know (``DATE``, ``ENUM`` …) become text."""
    properties: dict[str, Any] = {}
    required: list[str] = []
    for group in ("required_parameters", "optional_parameters"):
        for parameter in map(as_dict, as_list(api.get(group))):
            name, words = parameter.get("name"), []
            if not isinstance(name, str) or not name or name in properties:
                continue
            if group == "required_parameters":
                required.append(name)
            if isinstance(about := parameter.get("description"), str):
                words.append(about)
            if (example := parameter.get("default")) not in (None, ""):
                words.append(f"(example: {example})")
            text = " ".join(filter(None, words)).strip()
            properties[name] = {"type": _TYPES.get(str(parameter.get("type")).lower(), "string")}
            properties[name] |= {"description": text} if text else {}
    return {"type": "object", "properties": properties, **({"required": required} if required else {})}


def read_conversation_row(row: Mapping[str, Any]) -> Question:
    """The question of a recorded conversation; a row of the config ``benchmark`` is one of OpenBMB's."""
    if _SAID not in row and "api_list" in row:
        return read_openbmb_row(row)
    messages = _conversation(row)
    query = next((text.strip().removesuffix("Begin!").strip() for role, text in messages if role == "user"), "")
    if not query:
        raise UnusableRequest("no user message; expected one that asks something", _SAID)
    system = next((text for role, text in messages if role == "system"), "")
    start = _LIST_START.search(system)
    if start is None:
        raise UnusableRequest("no system message that ends in a list of APIs", _SAID)
    tools, defects = declared_tools(_literal(system[start.end() :].strip()), _SAID)
    offered = [tool for tool in tools if tool["function"]["name"] != FINISH]
    return question_of(query, offered, _made_calls(messages), row_tags(row), defects=defects)


def _conversation(row: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The (role, text) pairs of a conversation, given as a list of objects or an object of two lists."""
    value = unpacked(row.get(_SAID), _SAID)
    if isinstance(value, dict):
        roles, texts = value.get("from"), value.get("value")
        if not isinstance(roles, list) or not isinstance(texts, list) or len(roles) != len(texts):
            raise UnusableRequest("expected the lists `from` and `value`, of equal length", _SAID)
        value = [{"from": role, "value": text} for role, text in zip(roles, texts, strict=True)]
    if not isinstance(value, list):
        raise UnusableRequest(f"expected an array of messages, read {kind_of(value)}", _SAID)
    messages: list[tuple[str, str]] = []
    for position, item in enumerate(value, 1):
        role, text = as_dict(item).get("from"), as_dict(item).get("value")
        if not isinstance(role, str) or not isinstance(text, str):
            raise UnusableRequest("expected an object with texts as `from` and `value`", f"{_SAID}[{position}]")
        messages.append((role, text))
    return messages


def _literal(text: str) -> list[Any]:
    """The list as Python or JSON writes it; nothing is evaluated but literals."""
    if len(text) > _MAX_LIST:
        raise UnusableRequest(f"a list of APIs of more than {_MAX_LIST} characters", _SAID)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about backslashes in other people's descriptions
            plain = json.dumps(ast.literal_eval(text))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        plain = text
    found = unpacked(plain, _SAID)
    if not isinstance(found, list):
        raise UnusableRequest(f"expected a list of APIs, read {kind_of(found)}", _SAID)
    return found


def _made_calls(messages: Sequence[tuple[str, str]]) -> list[NormalCall]:
    """The calls of the assistant, each with the answer of its tool where that follows."""
    calls: list[NormalCall] = []
    for position, (role, text) in enumerate(messages, 1):
        before, is_action, arguments = text.partition("Action Input:")
        name, key = before.rpartition("Action:")[2].strip(), f"{_SAID}[{position}]"
        if role != "assistant" or not is_action or name == FINISH:
            continue
        if not name or "\n" in name:
            raise UnusableRequest("expected `Action:` and a name before `Action Input:`", key)
        parameters = unpacked(arguments, key) if arguments.strip() else {}
        if not isinstance(parameters, dict):
            read = shortened(arguments, 40)
            raise UnusableRequest(f"expected an object after `Action Input:`, read {read}", key)
        following = messages[position] if position < len(messages) else ("", "")
        call: dict[str, Any] = {"name": name, "parameters": parameters}
        if following[0] == "function":
            call["output"] = following[1]
            with suppress(UnusableRequest):
                found = unpacked(following[1], key)
                call["output"] = following[1] if found is None else found
        calls.append(call)
    return calls


FORMATS = (
    Loader("mcp_toolbench_pp", read_mcp_row, lambda row: _LABEL in row, "query, function_call_label"),
    Loader("toolbench", read_row, lambda row: "query" in row and "ground_truth" in row, "query, tools, ground_truth"),
    Loader("toolbench_conversations", read_conversation_row, lambda row: _SAID in row, "conversations"),
    Loader(
        "openbmb",
        read_openbmb_row,
        lambda row: "api_list" in row and any(key in row for key in _RELEVANT),
        "query, api_list, relevant APIs",
    ),
)
