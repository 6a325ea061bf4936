"""Custom tool-calling rows, in both forms NeMo knows → samples of the suite ``bfcl``; it opens no file.

The page's form: ``messages`` with the answer in them and ``tool_calls`` ``[{name, args}]``; the answer is taken out
before anything is sent. The converter's form: ``messages`` as a list of lists, ``tools``, and
``tool_calls_ground_truth`` as possible answers.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from vendor_verifier.loaders.base import LoadedSamples, Row, kind_of, read_rows
from vendor_verifier.loaders.building import UnusableRequest
from vendor_verifier.suites.bfcl.categories import LIVE_AST, NON_LIVE_AST, language_of
from vendor_verifier.suites.bfcl.function_docs import sent_name
from vendor_verifier.suites.bfcl.multi_turn import row_problem
from vendor_verifier.suites.bfcl.native_rows import ReadRow, digest_of, samples_of
from vendor_verifier.suites.bfcl.verdict import json_equal
from vendor_verifier.values.request import Turn
from vendor_verifier.wire.payload import PayloadError, parse_json

Call = tuple[str, dict[str, Any]]
_ALIASES = {"number": "float", "object": "dict"}
_ROLES = ("system", "developer", "user", "assistant", "tool")


def read_calls(value: object, key: str) -> list[Call]:
    """Calls in any usual form: ``args`` or ``arguments``, an object or its JSON text, bare or under ``function``.

    Raises:
        UnusableRequest: something else.
    """
    if not isinstance(value, list):
        raise UnusableRequest(f"expected a list of calls, read {kind_of(value)}", key)
    return [_read_call(item, f"{key}[{place}]") for place, item in enumerate(value)]


def _read_call(item: object, key: str) -> Call:
    call = item if isinstance(item, dict) else {}
    call = call["function"] if isinstance(call.get("function"), dict) else call
    arguments = call.get("args", call.get("arguments", {}))
    if isinstance(arguments, str):
        try:
            arguments = parse_json(arguments) if arguments.strip() else {}
        except PayloadError as error:
            raise UnusableRequest(f"the arguments are not JSON: {error}", key) from None
    if not isinstance(call.get("name"), str) or not isinstance(arguments, dict):
        raise UnusableRequest("expected a name and an object of arguments", key)
    return call["name"], arguments


def without_answer(
    messages: Sequence[Mapping[str, Any]], stated: Sequence[Call] | None
) -> tuple[list[dict[str, Any]], list[Call]]:
    """(what is sent, the calls expected). ``stated``: the row's own calls; None if it has none beside its messages.

    The answer is the last assistant turn with calls, unless it has its results and the row states others: then it is
    history. Nothing from the answer on is sent, nor is a closing assistant turn.

    Raises:
        UnusableRequest: the answer in the messages and the stated calls disagree; or nothing is left to ask.
    """
    called = [place for place, message in enumerate(messages) if message.get("tool_calls")]
    end = len(messages)
    if called:
        last = called[-1]
        last_calls = read_calls(messages[last]["tool_calls"], f"messages[{last}].tool_calls")
        followed = last + 1 < len(messages) and messages[last + 1].get("role") in ("tool", "user")
        if stated is None or (_same_calls(last_calls, stated) and not _asked_again(messages, last)):
            end, stated = last, last_calls
        elif not followed:
            key = f"messages[{last}].tool_calls"
            raise UnusableRequest("the calls in the messages are not the row's tool_calls", key)
    if stated is None:
        words = "neither the row nor its messages say which calls are expected; [] means none"
        raise UnusableRequest(words, "tool_calls")
    return without_closing(messages[:end]), list(stated)


def without_closing(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The messages to send: chat-completions messages without the assistant turns at their end.

    Raises:
        UnusableRequest: an unknown role; or nothing is left to ask.
    """
    for place, message in enumerate(messages):
        if message.get("role") not in _ROLES:
            raise UnusableRequest(f"read role {message.get('role')!r}", f"messages[{place}]")
    end = len(messages)
    while end and messages[end - 1].get("role") == "assistant":
        end -= 1
    if not any(message.get("role") == "user" for message in messages[:end]):
        raise UnusableRequest("no user message is left once the answer is taken out", "messages")
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


