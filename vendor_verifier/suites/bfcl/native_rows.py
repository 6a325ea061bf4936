"""A BFCL category in its native layout → samples: question lines and answer lines in; it opens no file.

Questions and answers are joined by id, never by position. A sample's identity is a digest of its category and its row
without id, so base and long-context rows that ask the same words stay apart.

A vendor is sent upstream's own translation of function documents: a hint of the language in every description, Java and
JavaScript parameters as strings that hold source text, dotted names with underscores, and type names of JSON Schema.
One thing differs: a ``response`` schema moves into the description for every vendor, where upstream leaves it inside
the tool for some, which strict hosts refuse.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vendor_verifier.errors import DataError, Problem
from vendor_verifier.loaders.base import LoadedSamples, Row, UnusableRequest, data_error, kind_of, read_rows
from vendor_verifier.records.request import Turn
from vendor_verifier.records.sample import Sample, Source, numbered
from vendor_verifier.suites.bfcl.categories import EXECUTABLE, MULTI_TURN, REST, Language, is_relevance, language_of
from vendor_verifier.suites.bfcl.checker import row_defect
from vendor_verifier.suites.bfcl.multi_turn import read_expected_call

_SCHEMA_TYPES: Mapping[str, str] = {
    **dict.fromkeys(("integer", "byte", "short", "long", "Bigint"), "integer"),
    **dict.fromkeys(("number", "float", "double"), "number"),
    **dict.fromkeys(("boolean", "bool"), "boolean"),
    **dict.fromkeys(("array", "list", "tuple", "ArrayList", "Array", "Queue", "Stack"), "array"),
    **dict.fromkeys(("dict", "object", "HashMap", "Hashtable"), "object"),
}
"""Any other type name is a string."""

_HINTS: Mapping[Language, str] = {
    "python": " Note that the provided function is in Python 3 syntax.",
    "java": " Note that the provided function is in Java 8 SDK syntax.",
    "javascript": " Note that the provided function is in JavaScript syntax.",
}


def sent_name(name: str) -> str:
    """The name a vendor knows the function by."""
    return name.replace(".", "_")


def tools_of(functions: Iterable[Mapping[str, Any]], language: Language) -> tuple[dict[str, Any], ...]:
    """Chat-completions tools, one a document, in order. Whatever a document lacks is left out, never invented."""
    return tuple({"type": "function", "function": _function(document, language)} for document in functions)


def _function(document: Mapping[str, Any], language: Language) -> dict[str, Any]:
    function = {key: value for key, value in document.items() if key != "response"}
    function["name"] = sent_name(str(document.get("name", "")))
    function["description"] = f"{document.get('description', '')}{_HINTS[language]}"
    if "response" in document:
        schema = json.dumps(document["response"])
        function["description"] += f" The response field has the following schema: {schema}"
    parameters = dict(document.get("parameters") or {})
    properties = parameters.get("properties") or {}
    if language != "python":
        properties = {name: _as_source_text(details, language) for name, details in properties.items()}
    translated = {name: _translated(details) for name, details in properties.items()}
    function["parameters"] = {**parameters, "type": "object", "properties": translated}
    return function


def _as_source_text(details: Mapping[str, Any], language: Language) -> dict[str, Any]:
    """A parameter as a string that holds Java or JavaScript source, its type stated in its description."""
    name, tongue = details.get("type"), "Java" if language == "java" else "JavaScript"
    described = dict(details)
    text = str(details.get("description", ""))
    if name == "any":
        text += f" This parameter can be of any type of {tongue} object in string representation."
    else:
        text += f" This is {tongue} {name} type parameter in string representation."
    if name in ("ArrayList", "Array") if language == "java" else name == "array":
        element = (described.pop("items", None) or {}).get("type")
        text += f" The list elements are of type {element}; they are not in string representation."
    # Upstream does this for JavaScript only; its Java rows have no such schema, and a string with one is no schema.
    if name == ("HashMap" if language == "java" else "dict") and "properties" in described:
        schema = json.dumps(described.pop("properties"))
        text += f" The dictionary entries have the following schema; they are not in string representation. {schema}"
    return {**described, "description": text, "type": "string"}


def _translated(details: Any, *, is_item: bool = False) -> Any:
    """A parameter, or the items of one, with JSON Schema's type names; a missing or unknown one is a string."""
    if not isinstance(details, dict):
        return details
    name = details.get("type")
    cast = {**details, "type": _SCHEMA_TYPES.get(name, "string") if isinstance(name, str) else "string"}
    if name == "float" and not is_item:
        cast["format"] = "float"
        cast["description"] = f"{details.get('description', '')} This is a float type value."
    if cast["type"] in ("array", "object"):
        if isinstance(cast.get("properties"), dict):
            cast["properties"] = {key: _translated(each) for key, each in cast["properties"].items()}
        elif "items" in cast:
            cast["items"] = _translated(cast["items"], is_item=True)
    return cast


