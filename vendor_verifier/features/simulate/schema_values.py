"""Values that a JSON schema accepts: the arguments of made-up tool calls."""

from __future__ import annotations

import random
import re
from typing import Any

# Texts for the patterns that tools of real data sets state.
_SHAPES = """EUR DE ACME 7 2026 123456789012 09:30 2026-03-14 P-12345 F-2026-017 LX1952 A1B2C3 DE89370400440532013000
#a1b2c3 #general +4912345678 10.1000/182 1.2.3 a.b north Europe/Berlin https://example.com ana@example.com""".split()
_DEEP = 4


def value_for(schema: Any, root: Any, dice: random.Random, words: list[str], depth: int = 0) -> Any:
    """A value for ``schema``, which is a part of ``root``; texts are made of ``words``."""
    schema = schema if isinstance(schema, dict) else {}
    if "$ref" in schema and depth < 4 * _DEEP:
        found = root
        for part in str(schema["$ref"]).lstrip("#/").split("/"):
            found = found.get(part, {})
        return value_for(found, root, dice, words, depth + 1)
    for key in ("allOf", "anyOf", "oneOf"):
        if key in schema:
            short = min(schema[key], key=lambda each: ("$ref" in str(each), len(str(each))))
            parts = schema[key] if key == "allOf" else [short if depth > _DEEP else dice.choice(schema[key])]
            merged = {name: value for name, value in schema.items() if name != key}
            for part in parts:
                required = [*merged.get("required", ()), *part.get("required", ())]
                properties = {**merged.get("properties", {}), **part.get("properties", {})}
                merged = {**merged, **part, "required": required, "properties": properties}
            return value_for(merged, root, dice, words, depth)
    if choices := [schema["const"]] if "const" in schema else schema.get("enum") or schema.get("examples"):
        return dice.choice(choices)
    kind = schema.get("type") or ("object" if schema.get("properties") else "string")
    kind = next((each for each in kind if each != "null"), "null") if isinstance(kind, list) else kind
    if kind == "object":
        known, required = schema.get("properties", {}), schema.get("required", ())
        optional = [name for name in known if name not in required and depth < _DEEP and dice.random() < 0.5]
        return {name: value_for(known.get(name), root, dice, words, depth + 1) for name in (*required, *optional)}
    if kind == "array":
        count = schema.get("minItems", 1)
        # More draws than items, because equal ones may have to be left out.
        items = [value_for(schema.get("items"), root, dice, words, depth + 1) for _ in range(8 * count)]
        unique = [item for at, item in enumerate(items) if not schema.get("uniqueItems") or item not in items[:at]]
        return unique[:count]
    if kind in ("integer", "number"):
        return _number(schema, dice, whole=kind == "integer")
    if kind == "boolean":
        return dice.random() < 0.5
    return _text(schema, dice, words) if kind == "string" else None


def _number(schema: dict[str, Any], dice: random.Random, *, whole: bool) -> int | float:
    step = schema.get("multipleOf", 1 if whole else 0.5)
    high = schema.get("maximum", schema.get("exclusiveMaximum"))
    low = schema.get("minimum", schema.get("exclusiveMinimum", 0 if high is None else min(0, high)))
    least = int(-(-low // step)) + ("exclusiveMinimum" in schema)
    most = least + 40 if high is None else int(high // step) - ("exclusiveMaximum" in schema)
    value = dice.randint(least, max(least, most)) * step
    return int(value) if whole else round(value, 6)


def _text(schema: dict[str, Any], dice: random.Random, words: list[str]) -> str:
    if "pattern" in schema:
        return next((shape for shape in _SHAPES if re.search(schema["pattern"], shape)), words[0])
    text = " ".join(dice.choices(words, k=2 + schema.get("minLength", 0)))
    return text[: schema.get("maxLength", 20 + schema.get("minLength", 0))]