def read_custom(
    lines: Iterable[bytes],
    *,
    dataset: str,
    file: Path,
    category: str | None = None,
    tools: Sequence[Mapping[str, Any]] | None = None,
    infer_tools: bool = False,
    mending: str = "give them in the row",
    limit: int | None = None,
    skip_bad: bool = False,
) -> LoadedSamples:
    """Read custom rows.

    Args:
        category: of the rows (v4 name), where it fits a row of the page's form; by default what fits each row.
        tools: chat-completions tools for rows that bring none.
        infer_tools: for rows that have none at all, make schemas from the arguments all rows expect, even where these
            leave something open; where they do not, that is done in any case, and the rows say so.
        mending: what to do about rows without tools, for the message.
        limit: at most this many rows, the first in the file.
        skip_bad: leave unusable rows out and list them, instead of refusing the file.

    Raises:
        DataError: unusable rows (all of them), or no row at all.
    """
    rows = list(read_rows(lines, file))
    made: list[dict[str, Any]] | None = None
    unsaid = f"; {mending}"
    if tools is None:
        calls = [call for row in rows if isinstance(row, Row) for call in _calls_or_none(row.fields)]
        doubt = None if infer_tools else left_open(calls)
        made = inferred_tools(calls) if doubt is None else None
        unsaid = f" and none can be made: {doubt}; {mending}"

    def read(row: Row, number: int) -> ReadRow:
        is_inferred = made is not None and "tools" not in row.fields and "functions" not in row.fields
        turn, expected = _row(row.fields, category, made if tools is None else tools, unsaid)
        expected["id"] = f"{expected['category']}_{number}"
        tags = {"category": expected["category"], "bfcl_id": expected["id"], "bfcl_data": dataset, "bfcl_custom": True}
        tags |= {"bfcl_inferred": True} if is_inferred else {}
        return ReadRow(digest_of([expected["category"], list(turn.messages), list(turn.tools)]), turn, expected, tags)

    return samples_of(rows, read, dataset=dataset, file=file, limit=limit, skip_bad=skip_bad, holds="custom")


def _row(
    fields: Mapping[str, Any], category: str | None, shared: Sequence[Mapping[str, Any]] | None, unsaid: str
) -> tuple[Turn, dict[str, Any]]:
    messages = _messages(fields.get("messages"))
    tools = _tools(fields, shared, unsaid)
    if "tool_calls_ground_truth" in fields:
        answer = fields["tool_calls_ground_truth"]
        if not isinstance(answer, list):
            raise UnusableRequest(f"expected a list, read {kind_of(answer)}", "tool_calls_ground_truth")
        fitting = category or category_for(len(answer), len(tools))
        expected: dict[str, Any] = {"category": fitting, "functions": documents_from(tools), "answer": answer}
        problem = row_problem(expected)
        if problem:
            raise UnusableRequest(problem, "tool_calls_ground_truth")
        sent = without_closing(messages)
    else:
        stated = read_calls(fields["tool_calls"], "tool_calls") if "tool_calls" in fields else None
        sent, calls = without_answer(messages, stated)
        fitting = category if category and _fits(category, len(calls)) else category_for(len(calls), len(tools))
        documents = documents_from(tools)
        if fitting.endswith("simple_python") or fitting == "live_simple":
            # Its rules look at the first document only.
            documents.sort(key=lambda document: sent_name(str(document["name"])) != sent_name(calls[0][0]))
        expected = {
            "category": fitting,
            "functions": documents,
            "answer": answer_from(calls) or None,
            "calls": [{"name": name, "arguments": arguments} for name, arguments in calls],
        }
    named = [{**tool, "function": {**tool["function"], "name": sent_name(tool["function"]["name"])}} for tool in tools]
    return Turn(tuple(sent), tuple(named)), expected


def _messages(value: object) -> list[dict[str, Any]]:
    """The messages of either form: a list of them, or a list with one list of them."""
    if isinstance(value, list) and value and all(isinstance(turn, list) for turn in value):
        if len(value) > 1:
            raise UnusableRequest(f"{len(value)} turns; custom rows have one", "messages")
        value = value[0]
    if not isinstance(value, list) or not value or not all(isinstance(message, dict) for message in value):
        raise UnusableRequest(f"expected a list of messages, read {kind_of(value)}", "messages")
    return value


def _fits(category: str, calls: int) -> bool:
    """Whether a row with so many expected calls can be one of this category, which is Python's."""
    if category not in _WITH_CALLS or language_of(category) != "python":
        return False
    return calls >= 1 if "parallel" in category else calls == 1


_WITH_CALLS = (*NON_LIVE_AST, *LIVE_AST)


