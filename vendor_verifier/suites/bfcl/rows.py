"""Rows of BFCL → samples, in its native layout or in that of the published page for custom data; it opens no file.

Questions and answers are joined by id. A sample's identity is a digest of its category and its row without id.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from msgspec import structs

from vendor_verifier.errors import DataError, Problem
from vendor_verifier.loaders.base import LoadedSamples, Question, Row, UnusableRequest, kind_of, read_rows
from vendor_verifier.loaders.building import build_samples
from vendor_verifier.records.request import Turn
from vendor_verifier.records.sample import digest_of
from vendor_verifier.suites.bfcl.categories import EXECUTABLE, MULTI_TURN, REST, is_relevance, language_of
from vendor_verifier.suites.bfcl.checker import Call, refuse_uncheckable
from vendor_verifier.suites.bfcl.function_docs import sent_name, tools_of
from vendor_verifier.suites.bfcl.multi_turn import read_expected_call
from vendor_verifier.suites.calls import first_problem, read_calls, same_value

_ROLES = ("system", "developer", "user", "assistant", "tool")
_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", dict: "object"}

ServiceDocs = Mapping[str, Sequence[dict[str, Any]]]
"""Simulated class → its function documents (``multi_turn_func_doc/``)."""


def read_category(
    questions: Iterable[bytes],
    answers: Iterable[bytes],
    *,
    category: str,
    file: Path,
    answer_file: Path,
    version: str | None = None,
    service_docs: ServiceDocs = {},  # noqa: B006 - never changed
    skip_bad: bool = False,
) -> LoadedSamples:
    """Read one category (v4 name); ``questions`` are the lines of ``file``, ``answers`` those of ``answer_file``.

    ``version`` of the data is kept with every sample. ``service_docs`` are for multi-turn rows. Raises DataError for
    unusable rows (all of them, unless ``skip_bad``), or no row at all.
    """
    problems: list[Problem] = []
    truths: dict[str, Any] = {}
    for row in read_rows(answers, answer_file):
        if isinstance(row, Problem):
            problems.append(row)
        elif isinstance(row.fields.get("id"), str) and isinstance(row.fields.get("ground_truth"), list):
            truths[row.fields["id"]] = row.fields["ground_truth"]
        else:
            problems.append(Problem("expected an id and a list ground_truth", answer_file, row.line))
    rows = list(read_rows(questions, file))
    asked = {str(row.fields.get("id")) for row in rows if isinstance(row, Row)}
    lonely, spare, defects = asked - truths.keys(), truths.keys() - asked, []
    if len(lonely) == len(spare) == 1:
        # An id is misspelled in upstream's v3 data. With more of either, nothing is guessed.
        (name,), (filed,) = lonely, spare
        truths[name] = truths[filed]
        defects.append(f"{name}: its answer is filed under {filed}")

    def read(fields: Mapping[str, Any]) -> Question:
        tags = {"category": category, "bfcl_id": fields.get("id"), **({"bfcl_data": version} if version else {})}
        return _read(fields, category, truths, service_docs, tags)

    every = [*problems, *rows]
    loaded = build_samples(every, read, dataset=file.name, file=file, wanted=f"BFCL's {category}", skip_bad=skip_bad)
    return structs.replace(loaded, defects=tuple(defects))


def _read(
    fields: Mapping[str, Any], category: str, truths: Mapping[str, Any], docs: ServiceDocs, tags: dict[str, Any]
) -> Question:
    name = fields.get("id")
    if not isinstance(name, str):
        raise UnusableRequest(f"expected a text, read {kind_of(name)}", "id")
    # Rows of executable categories carry their right calls themselves.
    answer = truths.get(name, fields.get("ground_truth") if category in EXECUTABLE else None)
    if not answer and not is_relevance(category):
        raise UnusableRequest(f"{name!r} has no possible answer", "id")
    turns = fields.get("question")
    lists = isinstance(turns, list) and all(isinstance(turn, list) for turn in turns)
    if not turns or not lists or not all(isinstance(message, dict) for turn in turns for message in turn):
        raise UnusableRequest("expected a list of turns, each a list of messages", "question")
    expected: dict[str, Any] = {"id": name, "category": category}
    content = {key: value for key, value in fields.items() if key != "id"}
    if category in MULTI_TURN:
        turn, more = _several_turns(fields, turns, docs)
        digest = digest_of([category, content, more.pop("docs")])
        return Question(turn, tags, {**expected, **more, "answer": answer}, digest=digest)
    functions = fields.get("function")
    functions = [functions] if isinstance(functions, dict) else functions
    if not isinstance(functions, list) or not all(isinstance(function, dict) for function in functions):
        raise UnusableRequest(f"expected a list of function documents, read {kind_of(functions)}", "function")
    if len(turns) != 1 or not turns[0]:
        raise UnusableRequest(f"expected one turn with messages, read {len(turns)} turns", "question")
    turn = Turn(tuple(turns[0]), tools_of(functions, language_of(category)))
    if category in EXECUTABLE:
        answer = _possible_answers(answer, functions)
    expected |= {"functions": functions, "answer": answer}
    if category not in REST and not is_relevance(category):
        try:
            refuse_uncheckable(category, functions, answer)
        except DataError as error:
            raise UnusableRequest(error.problems[0].message, "function") from None
    return Question(turn, tags, expected, digest=digest_of([category, content]))


def _possible_answers(sources: object, functions: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The calls that an executable row states, as possible answers; places get the names of their parameters."""
    names = {each.get("name"): list((each.get("parameters") or {}).get("properties") or {}) for each in functions}
    answers = []
    for source in sources if isinstance(sources, list) else [sources]:
        try:
            call = read_expected_call(str(source))
        except DataError as error:
            raise UnusableRequest(error.problems[0].message, "ground_truth") from None
        arguments = {**dict(zip(names.get(call.name, ()), call.positional, strict=False)), **call.named}
        answers.append({call.name: {key: [_alternatives(value)] for key, value in arguments.items()}})
    return answers