ServiceDocs = Mapping[str, Sequence[dict[str, Any]]]
"""Simulated class → its function documents (``multi_turn_func_doc/``)."""


@dataclass(frozen=True, slots=True)
class ReadRow:
    """A row that was read. ``content`` is its identity; ``defect`` is the reason that its own answers fail it."""

    content: object
    turn: Turn
    expected: dict[str, Any]
    tags: Mapping[str, Any]
    defect: str | None = None


def samples_of(
    rows: Iterable[Row | Problem],
    read: Callable[[Mapping[str, Any], int], ReadRow],
    file: Path,
    skip_bad: bool,
    defects: Iterable[str] = (),
) -> LoadedSamples:
    """The samples of the rows, equal ones told apart by number. ``read`` is given a row and how many there were.

    Raises:
        DataError: unusable rows (all of them), or no row at all.
    """
    samples: list[Sample] = []
    wrong: list[Problem] = []
    peculiar, seen = list(defects), Counter[str]()
    for row in rows:
        if isinstance(row, Problem):
            wrong.append(row)
            continue
        try:
            found = read(row.fields, len(samples))
        except UnusableRequest as reason:
            wrong.append(Problem(str(reason), file, row.line, reason.key))
            continue
        text = json.dumps(found.content, sort_keys=True, separators=(",", ":"))
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        seen[digest] += 1
        name, source = numbered(digest, seen[digest]), Source(file.name, row.line)
        samples.append(Sample(name, found.turn, found.expected, found.tags, source))
        if found.defect:
            peculiar.append(f"{found.expected['id']}: its own answers fail it ({found.defect})")
    if wrong and not skip_bad:
        raise data_error(wrong)
    if not samples:
        raise data_error([Problem("the file has no row", file), *wrong])
    return LoadedSamples(tuple(samples), tuple(wrong), tuple(peculiar))


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
    """Read one category (v4 name).

    ``questions`` are the lines of ``file``, ``answers`` those of ``answer_file``; none for (ir)relevance, and rows with
    answers of their own. ``version`` of the data is kept with every sample. ``service_docs`` are for multi-turn rows.

    Raises:
        DataError: unusable lines or rows (all of them), or no row at all.
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

    def read(fields: Mapping[str, Any], _number: int) -> ReadRow:
        tags = {"category": category, "bfcl_id": fields.get("id"), **({"bfcl_data": version} if version else {})}
        return _read(fields, category, truths, service_docs, tags)

    return samples_of([*problems, *rows], read, file, skip_bad, defects)


def _read(
    fields: Mapping[str, Any], category: str, truths: Mapping[str, Any], docs: ServiceDocs, tags: dict[str, Any]
) -> ReadRow:
    name = fields.get("id")
    if not isinstance(name, str):
        raise UnusableRequest(f"expected a text, read {kind_of(name)}", "id")
    # Rows of executable categories carry their right calls themselves.
    answer = truths.get(name, fields.get("ground_truth") if category in EXECUTABLE else None)
    if not answer and not is_relevance(category):
        raise UnusableRequest(f"{name!r} has no possible answer", "id")
    turns = fields.get("question")
    if not isinstance(turns, list) or not turns or not all(_is_turn(turn) for turn in turns):
        raise UnusableRequest("expected a list of turns, each a list of messages", "question")
    expected: dict[str, Any] = {"id": name, "category": category}
    content = {key: value for key, value in fields.items() if key != "id"}
    if category in MULTI_TURN:
        turn, more = _several_turns(fields, turns, docs)
        return ReadRow([category, content, more.pop("docs")], turn, {**expected, **more, "answer": answer}, tags)
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
    try:
        defect = None if category in REST else row_defect(expected)
    except DataError as error:
        raise UnusableRequest(error.problems[0].message, "function") from None
    return ReadRow([category, content], turn, expected, tags, defect)


def _is_turn(turn: object) -> bool:
    return isinstance(turn, list) and all(isinstance(message, dict) for message in turn)


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
