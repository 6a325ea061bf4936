"""Custom rows in terms of the checker: categories, answers and documents from calls and tools; it reads no lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from vendor_verifier.suites.bfcl.function_docs import sent_name

_ALIASES = {"number": "float", "object": "dict"}


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
