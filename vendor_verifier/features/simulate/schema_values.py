"""Values that a JSON schema accepts: the arguments of made-up tool calls."""

from __future__ import annotations

import importlib
import random
from typing import Any

# The parser of the standard library's own regular expressions; typeshed does not have it.
_PATTERNS: Any = importlib.import_module("re._parser")
_FORMATS = {
    "date": "2026-03-14",
    "date-time": "2026-03-14T09:30:00Z",
    "time": "09:30:00Z",
    "email": "ana@example.com",
    "uri": "https://example.com/17",
    "uuid": "3f2b8c1e-5d47-4a09-9b6e-0c1d2e3f4a5b",
    "ipv4": "192.0.2.17",
    "hostname": "a.example.com",
}
_CATEGORIES = {"CATEGORY_DIGIT": "0123456789", "CATEGORY_SPACE": " ", "CATEGORY_NOT_DIGIT": "abcxyz"}
_DEEP = 4


def value_for(schema: Any, root: Any, dice: random.Random, words: list[str], depth: int = 0) -> Any:
    """A value for ``schema``, which is a part of ``root``; texts are made of ``words``."""
    schema = schema if isinstance(schema, dict) else {}
    if "$ref" in schema:
        found: Any = root
        for part in str(schema["$ref"]).lstrip("#/").split("/"):
            found = found.get(part, {})
        return {} if depth > 3 * _DEEP else value_for(found, root, dice, words, depth + 1)
    for key in ("allOf", "anyOf", "oneOf"):
        if schema.get(key):
            rest = {name: value for name, value in schema.items() if name != key}
            parts = schema[key] if key == "allOf" else [dice.choice(schema[key][:1] if depth > _DEEP else schema[key])]
            for part in parts:
                rest = {**rest, **part, "properties": {**rest.get("properties", {}), **part.get("properties", {})}}
            required = [name for part in (schema, *parts) for name in part.get("required", ())]
            return value_for({**rest, "required": required}, root, dice, words, depth)
    if "const" in schema:
        return schema["const"]
    for key in ("enum", "examples"):
        if schema.get(key):
            return dice.choice(schema[key])
    kind = schema.get("type") or ("object" if schema.get("properties") else "string")
    kind = next((each for each in kind if each != "null"), "null") if isinstance(kind, list) else kind
    if kind == "object":
        properties, required = schema.get("properties") or {}, schema.get("required") or []
        names = [name for name in properties if name in required or (depth < _DEEP and dice.random() < 0.5)]
        names += [name for name in required if name not in properties]
        return {name: value_for(properties.get(name), root, dice, words, depth + 1) for name in names}
    if kind == "array":
        items: list[Any] = []
        # Some more draws than items, because equal ones may have to be left out.
        for _ in range(8 * schema.get("minItems", 1)):
            item = value_for(schema.get("items"), root, dice, words, depth + 1)
            if len(items) < schema.get("minItems", 1) and not (schema.get("uniqueItems") and item in items):
                items.append(item)
        return items
    if kind in ("integer", "number"):
        return _number(schema, kind, dice)
    if kind in ("boolean", "null"):
        return dice.random() < 0.5 if kind == "boolean" else None
    return _text(schema, dice, words)


def _number(schema: dict[str, Any], kind: str, dice: random.Random) -> int | float:
    step = schema.get("multipleOf") or (1 if kind == "integer" else 0.5)
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    high = schema.get("maximum", schema.get("exclusiveMaximum"))
    low = min(0, high - 40 * step) if low is None and high is not None else low or 0
    least = int(-(-low // step)) + ("exclusiveMinimum" in schema)
    most = least + 40 if high is None else int(high // step) - ("exclusiveMaximum" in schema)
    value = dice.randint(least, max(least, most)) * step
    return int(value) if kind == "integer" else round(value, 6)


def _text(schema: dict[str, Any], dice: random.Random, words: list[str]) -> str:
    if "pattern" in schema:
        return _matching(_PATTERNS.parse(schema["pattern"]), dice)
    if schema.get("format") in _FORMATS:
        return _FORMATS[schema["format"]]
    text = " ".join(dice.choice(words) for _ in range(2))
    while len(text) < schema.get("minLength", 0):
        text += " " + dice.choice(words)
    return text[: schema.get("maxLength")]


def _matching(pattern: Any, dice: random.Random) -> str:
    """A text for a parsed pattern without look-arounds and back references."""
    text = ""
    for code, given in pattern:
        match str(code):
            case "LITERAL":
                text += chr(given)
            case "ANY" | "NOT_LITERAL":
                text += "k"
            case "IN":
                text += _member(given, dice)
            case "SUBPATTERN":
                text += _matching(given[-1], dice)
            case "BRANCH":
                text += _matching(dice.choice(given[1]), dice)
            case "MAX_REPEAT" | "MIN_REPEAT":
                least, most, inner = given
                text += "".join(_matching(inner, dice) for _ in range(dice.randint(least, min(most, least + 3))))
    return text


def _member(members: Any, dice: random.Random) -> str:
    if str(members[0][0]) == "NEGATE":
        return "k"
    code, given = dice.choice(members)
    if str(code) == "CATEGORY":
        return dice.choice(_CATEGORIES.get(str(given), "k"))
    return chr(given if str(code) == "LITERAL" else dice.randint(*given))
