"""Calls that a row accepts, written for demonstrations and tests only; nothing is judged by them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from vendor_verifier.suites.bfcl.categories import expects_no_call, is_relevance, language_of
from vendor_verifier.suites.bfcl.function_docs import sent_name
from vendor_verifier.suites.bfcl.replies import is_written, rules_of
from vendor_verifier.suites.bfcl.text_calls import Reading
from vendor_verifier.suites.bfcl.verdict import Language

ReferenceCall = tuple[str, dict[str, Any]]
_NOTHING = object()


def reference_calls(expected: Mapping[str, Any]) -> list[ReferenceCall]:
    """(name as sent, arguments) of each call of a perfect reply: the first accepted values, what may be left out left
    out. Rows that accept no call give none; where any call is right, the first function is called without arguments.
    """
    category, written = rules_of(expected), is_written(expected)
    functions: Sequence[Mapping[str, Any]] = expected["functions"]
    if expects_no_call(category):
        return []
    if is_relevance(category):
        return [(_name(functions[0], written), {})] if functions else []
    language = language_of(category)
    return [_call(answer, functions, language, written) for answer in expected.get("answer") or ()]


def _name(function: Mapping[str, Any], written: bool) -> str:
    """The function's name as it is to be called; only a written call has its dots."""
    return str(function["name"]) if written else sent_name(str(function["name"]))


def _call(
    answer: Mapping[str, Any], functions: Sequence[Mapping[str, Any]], language: Language, written: bool
) -> ReferenceCall:
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
        if written and language != "python" and isinstance(value, str):
            arguments[parameter] = json.dumps(arguments[parameter], ensure_ascii=False)
    return _name(document, written), arguments


def written_calls(calls: Sequence[tuple[str, Mapping[str, Any]]], reading: Reading) -> str:
    """Calls as a model writes them that was asked for this form; Java and JavaScript values are source already."""
    if reading.form in ("verbose_xml", "concise_xml"):
        text = "".join(_xml_call(name, arguments, reading.form == "verbose_xml") for name, arguments in calls)
        text = f"<functions>{text}</functions>"
    elif reading.form == "json":
        text = json.dumps([{"function": name, "parameters": arguments} for name, arguments in calls])
    else:
        shown = str if reading.form in ("java", "javascript") else repr
        parts = (", ".join(f"{key}={shown(value)}" for key, value in arguments.items()) for _, arguments in calls)
        text = f"[{', '.join(f'{name}({part})' for (name, _), part in zip(calls, parts, strict=True))}]"
    return f"<TOOLCALL>{text}</TOOLCALL>" if reading.tagged else text


_XML_NAMES = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "float",
    list: "array",
    tuple: "tuple",
    dict: "dict",
}


def _xml_call(name: str, arguments: Mapping[str, Any], verbose: bool) -> str:
    parts = []
    for key, value in arguments.items():
        kind = _XML_NAMES.get(type(value), "null")
        text = value if isinstance(value, str) else repr(value)
        begun = f"<param name={quoteattr(key)}"
        parts.append(
            f'{begun} value={quoteattr(text)} type="{kind}"/>'
            if verbose
            else f'{begun} type="{kind}">{escape(text)}</param>'
        )
    inside = "".join(parts)
    return f"<function name={quoteattr(name)}>{f'<params>{inside}</params>' if verbose else inside}</function>"


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
