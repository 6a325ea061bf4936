"""Custom rows of the published page, ``messages`` and ``tool_calls`` ``[{name, args}]``, → samples; it opens no file.

The answer is taken out of the messages before anything is sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from vendor_verifier.errors import Problem
from vendor_verifier.loaders.base import LoadedSamples, Row, UnusableRequest, kind_of, read_rows
from vendor_verifier.records.request import Turn
from vendor_verifier.suites.bfcl.function_docs import sent_name
from vendor_verifier.suites.bfcl.native_rows import ReadRow, samples_of
from vendor_verifier.suites.bfcl.replies import Call
from vendor_verifier.suites.calls import first_problem, read_calls, same_value

_ROLES = ("system", "developer", "user", "assistant", "tool")
_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", dict: "object"}


def read_custom(
    lines: Iterable[bytes], *, file: Path, category: str | None = None, skip_bad: bool = False
) -> LoadedSamples:
    """Read custom rows. Rows without ``tools`` get tools that are made of the calls that all rows expect.

    Args:
        category: of all rows (v4 name); by default that which fits a row's number of calls and tools.
        skip_bad: leave unusable rows out and list them, instead of refusing the file.

    Raises:
        DataError: unusable rows (all of them), or no row at all.
    """
    rows = list(read_rows(lines, file))
    made = _made_tools(rows)

    def read(fields: Mapping[str, Any], number: int) -> ReadRow:
        messages, calls = _question(fields)
        tools = _tools(fields) or made
        if not tools:
            raise UnusableRequest("the row has no tools, and no row expects a call to make them of", "tools")
        several = "parallel" if len(calls) > 1 else ""
        fitting = "_".join(filter(None, [several, "multiple" if len(tools) > 1 else ""])) or "simple_python"
        kind = category or (fitting if calls else "irrelevance")
        stated = [{"name": name, "arguments": dict(arguments)} for name, arguments in calls]
        expected = {"id": f"{kind}_{number}", "category": kind, "calls": stated}
        tags = {"category": kind, "bfcl_id": expected["id"], "bfcl_data": file.name, "bfcl_custom": True}
        tags |= {"bfcl_inferred": True} if tools is made else {}
        return ReadRow([kind, messages, tools], Turn(tuple(messages), tuple(tools)), expected, tags)

    return samples_of(rows, read, file, skip_bad)


def _question(fields: Mapping[str, Any]) -> tuple[list[dict[str, Any]], list[Call]]:
    """(what is sent, the calls expected). Nothing is sent from the first assistant turn with calls on: the answer.

    Raises:
        UnusableRequest: the answer in the messages and the stated calls disagree, or nothing is left to ask.
    """
    messages = fields.get("messages")
    if not isinstance(messages, list) or not messages or not all(isinstance(message, dict) for message in messages):
        raise UnusableRequest(f"expected a list of messages, read {kind_of(messages)}", "messages")
    stated = _calls(fields["tool_calls"], "tool_calls") if "tool_calls" in fields else None
    called = [place for place, message in enumerate(messages) if message.get("tool_calls")]
    if called:
        key = f"messages[{called[0]}].tool_calls"
        own = _calls(messages[called[0]]["tool_calls"], key)
        if stated is not None and not same_value([list(call) for call in own], [list(call) for call in stated]):
            raise UnusableRequest("the calls in the messages are not the row's tool_calls", key)
        messages, stated = messages[: called[0]], own
    if stated is None:
        raise UnusableRequest("neither the row nor its messages state the expected calls; [] means none", "tool_calls")
    for place, message in enumerate(messages):
        if message.get("role") not in _ROLES:
            raise UnusableRequest(f"read role {message.get('role')!r}", f"messages[{place}]")
    while messages and messages[-1]["role"] == "assistant":
        messages = messages[:-1]
    if not any(message["role"] == "user" for message in messages):
        raise UnusableRequest("no user message is left once the answer is taken out", "messages")
    return [{key: value for key, value in each.items() if key != "tool_calls"} for each in messages], stated


def _calls(value: object, key: str) -> list[Call]:
    found = read_calls(value)
    if problem := first_problem(found):
        raise UnusableRequest(problem, key)
    return [(call.name, call.parameters) for call in found]


def _tools(fields: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The row's chat-completions tools, under the names that are sent; none where the row has none."""
    given = fields.get("tools", fields.get("functions")) or []
    tools = []
    for tool in given if isinstance(given, list) else [given]:
        function = tool.get("function", tool) if isinstance(tool, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            raise UnusableRequest("expected chat-completions tools, each a function with a name", "tools")
        tools.append({"type": "function", "function": {**function, "name": sent_name(function["name"])}})
    return tools


def _made_tools(rows: Iterable[Row | Problem]) -> list[dict[str, Any]]:
    """Tools that fit the calls of all rows: every argument seen, with its type where that is always the same."""
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
