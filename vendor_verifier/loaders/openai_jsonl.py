"""This project's own evaluation rows: a chat-completions body with the expected calls beside it; reads and writes them.

::

    {"messages": […], "tools": […], "expected": {"calls": [{"name": …, "parameters": {…}, "output": …}]}, "tags": {…}}

``output`` is what the tool answers when a later call needs it. ``expected.similar`` lists, call by call, tools that
would do as well. Writing and reading again gives the same id, expectation and tags.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from vendor_verifier.loaders.base import Loader, Question, kind_of
from vendor_verifier.loaders.building import UnusableRequest, read_question
from vendor_verifier.loaders.tool_rows import call_defects, normal_calls
from vendor_verifier.values.sample import Sample


def recognises(row: Mapping[str, Any]) -> bool:
    """A body, a body under ``request``, or a result row or raw prompt, which this reader refuses in clear words."""
    return any(key in row for key in ("messages", "request", "prompt"))


def recognises_tool_calls(row: Mapping[str, Any]) -> bool:
    """A body with ``expected.calls``."""
    expected = row.get("expected")
    return "messages" in row and isinstance(expected, dict) and "calls" in expected


def read_row(row: Mapping[str, Any]) -> Question:
    """The question of a row and the calls it expects.

    Raises:
        UnusableRequest: no usable messages, tools or calls.
    """
    expected = row.get("expected")
    if not isinstance(expected, dict):
        read = kind_of(expected) if "expected" in row else "nothing"
        raise UnusableRequest(f'expected an object such as {{"calls": […]}}, read {read}', "expected")
    question = read_question({key: value for key, value in row.items() if key != "expected"})
    calls = normal_calls(expected.get("calls"), "expected.calls")
    _check_similar(expected.get("similar"), len(calls))
    return replace(
        question,
        expected={**question.expected, **expected, "calls": calls},
        defects=(*question.defects, *call_defects(question.turn.tools, calls)),
    )


def row_of(sample: Sample) -> dict[str, Any]:
    """The row of a sample; one that expects no calls becomes an ordinary request row."""
    row: dict[str, Any] = {"messages": list(sample.turn.messages)}
    if sample.turn.tools:
        row["tools"] = list(sample.turn.tools)
    row |= sample.turn.parameters
    if "calls" in sample.expected:
        row["expected"] = dict(sample.expected)
    if sample.tags:
        row["tags"] = dict(sample.tags)
    return row


def _check_similar(similar: object, calls: int) -> None:
    if similar is None:
        return
    key = "expected.similar"
    if not isinstance(similar, list) or not all(isinstance(names, list) for names in similar):
        raise UnusableRequest('expected an array of names for each call, such as [[], ["get_rate"]]', key)
    if len(similar) != calls:
        raise UnusableRequest(f"expected one array of names for each of the {calls} calls, read {len(similar)}", key)


FORMATS = (
    Loader("tool_calls", read_row, recognises_tool_calls, "messages, expected.calls"),
    Loader("chat", read_question, recognises, "messages"),
)
