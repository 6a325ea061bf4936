"""Rows of Tool Correctness: a question, the tools that were called, and those that should have been.

``{"input": …, "tools_called": […], "expected_tools": […]}``, optionally with ``tools`` (definitions) and
``actual_output``. The answer that a row brings along is kept as the tag ``tools_called`` (null is no call): it can be
scored as it is, and the question can be asked of a vendor. A row without definitions offers the tools it names, by name
only and in alphabetical order, which gives nothing away.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vendor_verifier.loaders.base import Loader, Question, UnusableRequest, kind_of, unpacked
from vendor_verifier.loaders.tool_rows import (
    NormalCall,
    normal_calls,
    question_of,
    read_query,
    row_tags,
)
from vendor_verifier.loaders.tools import declared_tools

EXPECTED, CALLED = "expected_tools", "tools_called"
_TOOLS = ("tools", "available_tools")


def recognises(row: Mapping[str, Any]) -> bool:
    """A question with the tools that should be called."""
    return EXPECTED in row and "input" in row


def read_row(row: Mapping[str, Any]) -> Question:
    """The question of a row.

    Raises:
        UnusableRequest: no question in words, or tools that are no list of names or calls.
    """
    query = read_query(row, "input")
    expected = _calls(row, EXPECTED)
    tags = row_tags(row)
    called = _calls(row, CALLED) if CALLED in row else None
    if called is not None:
        tags[CALLED] = called
    given = next((row[key] for key in _TOOLS if row.get(key)), None)
    if given is None:
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
    return normal_calls([_renamed(item) for item in value], key)


def _renamed(item: object) -> object:
    """A call whose parameters stand under the name that test cases of this kind give them."""
    if isinstance(item, dict) and "input_parameters" in item and "parameters" not in item:
        return {**item, "parameters": item["input_parameters"]}
    return item


FORMATS = (Loader("tool_correctness", read_row, recognises, "input, tools_called, expected_tools"),)
