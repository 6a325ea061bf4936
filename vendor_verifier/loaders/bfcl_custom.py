"""Custom tool-calling rows, in both forms NeMo knows → samples of the suite ``bfcl``; it opens no file.

The page's form: ``messages`` with the answer in them and ``tool_calls`` ``[{name, args}]``; the answer is taken out
before anything is sent. The converter's form: ``messages`` as a list of lists, ``tools``, and
``tool_calls_ground_truth`` as possible answers.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from vendor_verifier.errors import Problem
from vendor_verifier.loaders.base import LoadedSamples, data_error, kind_of
from vendor_verifier.loaders.bfcl_messages import BadField, Call, read_calls, without_answer, without_closing
from vendor_verifier.loaders.json_lines import Row, read_rows
from vendor_verifier.suites.bfcl.custom import answer_from, category_for, documents_from, inferred_tools
from vendor_verifier.suites.bfcl.functions import sent_name
from vendor_verifier.suites.bfcl.row_problems import row_problem
from vendor_verifier.values.request import Turn
from vendor_verifier.values.sample import Sample, Source

_NO_TOOLS = (
    "the row has no tools; give them in the row, give a file of tools for all rows (bfcl.tools=FILE), "
    "or have them inferred from the expected calls (bfcl.infer_tools=true)"
)


def read_custom(
    lines: Iterable[bytes],
    *,
    dataset: str,
    file: Path,
    category: str | None = None,
    tools: Sequence[Mapping[str, Any]] | None = None,
    infer_tools: bool = False,
    limit: int | None = None,
    skip_bad: bool = False,
) -> LoadedSamples:
    """Read custom rows.

    Args:
        category: of rows in the converter's form (v4 name); by default, and for the other form, what fits each row.
        tools: chat-completions tools for rows that bring none.
        infer_tools: for rows that have none at all, make schemas from the arguments all rows expect.
        limit: at most this many rows, the first in the file.
        skip_bad: leave unusable rows out and list them, instead of refusing the file.

    Raises:
        DataError: unusable rows (all of them), or no row at all.
    """
    rows = list(read_rows(lines, file))
    if infer_tools and tools is None:
        tools = inferred_tools([call for row in rows if isinstance(row, Row) for call in _calls_or_none(row.fields)])
    samples: list[Sample] = []
    problems: list[Problem] = []
    seen: dict[str, int] = {}
    for row in rows:
        if limit is not None and len(samples) >= limit:
            break
        if isinstance(row, Problem):
            problems.append(row)
            continue
        try:
            turn, expected = _row(row.fields, category, tools)
        except BadField as reason:
            problems.append(Problem(str(reason), file, row.line, reason.key))
            continue
        expected["id"] = f"{expected['category']}_{len(samples)}"
        digest = _digest(turn, expected)
        seen[digest] = seen.get(digest, 0) + 1
        tags = {"category": expected["category"], "bfcl_id": expected["id"], "bfcl_data": dataset}
        samples.append(Sample(f"{digest}-{seen[digest]}", turn, expected, tags, Source(dataset, row.line)))
    if problems and not skip_bad:
        raise data_error(problems)
    if not samples:
        raise data_error([Problem("no custom row", file), *problems])
    return LoadedSamples(tuple(samples), tuple(problems))


def _row(
    fields: Mapping[str, Any], category: str | None, shared: Sequence[Mapping[str, Any]] | None
) -> tuple[Turn, dict[str, Any]]:
    messages = _messages(fields.get("messages"))
    tools = _tools(fields, shared)
    if "tool_calls_ground_truth" in fields:
        answer = fields["tool_calls_ground_truth"]
        if not isinstance(answer, list):
            raise BadField(f"expected a list, read {kind_of(answer)}", "tool_calls_ground_truth")
        fitting = category or category_for(len(answer), len(tools))
        expected: dict[str, Any] = {"category": fitting, "functions": documents_from(tools), "answer": answer}
        problem = row_problem(expected)
        if problem:
            raise BadField(problem, "tool_calls_ground_truth")
        sent = without_closing(messages)
    else:
        stated = read_calls(fields["tool_calls"], "tool_calls") if "tool_calls" in fields else None
        sent, calls = without_answer(messages, stated)
        expected = {
            "category": category_for(len(calls), len(tools)),
            "functions": documents_from(tools),
            "answer": answer_from(calls) or None,
            "calls": [{"name": name, "arguments": arguments} for name, arguments in calls],
        }
    named = [{**tool, "function": {**tool["function"], "name": sent_name(tool["function"]["name"])}} for tool in tools]
    return Turn(tuple(sent), tuple(named)), expected


def _messages(value: object) -> list[dict[str, Any]]:
    """The messages of either form: a list of them, or a list with one list of them."""
    if isinstance(value, list) and value and all(isinstance(turn, list) for turn in value):
        if len(value) > 1:
            raise BadField(f"{len(value)} turns; custom rows have one", "messages")
        value = value[0]
    if not isinstance(value, list) or not value or not all(isinstance(message, dict) for message in value):
        raise BadField(f"expected a list of messages, read {kind_of(value)}", "messages")
    return value


def _tools(fields: Mapping[str, Any], shared: Sequence[Mapping[str, Any]] | None) -> list[Mapping[str, Any]]:
    given = fields.get("tools", fields.get("functions", shared))
    if given is None:
        raise BadField(_NO_TOOLS, "tools")
    tools: list[Mapping[str, Any]] = []
    for tool in given if isinstance(given, (list, tuple)) else [given]:
        whole = tool if isinstance(tool, dict) and "function" in tool else {"type": "function", "function": tool}
        if not isinstance(whole["function"], dict) or not isinstance(whole["function"].get("name"), str):
            raise BadField("expected chat-completions tools, each a function with a name", "tools")
        tools.append(whole)
    return tools


def _calls_or_none(fields: Mapping[str, Any]) -> list[Call]:
    """The calls of a row for inferring tools; what cannot be read is reported when the row is."""
    try:
        return without_answer(
            _messages(fields.get("messages")),
            read_calls(fields["tool_calls"], "tool_calls") if "tool_calls" in fields else None,
        )[1]
    except BadField:
        return []


def _digest(turn: Turn, expected: Mapping[str, Any]) -> str:
    content = [expected["category"], list(turn.messages), list(turn.tools)]
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()[:16]
