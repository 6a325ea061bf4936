"""Where in a JSON Schema other schemas stand, of every draft; it judges nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

# A schema each, applied to the same value.
_HERE = frozenset({"not", "if", "then", "else"})
_HERE_LISTS = frozenset({"allOf", "anyOf", "oneOf"})
_HERE_MAPS = frozenset({"dependentSchemas", "dependencies"})
# A schema each, applied to what the value holds; ``items`` may be a list of them.
_INSIDE = frozenset({
    "items", "additionalItems", "additionalProperties", "unevaluatedItems", "unevaluatedProperties", "contains",
    "propertyNames",
})  # fmt: skip
_INSIDE_LISTS = frozenset({"prefixItems", "items"})
_INSIDE_MAPS = frozenset({"properties", "patternProperties"})
_DEFINITIONS = frozenset({"$defs", "definitions"})
REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")

_ONES = _HERE | _INSIDE
_LISTS = _HERE_LISTS | _INSIDE_LISTS
MAPS = _HERE_MAPS | _INSIDE_MAPS | _DEFINITIONS

Node = Mapping[str, Any]


def applied_here(node: Node) -> Iterator[Node]:
    """The schemas that judge the same value as ``node``, references aside."""
    for word, value in node.items():
        if word in _HERE and isinstance(value, dict):
            yield value
        elif word in _HERE_LISTS and isinstance(value, list):
            yield from _schemas(value)
        elif word in _HERE_MAPS and isinstance(value, dict):
            yield from _schemas(list(value.values()))


def applied_inside(node: Node, value: object) -> Iterator[tuple[Node, object]]:
    """(schema, value) of everything inside ``value`` that ``node`` has judged; rather too many than too few."""
    if isinstance(value, dict):
        named = node.get("properties")
        for name, schema in named.items() if isinstance(named, dict) else ():
            if name in value and isinstance(schema, dict):
                yield schema, value[name]
        patterns = node.get("patternProperties")
        everywhere = _schemas(list(patterns.values())) if isinstance(patterns, dict) else []
        everywhere += _under(node, "additionalProperties", "unevaluatedProperties")
        yield from ((schema, held) for schema in everywhere for held in value.values())
        yield from ((schema, name) for schema in _under(node, "propertyNames") for name in value)
    elif isinstance(value, list):
        for word in _INSIDE_LISTS:
            places = node.get(word)
            if isinstance(places, list):
                yield from (pair for pair in zip(places, value, strict=False) if isinstance(pair[0], dict))
        everywhere = _under(node, "items", "additionalItems", "unevaluatedItems", "contains")
        yield from ((schema, held) for schema in everywhere for held in value)


def subschemas(node: Node) -> Iterator[Node]:
    """Every schema that stands in ``node``, definitions included, one level down."""
    for word, value in node.items():
        if word in _ONES and isinstance(value, dict):
            yield value
        elif word in _LISTS and isinstance(value, list):
            yield from _schemas(value)
        elif word in MAPS and isinstance(value, dict):
            yield from _schemas(list(value.values()))


def rewritten(node: Node, rewrite: Any) -> dict[str, Any]:
    """``node`` with ``rewrite`` applied to every schema in it, one level down."""
    made: dict[str, Any] = {}
    for word, value in node.items():
        if word in _ONES and isinstance(value, dict):
            made[word] = rewrite(value)
        elif word in _LISTS and isinstance(value, list):
            made[word] = [rewrite(item) if isinstance(item, dict) else item for item in value]
        elif word in MAPS and isinstance(value, dict):
            made[word] = {name: rewrite(item) if isinstance(item, dict) else item for name, item in value.items()}
        else:
            made[word] = value
    return made


def _under(node: Node, *words: str) -> list[Node]:
    return _schemas([node.get(word) for word in words])


def _schemas(values: list[Any]) -> list[Node]:
    return [value for value in values if isinstance(value, dict)]
