"""The calls of a perfect reply to a row: of its own answers, for a check of the data and for simulated vendors."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from vendor_verifier.suites.bfcl.categories import REST, Language, is_relevance, language_of
from vendor_verifier.suites.bfcl.function_docs import sent_name

ReferenceCall = tuple[str, dict[str, Any]]
_NOTHING = object()


def reference_calls(expected: Mapping[str, Any]) -> list[ReferenceCall]:
    """(name as sent, arguments) of each call: the first accepted values; what may be left out is left out.

    Rows that accept or state no call give none; where any call is right, it is the first function without arguments.
    """
    category = expected["category"]
    functions: Sequence[Mapping[str, Any]] = expected["functions"]
    if category in REST:
        return []
    if is_relevance(category):
        any_call = "irrelevance" not in category and bool(functions)
        return [(sent_name(functions[0]["name"]), {})] if any_call else []
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
        value = next((_plain(option) for option in options if option != ""), "")
        details = properties.get(parameter) or {}
        arguments[parameter] = value if language == "python" else _source(value, details, language)
    return sent_name(document["name"]), arguments


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