def _alternatives(value: Any) -> Any:
    """An accepted value as answers have it: inside an object a list of alternatives per key."""
    if isinstance(value, dict):
        return {key: [entry] for key, entry in value.items()}
    return list(value) if isinstance(value, tuple) else value


def _several_turns(
    fields: Mapping[str, Any], turns: list[list[dict[str, Any]]], docs: ServiceDocs
) -> tuple[Turn, dict[str, Any]]:
    """The first turn with the tools it has; later turns, and tools that come with one of them, wait in the rest."""
    classes = fields.get("involved_classes")
    if not isinstance(classes, list) or not all(isinstance(name, str) for name in classes):
        raise UnusableRequest("expected a list of names", "involved_classes")
    missing = [name for name in classes if name not in docs]
    if missing:
        words = f"no function documents for {missing[0]!r} (multi_turn_func_doc/)"
        raise UnusableRequest(words, "involved_classes")
    documents = [document for name in classes for document in docs[name]]
    tools = {str(tool["function"]["name"]): tool for tool in tools_of(documents, "python")}
    missed = fields.get("missed_function") or {}
    hidden = {name for names in missed.values() for name in names}
    later = {
        "turns": turns,
        "withheld": {turn: [tools[name] for name in names if name in tools] for turn, names in missed.items()},
        "initial_config": fields.get("initial_config") or {},
        "involved_classes": classes,
        "docs": documents,
    }
    return Turn(tuple(turns[0]), tuple(tool for name, tool in tools.items() if name not in hidden)), later


def read_custom(
    lines: Iterable[bytes], *, file: Path, category: str | None = None, skip_bad: bool = False
) -> LoadedSamples:
    """Read custom rows. Rows without ``tools`` get tools that are made of the calls that all rows expect.

    ``category`` (v4 name) is that of all rows; by default it fits a row's number of calls and tools. Raises DataError
    for unusable rows (all of them, unless ``skip_bad``), or no row at all.
    """
    rows = list(read_rows(lines, file))
    made, numbers = _made_tools(rows), count()

    def read(fields: Mapping[str, Any]) -> Question:
        messages, calls = _question(fields)
        tools = _tools(fields) or made
        if not tools:
            raise UnusableRequest("the row has no tools, and no row expects a call to make them of", "tools")
        several = "parallel" if len(calls) > 1 else ""
        fitting = "_".join(filter(None, [several, "multiple" if len(tools) > 1 else ""])) or "simple_python"
        kind = category or (fitting if calls else "irrelevance")
        stated = [{"name": name, "arguments": dict(arguments)} for name, arguments in calls]
        expected = {"id": f"{kind}_{next(numbers)}", "category": kind, "calls": stated}
        tags = {"category": kind, "bfcl_id": expected["id"], "bfcl_data": file.name, "bfcl_custom": True}
        tags |= {"bfcl_inferred": True} if tools is made else {}
        turn = Turn(tuple(messages), tuple(tools))
        return Question(turn, tags, expected, digest=digest_of([kind, messages, tools]))

    return build_samples(rows, read, dataset=file.name, file=file, wanted="messages and tool_calls", skip_bad=skip_bad)


def _question(fields: Mapping[str, Any]) -> tuple[list[dict[str, Any]], list[Call]]:
    """(what is sent, the calls expected). Nothing is sent from the first assistant turn with calls on: the answer.

    Raises UnusableRequest where that and the stated calls disagree, or nothing is left to ask.
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
