"""Rows of ToolBench as its evaluator reads them (``query``, ``tools``, ``ground_truth``); it downloads nothing."""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Mapping
from typing import Any

from vendor_verifier.loaders import mcp_toolbench
from vendor_verifier.loaders.base import Question, half_character, kind_of, shortened
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
from vendor_verifier.wire.payload import PayloadError, parse_json


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


KEY = "conversations"
_FINISH = "Finish"
_LIST_START = re.compile(r"APIs:\s*(?=\[)")
_MAX_LIST = 1_000_000
_Said = tuple[str, str]


def recognises_conversations(row: Mapping[str, Any]) -> bool:
    """A row of the config ``default``; rows of ``benchmark`` look like OpenBMB's and are read as those."""
    return KEY in row


def read_conversation_row(row: Mapping[str, Any]) -> Question:
    """The question of a row of either config.

    Raises:
        UnusableRequest: no conversation with a question, no list of functions, or an action that cannot be read.
    """
    if KEY not in row and "api_list" in row:
        return mcp_toolbench.read_openbmb_row(row)
    said = _said(row)
    query = next((text.strip().removesuffix("Begin!").strip() for role, text in said if role == "user"), "")
    if not query:
        raise UnusableRequest("no user message; expected one that asks something", KEY)
    tools, defects = _tools(next((text for role, text in said if role == "system"), ""))
    return question_of(query, tools, _calls(said), row_tags(row), defects=defects)


def _said(row: Mapping[str, Any]) -> list[_Said]:
    """Who said what: a list of objects, or an object of two lists."""
    value = unpacked(row.get(KEY), KEY)
    if isinstance(value, dict):
        roles, texts = value.get("from"), value.get("value")
        if not isinstance(roles, list) or not isinstance(texts, list) or len(roles) != len(texts):
            raise UnusableRequest("expected the lists `from` and `value`, of equal length", KEY)
        value = [{"from": role, "value": text} for role, text in zip(roles, texts, strict=True)]
    if not isinstance(value, list):
        raise UnusableRequest(f"expected an array of messages, read {kind_of(value)}", KEY)
    said: list[_Said] = []
    for position, item in enumerate(value, 1):
        role, text = (item.get("from"), item.get("value")) if isinstance(item, dict) else (None, None)
        if not isinstance(role, str) or not isinstance(text, str):
            raise UnusableRequest("expected an object with texts as `from` and `value`", f"{KEY}[{position}]")
        said.append((role, text))
    return said


def _tools(system: str) -> tuple[list[Tool], list[str]]:
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


def _calls(said: list[_Said]) -> list[NormalCall]:
    calls: list[NormalCall] = []
    for position, (role, text) in enumerate(said, 1):
        before, is_action, arguments = text.partition("Action Input:")
        name = before.rpartition("Action:")[2].strip()
        if role != "assistant" or not is_action or name == _FINISH:
            continue
        if not name or "\n" in name:
            raise UnusableRequest("expected `Action:` and a name before `Action Input:`", f"{KEY}[{position}]")
        call: dict[str, Any] = {"name": name, "parameters": _parameters(arguments, position)}
        following = said[position] if position < len(said) else ("", "")
        if following[0] == "function":
            call["output"] = _result(following[1])
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


def _result(text: str) -> object:
    """The result as JSON if it is some, else the text."""
    try:
        found = parse_json(text)
    except PayloadError:
        return text
    return text if found is None or half_character(found) else found