def _tools(
    fields: Mapping[str, Any], shared: Sequence[Mapping[str, Any]] | None, unsaid: str
) -> list[Mapping[str, Any]]:
    given = fields.get("tools", fields.get("functions", shared))
    if given is None:
        raise UnusableRequest(f"the row has no tools{unsaid}", "tools")
    tools: list[Mapping[str, Any]] = []
    for tool in given if isinstance(given, (list, tuple)) else [given]:
        whole = tool if isinstance(tool, dict) and "function" in tool else {"type": "function", "function": tool}
        if not isinstance(whole["function"], dict) or not isinstance(whole["function"].get("name"), str):
            raise UnusableRequest("expected chat-completions tools, each a function with a name", "tools")
        tools.append(whole)
    return tools


def _calls_or_none(fields: Mapping[str, Any]) -> list[Call]:
    """The calls of a row for inferring tools; what cannot be read is reported when the row is."""
    try:
        return without_answer(
            _messages(fields.get("messages")),
            read_calls(fields["tool_calls"], "tool_calls") if "tool_calls" in fields else None,
        )[1]
    except UnusableRequest:
        return []


def category_for(calls: int, tools: int) -> str:
    """The category whose rules fit a row with so many expected calls and tools."""
    if calls == 0:
        return "irrelevance"
    if calls == 1:
        return "simple_python" if tools == 1 else "multiple"
    return "parallel" if tools == 1 else "parallel_multiple"


def answer_from(calls: Iterable[tuple[str, Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """Possible answers that accept exactly these calls' arguments."""
    return [{name: {key: _accepted(value) for key, value in arguments.items()}} for name, arguments in calls]


def _accepted(value: Any) -> list[Any]:
    """One accepted value. Inside objects the leaderboard wants a list of alternatives per key."""
    if isinstance(value, list):
        return [[_alternatives(item) if isinstance(item, dict) else item for item in value]]
    return [_alternatives(value) if isinstance(value, dict) else value]


def _alternatives(value: Mapping[str, Any]) -> dict[str, list[Any]]:
    return {key: [entry] for key, entry in value.items()}


def documents_from(tools: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Chat-completions tools → function documents, with the leaderboard's names for ``number`` and ``object``."""
    return [_document(tool["function"]) for tool in tools]


def _document(function: Mapping[str, Any]) -> dict[str, Any]:
    parameters = function.get("parameters") or {}
    properties = {name: _aliased(details) for name, details in (parameters.get("properties") or {}).items()}
    known = {"type": "dict", "properties": properties, "required": list(parameters.get("required") or ())}
    return {"name": function.get("name"), "description": function.get("description", ""), "parameters": known}


def _aliased(details: Any) -> Any:
    if not isinstance(details, dict):
        return details
    name = details.get("type")
    changed = {**details, "type": _ALIASES.get(name, name) if isinstance(name, str) else name}
    if isinstance(details.get("items"), dict):
        changed["items"] = _aliased(details["items"])
    return changed


def left_open(calls: Sequence[tuple[str, Mapping[str, Any]]]) -> str | None:
    """The thing that the expected calls leave open about their tools, or None where tools can be made of them."""
    if not calls:
        return "no row expects a call"
    spelled: dict[str, str] = {}
    kinds: dict[tuple[str, str], object] = {}
    for name, arguments in calls:
        if spelled.setdefault(sent_name(name), name) != name:
            return f"{name!r} and {spelled[sent_name(name)]!r} would be one tool"
        for key, value in arguments.items():
            if value is None or value == []:
                return f"{name}.{key} is {json.dumps(value)}, which has no type"
            if kinds.setdefault((name, key), _schema_of(value)) != _schema_of(value):
                return f"{name}.{key} is of several types"
    return None


def inferred_tools(calls: Sequence[tuple[str, Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """Tools that fit these calls: every argument seen, with the type of its first value. A last resort, by request.

    ``a.b`` and ``a_b`` are one tool, because they are to a vendor, and vendors refuse two of one name.
    """
    properties: dict[str, dict[str, Any]] = {}
    spelled: dict[str, str] = {}
    for name, arguments in calls:
        known = properties.setdefault(spelled.setdefault(sent_name(name), name), {})
        for key, value in arguments.items():
            known.setdefault(key, _schema_of(value))
    return [
        {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": known}}}
        for name, known in properties.items()
    ]


def _schema_of(value: object) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"type": "boolean"}
    if isinstance(value, list):
        return {"type": "array", "items": _schema_of(value[0]) if value else {"type": "string"}}
    kinds = {str: "string", int: "integer", float: "number", dict: "object"}
    return {"type": kinds.get(type(value), "string")}
