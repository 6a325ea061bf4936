"""Calls of a reply, read for judging; and calls that a row accepts, written for demonstrations and tests only."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from vendor_verifier.suites.bfcl.categories import expects_no_call, is_relevance, language_of
from vendor_verifier.suites.bfcl.function_docs import sent_name
from vendor_verifier.suites.bfcl.verdict import Language, json_equal
from vendor_verifier.values.record import Attempt

Outcome = Literal["error", "calls", "unparsable", "text", "no_call"]
OUTCOMES: tuple[Outcome, ...] = ("calls", "text", "unparsable", "no_call", "error")


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's answer. ``calls`` are ``{name: arguments}``; ``wrong_form``: arguments were read but are no object."""

    outcome: Outcome
    calls: list[dict[str, dict[str, Any]]] = field(default_factory=list)
    wrong_form: bool = False
    reason: str | None = None


def read_reply(attempt: Attempt) -> Reply:
    """The reply of one final attempt. Calls with neither name nor arguments are no calls."""
    response = attempt.response
    if response is None or not attempt.succeeded:
        failure = attempt.failure
        return Reply("error", reason=f"{failure.kind}: {failure.message}" if failure else "no answer")
    calls = [call for call in response.tool_calls if call.name or call.arguments.strip()]
    if not calls:
        return Reply("text" if response.text else "no_call")
    read: list[dict[str, dict[str, Any]]] = []
    for call in calls:
        try:
            arguments = json.loads(call.arguments)
        except (ValueError, RecursionError) as error:
            return Reply("unparsable", reason=f"arguments of {call.name!r} are not JSON: {error}"[:300])
        read.append({call.name: arguments})
    strange = [call.name for call, entry in zip(calls, read, strict=True) if type(entry[call.name]) is not dict]
    if strange:
        return Reply("unparsable", wrong_form=True, reason=f"arguments of {strange[0]!r} are no object")
    return Reply("calls", read)


def made_calls(reply: Reply) -> list[tuple[str, dict[str, Any]]] | None:
    """(name, arguments) of each call, in order; None when there was an error or a call that cannot be read."""
    if reply.outcome in ("error", "unparsable"):
        return None
    return [(name, arguments) for call in reply.calls for name, arguments in call.items()]


Call = tuple[str, Mapping[str, Any]]


def exact_match(wanted: Sequence[Call], made: Sequence[Call] | None) -> dict[str, float]:
    """``function_name_accuracy`` and ``function_name_and_args_accuracy`` of one row, each 1.0 or 0.0.

    The first asks for the same names as often as wanted, the second for the same calls. Dots equal underscores in
    names, ``1`` equals ``1.0``, ``true`` equals neither. ``made`` is None when the reply could not be read: both 0.0.
    """
    if made is None:
        return {"function_name_accuracy": 0.0, "function_name_and_args_accuracy": 0.0}
    names = Counter(sent_name(name) for name, _ in wanted) == Counter(sent_name(name) for name, _ in made)
    return {
        "function_name_accuracy": float(names),
        "function_name_and_args_accuracy": float(names and _same_calls(wanted, made)),
    }


def _same_calls(wanted: Sequence[Call], made: Sequence[Call]) -> bool:
    left = list(made)
    for name, arguments in wanted:
        place = next((index for index, call in enumerate(left) if _same(call, (name, arguments))), None)
        if place is None:
            return False
        # By place: removing by value would take ``true`` for ``1``.
        del left[place]
    return not left


def _same(one: Call, other: Call) -> bool:
    return sent_name(one[0]) == sent_name(other[0]) and json_equal(dict(one[1]), dict(other[1]))


ReferenceCall = tuple[str, dict[str, Any]]
_NOTHING = object()


def reference_calls(expected: Mapping[str, Any]) -> list[ReferenceCall]:
    """(name as sent, arguments) of each call of a perfect reply: the first accepted values, what may be left out left
    out. Rows that accept no call give none; where any call is right, the first function is called without arguments.
    """
    category = str(expected["category"])
    functions: Sequence[Mapping[str, Any]] = expected["functions"]
    if expects_no_call(category):
        return []
    if is_relevance(category):
        return [(sent_name(str(functions[0]["name"])), {})] if functions else []
    language = language_of(category)
    return [_call(answer, functions, language) for answer in expected.get("answer") or ()]


def _call(answer: Mapping[str, Any], functions: Sequence[Mapping[str, Any]], language: Language) -> ReferenceCall:
    name, accepted = next(iter(answer.items()))
    # A simple row's only document is the right one, whatever name its answer has.
    document = next((function for function in functions if function.get("name") == name), functions[0])
    properties, required = document["parameters"]["properties"], document["parameters"]["required"]
    arguments: dict[str, Any] = {}
    for parameter, options in accepted.items():
        if "" in options and parameter not in required:
            continue
        value = _first(options)
        if value is _NOTHING:
            value = ""
        details = properties.get(parameter) or {}
        arguments[parameter] = value if language == "python" else _source(value, details, language)
    return sent_name(str(document["name"])), arguments


def _first(options: Sequence[Any]) -> Any:
    for option in options:
        if option != "":
            return _plain(option)
    return _NOTHING


def _plain(option: Any) -> Any:
    """An accepted value without the lists of alternatives inside objects."""
    if isinstance(option, dict):
        entries = {key: _first_entry(accepted) for key, accepted in option.items()}
        return {key: value for key, value in entries.items() if value is not _NOTHING}
    return [_plain(item) if isinstance(item, dict) else item for item in option] if isinstance(option, list) else option


def _first_entry(accepted: Any) -> Any:
    if not isinstance(accepted, list):
        return accepted
    return _NOTHING if "" in accepted else next(iter(accepted), _NOTHING)


def _source(value: Any, details: Mapping[str, Any], language: Language) -> str:
    """The value as source text of its language."""
    name = str(details.get("type"))
    if isinstance(value, list):
        element = str((details.get("items") or {}).get("type"))
        items = ", ".join(_element(item, element, name, language) for item in value)
        if language == "javascript":
            return f"[{items}]"
        if name == "ArrayList":
            return f"new ArrayList<>(Arrays.asList({items}))" if value else "new ArrayList<>()"
        return f"new {element}[]{{{items}}}"
    if isinstance(value, dict):
        if language == "javascript":
            return "{" + ", ".join(f"{key}: {_literal(item)}" for key, item in value.items()) + "}"
        puts = " ".join(f'put("{key}", {_literal(item)});' for key, item in value.items())
        return f"new HashMap<>() {{{{ {puts} }}}}"
    return value if isinstance(value, str) else _scalar(value, name, language)


def _element(item: Any, element: str, collection: str, language: Language) -> str:
    """Members of a Java array keep their quotes when read, those of other collections lose them."""
    if isinstance(item, str):
        return item if collection == "Array" or element == "any" else json.dumps(item, ensure_ascii=False)
    if isinstance(item, dict):
        return "{" + ", ".join(f"{key}: {_literal(entry)}" for key, entry in item.items()) + "}"
    return _scalar(item, element, language)


def _literal(item: Any) -> str:
    if isinstance(item, list):
        return "[" + ", ".join(_literal(entry) for entry in item) + "]"
    return json.dumps(item, ensure_ascii=False)


def _scalar(value: Any, type_name: str, language: Language) -> str:
    suffixes = {"long": "L", "float": "f"} if language == "java" else {"Bigint": "n"}
    return json.dumps(value) + suffixes.get(type_name, "")
