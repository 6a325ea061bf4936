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
from vendor_verifier.loaders.base import LoadedSamples, Row, data_error, kind_of, read_rows
from vendor_verifier.suites.bfcl.custom import answer_from, category_for, documents_from, inferred_tools
from vendor_verifier.suites.bfcl.function_docs import sent_name
from vendor_verifier.suites.bfcl.services import row_problem
from vendor_verifier.suites.bfcl.verdict import json_equal
from vendor_verifier.values.request import Turn
from vendor_verifier.values.sample import Sample, Source
from vendor_verifier.wire.payload import PayloadError, parse_json

Call = tuple[str, dict[str, Any]]
_ROLES = ("system", "developer", "user", "assistant", "tool")


class BadField(ValueError):
    """Why a row is no sample; ``key`` is the field."""

    def __init__(self, message: str, key: str) -> None:
        super().__init__(message)
        self.key = key


def read_calls(value: object, key: str) -> list[Call]:
    """Calls in any usual form: ``args`` or ``arguments``, an object or its JSON text, bare or under ``function``.

    Raises:
        BadField: something else.
    """
    if not isinstance(value, list):
        raise BadField(f"expected a list of calls, read {kind_of(value)}", key)
    return [_read_call(item, f"{key}[{place}]") for place, item in enumerate(value)]


def _read_call(item: object, key: str) -> Call:
    call = item if isinstance(item, dict) else {}
    call = call["function"] if isinstance(call.get("function"), dict) else call
    arguments = call.get("args", call.get("arguments", {}))
    if isinstance(arguments, str):
        try:
            arguments = parse_json(arguments) if arguments.strip() else {}
        except PayloadError as error:
            raise BadField(f"the arguments are not JSON: {error}", key) from None
    if not isinstance(call.get("name"), str) or not isinstance(arguments, dict):
        raise BadField("expected a name and an object of arguments", key)
    return call["name"], arguments


def without_answer(
    messages: Sequence[Mapping[str, Any]], stated: Sequence[Call] | None
) -> tuple[list[dict[str, Any]], list[Call]]:
    """(what is sent, the calls expected). ``stated``: the row's own calls; None if it has none beside its messages.

    The answer is the last assistant turn with calls, unless it has its results and the row states others: then it is
    history. Nothing from the answer on is sent, nor is a closing assistant turn.

    Raises:
        BadField: the answer in the messages and the stated calls disagree; or nothing is left to ask.
    """
    called = [place for place, message in enumerate(messages) if message.get("tool_calls")]
    end = len(messages)
    if called:
        last = called[-1]
        said = read_calls(messages[last]["tool_calls"], f"messages[{last}].tool_calls")
        followed = last + 1 < len(messages) and messages[last + 1].get("role") in ("tool", "user")
        if stated is None or (_same_calls(said, stated) and not _asked_again(messages, last)):
            end, stated = last, said
        elif not followed:
            raise BadField("the calls in the messages are not the row's tool_calls", f"messages[{last}].tool_calls")
    if stated is None:
        raise BadField("neither the row nor its messages say which calls are expected; [] means none", "tool_calls")
    return without_closing(messages[:end]), list(stated)


def without_closing(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What is sent: chat-completions messages without the assistant turns that close them.

    Raises:
        BadField: an unknown role; or nothing is left to ask.
    """
    for place, message in enumerate(messages):
        if message.get("role") not in _ROLES:
            raise BadField(f"read role {message.get('role')!r}", f"messages[{place}]")
    end = len(messages)
    while end and messages[end - 1].get("role") == "assistant":
        end -= 1
    if not any(message.get("role") == "user" for message in messages[:end]):
        raise BadField("no user message is left once the answer is taken out", "messages")
    return _as_sent(messages[:end])


def _asked_again(messages: Sequence[Mapping[str, Any]], place: int) -> bool:
    return any(message.get("role") == "user" for message in messages[place + 1 :])


def _same_calls(one: Sequence[Call], other: Sequence[Call]) -> bool:
    return len(one) == len(other) and all(
        mine[0] == theirs[0] and json_equal(mine[1], theirs[1]) for mine, theirs in zip(one, other, strict=True)
    )


def _as_sent(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """History in chat-completions form: past calls with ids, results with the id of the call they answer."""
    sent: list[dict[str, Any]] = []
    waiting: list[str] = []
    for place, message in enumerate(messages):
        fields = dict(message)
        if message.get("tool_calls"):
            given = [call.get("id") if isinstance(call, dict) else None for call in message["tool_calls"]]
            calls = read_calls(message["tool_calls"], f"messages[{place}].tool_calls")
            ids = [name if isinstance(name, str) else f"call_{place}_{index}" for index, name in enumerate(given)]
            waiting = list(ids)
            fields["tool_calls"] = [_past_call(name, call) for name, call in zip(ids, calls, strict=True)]
        elif "tool_calls" in fields:
            del fields["tool_calls"]
        if message.get("role") == "tool" and "tool_call_id" not in fields and waiting:
            fields["tool_call_id"] = waiting.pop(0)
        sent.append(fields)
    return sent


def _past_call(identity: str, call: Call) -> dict[str, Any]:
    function = {"name": call[0], "arguments": json.dumps(call[1], ensure_ascii=False)}
    return {"id": identity, "type": "function", "function": function}


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
