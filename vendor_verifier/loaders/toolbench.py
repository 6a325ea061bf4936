"""Rows of ToolBench as its evaluator reads them (``query``, ``tools``, ``ground_truth``); it downloads nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vendor_verifier.loaders.request_row import Question
from vendor_verifier.loaders.tool_rows import declared_tools, normal_calls, question_of, read_query, row_tags


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
