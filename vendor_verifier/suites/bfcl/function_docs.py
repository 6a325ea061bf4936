"""Function documents in the leaderboard's dialect → chat-completions tools, and the calls of a perfect reply to a row.

The translation is upstream's own, but for one thing: a ``response`` schema moves into the description, because strict
hosts refuse it inside the tool.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from vendor_verifier.suites.bfcl.categories import REST, Language, is_relevance, language_of
from vendor_verifier.suites.bfcl.literals import read_java, read_javascript

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
    # Upstream does this for JavaScript only; its Java rows have no such schema, and a string with one is not a schema.
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


ReferenceCall = tuple[str, dict[str, Any]]


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
        known = {key: accepted if isinstance(accepted, list) else [accepted] for key, accepted in option.items()}
        return {key: accepted[0] for key, accepted in known.items() if accepted and "" not in accepted}
    return [_plain(item) if isinstance(item, dict) else item for item in option] if isinstance(option, list) else option


def _source(value: Any, details: Mapping[str, Any], language: Language) -> str:
    """The value as source text of its language: the first of all ways to write it that reads as the value."""
    if isinstance(value, str):
        return value
    name, element = str(details.get("type")), str((details.get("items") or {}).get("type"))
    text = json.dumps(value, ensure_ascii=False)
    # The texts of an array in Java are read with their quotes.
    bare = ", ".join(item if isinstance(item, str) else json.dumps(item) for item in value) if name == "Array" else ""
    puts = " ".join(f"put({json.dumps(key)}, {json.dumps(value[key])});" for key in value) if name == "HashMap" else ""
    ways = [text, f"{text}L", f"{text}f", f"{text}n", f"new ArrayList<>(Arrays.asList({text[1:-1]}))"]
    ways += [f"new {element}[]{{{bare}}}", "new ArrayList<>()", f"new HashMap<>() {{{{ {puts} }}}}"]
    read = read_java if language == "java" else read_javascript
    return next((way for way in ways if read(way, name, element) == value), text)
