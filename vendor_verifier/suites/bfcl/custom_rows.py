"""Custom rows of the published page, ``messages`` and ``tool_calls`` ``[{name, args}]``, → samples; it opens no file.

The answer is taken out of the messages before anything is sent.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from vendor_verifier.errors import Problem
from vendor_verifier.loaders.base import LoadedSamples, Row, kind_of, read_rows
from vendor_verifier.loaders.building import UnusableRequest
from vendor_verifier.suites.bfcl.function_docs import sent_name
from vendor_verifier.suites.bfcl.native_rows import ReadRow, samples_of
from vendor_verifier.suites.bfcl.replies import Call, json_equal
from vendor_verifier.values.request import Turn
from vendor_verifier.wire.payload import PayloadError, parse_json

_ROLES = ("system", "developer", "user", "assistant", "tool")
_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", dict: "object"}


def read_custom(
    lines: Iterable[bytes], *, file: Path, category: str | None = None, limit: int | None = None, skip_bad: bool = False
) -> LoadedSamples:
    """Read custom rows. Rows without ``tools`` get tools that are made of the calls that all rows expect.

    Args:
        category: of all rows (v4 name); by default that which fits a row's number of calls and tools.
        limit: at most this many rows, the first in the file.
        skip_bad: leave unusable rows out and list them, instead of refusing the file.

    Raises:
        DataError: unusable rows (all of them), or no row at all.
    """
    rows = list(read_rows(lines, file))
    made = _made_tools(rows)

    def read(row: Row, number: int) -> ReadRow:
        fields = row.fields
        messages, calls = _question(fields)
        tools = _tools(fields.get("tools", fields.get("functions"))) or made
        if not tools:
            raise UnusableRequest("the row has no tools, and no row expects a call to make them of", "tools")
        named = [
            {**tool, "function": {**tool["function"], "name": sent_name(tool["function"]["name"])}} for tool in tools
        ]
        kind = category or _fitting(len(calls), len(tools))
        expected = {
            "id": f"{kind}_{number}",
            "category": kind,
            "calls": [{"name": name, "arguments": arguments} for name, arguments in calls],
        }
        tags = {"category": kind, "bfcl_id": expected["id"], "bfcl_data": file.name, "bfcl_custom": True}
        tags |= {"bfcl_inferred": True} if tools is made else {}
        return ReadRow([kind, messages, named], Turn(tuple(messages), tuple(named)), expected, tags)

    return samples_of(rows, read, dataset=file.name, file=file, limit=limit, skip_bad=skip_bad)


def _fitting(calls: int, tools: int) -> str:
    if calls == 0:
        return "irrelevance"
    if calls == 1:
        return "simple_python" if tools == 1 else "multiple"
    return "parallel" if tools == 1 else "parallel_multiple"


def _question(fields: Mapping[str, Any]) -> tuple[list[dict[str, Any]], list[Call]]:
    """(what is sent, the calls expected).

    The answer is the last assistant turn with calls, unless it has its results and the row states others: then it is
    history. Nothing from the answer on is sent, nor is a closing assistant turn.

    Raises:
        UnusableRequest: the answer in the messages and the stated calls disagree, or nothing is left to ask.
    """
    messages = fields.get("messages")
    if not isinstance(messages, list) or not messages or not all(isinstance(message, dict) for message in messages):
        raise UnusableRequest(f"expected a list of messages, read {kind_of(messages)}", "messages")
    stated = _calls(fields["tool_calls"], "tool_calls") if "tool_calls" in fields else None
    called = [place for place, message in enumerate(messages) if message.get("tool_calls")]
    if called:
        last, key = called[-1], f"messages[{called[-1]}].tool_calls"
        own = _calls(messages[last]["tool_calls"], key)
        after = [message.get("role") for message in messages[last + 1 :]]
        if stated is None or (
            json_equal([list(call) for call in own], [list(call) for call in stated]) and "user" not in after
        ):
            messages, stated = messages[:last], own
        elif not after or after[0] not in ("tool", "user"):
            raise UnusableRequest("the calls in the messages are not the row's tool_calls", key)
    if stated is None:
        raise UnusableRequest("neither the row nor its messages state the expected calls; [] means none", "tool_calls")
    for place, message in enumerate(messages):
        if message.get("role") not in _ROLES:
            raise UnusableRequest(f"read role {message.get('role')!r}", f"messages[{place}]")
    while messages and messages[-1].get("role") == "assistant":
        messages = messages[:-1]
    if not any(message.get("role") == "user" for message in messages):
        raise UnusableRequest("no user message is left once the answer is taken out", "messages")
    return _as_sent(messages), stated


def _calls(value: object, key: str) -> list[Call]:
    """Calls with ``args`` or ``arguments``, an object or its JSON text, bare or under ``function``."""
    if not isinstance(value, list):
        raise UnusableRequest(f"expected a list of calls, read {kind_of(value)}", key)
    calls: list[Call] = []
    for place, item in enumerate(value):
        call = item if isinstance(item, dict) else {}
        call = call["function"] if isinstance(call.get("function"), dict) else call
        arguments = call.get("args", call.get("arguments", {}))
        if isinstance(arguments, str):
            try:
                arguments = parse_json(arguments) if arguments.strip() else {}
            except PayloadError as error:
                raise UnusableRequest(f"the arguments are not JSON: {error}", f"{key}[{place}]") from None
        if not isinstance(call.get("name"), str) or not isinstance(arguments, dict):
            raise UnusableRequest("expected a name and an object of arguments", f"{key}[{place}]")
        calls.append((call["name"], arguments))
    return calls


def _as_sent(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """History in chat-completions form: past calls with ids, results with the id of the call they answer."""
    sent: list[dict[str, Any]] = []
    waiting: list[str] = []
    for place, message in enumerate(messages):
        fields = {key: value for key, value in message.items() if key != "tool_calls"}
        given = message.get("tool_calls") or []
        calls = _calls(given, f"messages[{place}].tool_calls")
        ids = [str(call.get("id") or f"call_{place}_{index}") for index, call in enumerate(given)]
        if calls:
            waiting = list(ids)
            fields["tool_calls"] = [
                {"id": name, "type": "function", "function": {"name": call[0], "arguments": json.dumps(call[1])}}
                for name, call in zip(ids, calls, strict=True)
            ]
        if message.get("role") == "tool" and waiting:
            fields.setdefault("tool_call_id", waiting.pop(0))
        sent.append(fields)
    return sent


def _tools(given: object) -> list[dict[str, Any]]:
    """Chat-completions tools, whole or their bare functions; none where the row has none."""
    tools: list[dict[str, Any]] = []
    for tool in [] if given is None else given if isinstance(given, list) else [given]:
        whole = tool if isinstance(tool, dict) and "function" in tool else {"type": "function", "function": tool}
        if not isinstance(whole["function"], dict) or not isinstance(whole["function"].get("name"), str):
            raise UnusableRequest("expected chat-completions tools, each a function with a name", "tools")
        tools.append(whole)
    return tools


def _made_tools(rows: Iterable[Row | Problem]) -> list[dict[str, Any]]:
    """Tools that fit the calls of all rows: every argument seen, with its type where that is always the same.

    ``a.b`` and ``a_b`` are one tool, because they are to a vendor, and vendors refuse two of one name.
    """
    properties: dict[str, dict[str, Any]] = {}
    for row in rows:
        try:
            calls = _question(row.fields)[1] if isinstance(row, Row) else []
        except UnusableRequest:
            continue  # reported when the row is read
        for name, arguments in calls:
            known = properties.setdefault(sent_name(name), {})
            for key, value in arguments.items():
                schema = _schema_of(value)
                known[key] = schema if known.get(key, schema) == schema else {}
    return [
        {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": known}}}
        for name, known in properties.items()
    ]


def _schema_of(value: object) -> dict[str, Any]:
    if isinstance(value, list):
        return {"type": "array", "items": _schema_of(value[0]) if value else {}}
    return {"type": _TYPES[type(value)]} if type(value) in _TYPES else {}
