"""The translation of tool schemas in common dialects of JSON Schema into JSON Schema 2020-12.

OpenAPI's ``nullable``, the type names of Python and of other cases, draft 4's ``exclusiveMinimum: true``, draft 3's
``required: true`` and draft 7's tuples are written every day without the ``$schema`` that would allow them. Each is
translated into 2020-12's words. A schema that uses none of them comes back as it is.
"""

from __future__ import annotations

import re
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


# JSON Schema's name of each type name of a dialect, in lower case; None stands for any type.
_TYPES: dict[str, str | None] = {
    "dict": "object", "map": "object", "hashmap": "object",
    "list": "array", "tuple": "array", "set": "array", "arraylist": "array",
    "str": "string", "char": "string", "int": "integer", "long": "integer", "bigint": "integer",
    "float": "number", "double": "number", "bool": "boolean", "none": "null", "any": None,
}  # fmt: skip
_STANDARD = frozenset({"object", "array", "string", "integer", "number", "boolean", "null"})
# The keywords that can refuse null; those that describe an object, a list or a text do not apply to it.
_MAY_REFUSE_NULL = (
    "$ref", "$dynamicRef", "$recursiveRef", "const", "allOf", "anyOf", "oneOf", "not", "if", "then", "else",
)  # fmt: skip
_DRAFT = re.compile(r"draft-0?([34567])\b")
_BOUNDS = (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum"))


def standard_schema(schema: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The schema in 2020-12's words, and the dialect's words found in it; the schema itself where there are none.

    ``schema`` may be nested no deeper than JSON that can be read. A ``$schema`` is taken at its word.
    """
    named = schema.get("$schema")
    if named is not None and not isinstance(named, str):
        return schema, ()
    draft = _DRAFT.search(named or "")
    reading = _Reading(int(draft.group(1)) if draft else None, is_named=bool(named))
    found = reading.node(schema)
    return (found, tuple(sorted(reading.words))) if reading.words else (schema, ())


class _Reading:
    """The state of one translation. ``draft``: 3 to 7 where the schema names one; ``words``: translated keywords."""

    def __init__(self, draft: int | None, *, is_named: bool) -> None:
        self.words: set[str] = set()
        self._draft = draft
        self._is_named = is_named

    def node(self, node: Node) -> dict[str, Any]:
        made = rewritten(node, self.node)
        self._types(made)
        if self._draft not in (3, 4):
            self._bounds(made)
        if self._draft != 3:
            self._required(made)
        if not self._is_named:
            self._tuple(made)
        return self._nullable(made)

    def _types(self, made: dict[str, Any]) -> None:
        stated = made.get("type")
        types = stated if isinstance(stated, list) else [stated]
        names = [name for name in types if isinstance(name, str)]
        if not names or len(names) < len(types) or _STANDARD.issuperset(names):
            return
        meant = [name.lower() if name.lower() in _STANDARD else _TYPES.get(name.lower(), name) for name in names]
        if meant == names:
            return
        self.words.update(f"type {name}" for name, other in zip(names, meant, strict=True) if name != other)
        if None in meant:
            del made["type"]
        else:
            made["type"] = list(dict.fromkeys(meant)) if isinstance(stated, list) else meant[0]

    def _bounds(self, made: dict[str, Any]) -> None:
        for exclusive, inclusive in _BOUNDS:
            if isinstance(made.get(exclusive), bool):
                is_exclusive = made.pop(exclusive)
                self.words.add(f"{exclusive}: {str(is_exclusive).lower()}")
                if is_exclusive and inclusive in made:
                    made[exclusive] = made.pop(inclusive)

    def _required(self, made: dict[str, Any]) -> None:
        """``required`` beside a property instead of in a list beside all of them."""
        properties = made.get("properties")
        if not isinstance(properties, dict):
            return
        needed = []
        for name, schema in properties.items():
            if isinstance(schema, dict) and isinstance(schema.get("required"), bool):
                self.words.add(f"required: {str(schema['required']).lower()}")
                properties[name] = {word: value for word, value in schema.items() if word != "required"}
                needed += [name] if schema["required"] else []
        known = made.get("required", [])
        if needed and isinstance(known, list):
            made["required"] = list(dict.fromkeys([*known, *needed]))

    def _tuple(self, made: dict[str, Any]) -> None:
        if isinstance(made.get("items"), list):
            self.words.add("items: [...]")
            made["prefixItems"] = made.pop("items")
            if "additionalItems" in made:
                made["items"] = made.pop("additionalItems")

    def _nullable(self, made: dict[str, Any]) -> dict[str, Any]:
        """``nullable`` in JSON Schema's words; what may refuse null moves into an alternative to it."""
        if made.get("nullable") is not True:
            return made
        self.words.add("nullable")
        del made["nullable"]
        stated = made.get("type")
        if isinstance(stated, (str, list)):
            made["type"] = list(dict.fromkeys([*([stated] if isinstance(stated, str) else stated), "null"]))
        if isinstance(made.get("enum"), list) and None not in made["enum"]:
            made["enum"] = [*made["enum"], None]
        refusing = {word: made.pop(word) for word in _MAY_REFUSE_NULL if word in made}
        if refusing:
            made["anyOf"] = [refusing, {"type": "null"}]
        return made
