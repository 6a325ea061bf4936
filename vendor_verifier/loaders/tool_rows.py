"""Rows of tool evaluations: readers for the parts that all share, and this project's own format.

A query, tools in many spellings, expected calls. Expected calls that their own tools refuse are reported as defects of
the data set and kept: the published numbers were made with them. Our row is a chat-completions body with the calls::

    {"messages": […], "tools": […], "expected": {"calls": [{"name": …, "parameters": {…}, "output": …}]}}

``output`` is what the tool answers. A row of Tool Correctness is ``{"input": …, "tools_called": […],
"expected_tools": […]}``; one without ``tools`` offers the tools that it names, in alphabetical order.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import structs

from vendor_verifier.loaders.base import Loader, Question, UnusableRequest, kind_of, shortened, unpacked
from vendor_verifier.loaders.building import Tool, control_tags, declared_tools, read_question
from vendor_verifier.records.record import ToolCall
from vendor_verifier.records.request import Turn
from vendor_verifier.suites.calls import first_problem, read_calls
from vendor_verifier.suites.schema import ArgumentChecker
from vendor_verifier.wire.payload import as_dict

NormalCall = Mapping[str, Any] | str
# How ToolBench's models end; not a tool.
FINISH = "Finish"
EXPECTED, CALLED = "expected_tools", "tools_called"


def question_of(
    query: str,
    tools: Sequence[Tool],
    calls: Sequence[NormalCall],
    tags: Mapping[str, Any],
    *,
    defects: Sequence[str] = (),
) -> Question:
    """A query asked of the tools."""
    turn = Turn(({"role": "user", "content": query},), tuple(tools))
    return Question(turn, tags, {"calls": list(calls)}, (*defects, *call_defects(tools, calls)))


def read_query(row: Mapping[str, Any], key: str = "query") -> str:
    """The question in words."""
    query = row.get(key)
    if not isinstance(query, str) or not query.strip():
        read = kind_of(query) if key in row and query != "" else "nothing"
        raise UnusableRequest(f"expected the question as text, read {read}", key)
    return query


def row_tags(row: Mapping[str, Any], *, id_key: str = "id") -> dict[str, Any]:
    """The row's control keys as tags, its identity under ``id`` whatever the data set calls it."""
    tags = control_tags({key: value for key, value in row.items() if not key.startswith("expected")})
    if row.get(id_key) is not None:
        tags["id"] = row[id_key]
    return tags


def normal_calls(value: object, key: str) -> list[NormalCall]:
    """Calls in the form ``Sample.expected`` has them: ``{name, parameters[, output]}``, or a bare name, which any
    parameters fulfil."""
    found = unpacked(value, key)
    if value is None or isinstance(found, str):
        raise UnusableRequest(f"expected an array of calls, read {'nothing' if value is None else kind_of(found)}", key)
    calls = read_calls(found)
    if problem := first_problem(calls):
        raise UnusableRequest(problem, key)
    normal: list[NormalCall] = []
    for call in calls:
        output = {} if call.output is None else {"output": call.output}
        whole = {"name": call.name, "parameters": dict(call.parameters), **output}
        normal.append(call.name if call.any_parameters else whole)
    return normal


def call_defects(tools: Sequence[Tool], calls: Sequence[NormalCall]) -> list[str]:
    """Expected calls that the row's own tools would refuse, in words."""
    checker = ArgumentChecker(tools)
    names = [as_dict(tool.get("function")).get("name") for tool in tools]
    defects: list[str] = []
    for at, call in enumerate(calls, 1):
        name = call if isinstance(call, str) else call["name"]
        if name not in names:
            defects.append(f"expected call {at} is of {shortened(name)}, which is not among the tools")
        elif not isinstance(call, str):
            verdict = checker.check(ToolCall(name, json.dumps(call["parameters"])))
            if verdict.verdict not in ("valid", "valid_in_dialect", "not_judged"):
                where = f" at {verdict.pointer}" if verdict.pointer else ""
                defects.append(f"expected call {at} ({name}) is against its own schema{where}: {verdict.message}")
    return defects


def read_row(row: Mapping[str, Any]) -> Question:
    """The question of a row and the calls it expects."""
    expected = row.get("expected")
    if not isinstance(expected, dict):
        read = kind_of(expected) if "expected" in row else "nothing"
        raise UnusableRequest(f'expected an object such as {{"calls": […]}}, read {read}', "expected")
    question = read_question({key: value for key, value in row.items() if key != "expected"})
    calls = normal_calls(expected.get("calls"), "expected.calls")
    return structs.replace(
        question,
        expected={**question.expected, **expected, "calls": calls},
        defects=(*question.defects, *call_defects(question.turn.tools, calls)),
    )


def read_correctness_row(row: Mapping[str, Any]) -> Question:
    """The question of a row."""
    query = read_query(row, "input")
    expected = _calls(row, EXPECTED)
    tags = row_tags(row)
    called = _calls(row, CALLED) if CALLED in row else None
    if called is not None:
        tags[CALLED] = called
    given = row.get("tools") or row.get("available_tools")
    if not given:
        given = sorted({call if isinstance(call, str) else str(call["name"]) for call in (*expected, *(called or ()))})
    tools, defects = declared_tools(given) if given else ([], [])
    return question_of(query, tools, expected, tags, defects=defects)


def _calls(row: Mapping[str, Any], key: str) -> list[NormalCall]:
    """The names or calls of a list; null is none."""
    value = unpacked(row.get(key), key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise UnusableRequest(f'expected an array of names, such as ["search", "book"], read {kind_of(value)}', key)
    # Test cases of this kind have a name of their own for the parameters.
    renamed = [
        {"parameters": item["input_parameters"], **item} if "input_parameters" in as_dict(item) else item
        for item in value
    ]
    return normal_calls(renamed, key)


FORMATS = (
    Loader(
        "tool_calls",
        read_row,
        lambda row: "messages" in row and "calls" in as_dict(row.get("expected")),
        "messages, expected.calls",
    ),
    # Result rows and raw prompts, too, are this reader's to refuse in clear words.
    Loader(
        "chat",
        read_question,
        lambda row: any(key in row for key in ("messages", "request", "body", "prompt")),
        "messages",
    ),
    Loader(
        "tool_correctness",
        read_correctness_row,
        lambda row: EXPECTED in row and "input" in row,
        "input, tools_called, expected_tools",
    ),
)
