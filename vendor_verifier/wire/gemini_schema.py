"""Converts JSON Schema to the OpenAPI subset that Gemini's ``parameters`` takes, and names what is lost on the way.

The result is only what is sent. Answers are validated against the schema as declared, so a vendor is not excused by
what this module could not say, and the loss is evidence in the request's ``rewritten``.

Theory of operation: one walk down the schema, ``$ref`` replaced by what it points to. A reference inside itself is cut,
nothing deeper than ``MAX_DEPTH`` is kept, and after ``MAX_COST`` (a schema costs 1, its entries and its lines of text)
the rest is cut, for references may double at each step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from vendor_verifier.wire.payload import as_count, as_list, as_text

MAX_DEPTH = 32
MAX_COST = 20_000
_MAX_CHAIN = 128
_MAX_LOST = 64
_MAX_BRANCHES = 64
_TYPES = frozenset({"STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"})
_FORMATS = {"STRING": ("enum", "date-time"), "NUMBER": ("float", "double"), "INTEGER": ("int32", "int64")}
_COUNTED = ("minItems", "maxItems", "minProperties", "maxProperties", "minLength", "maxLength")
_TEXTS = ("title", "description", "pattern")
_AS_IS = ("default", "example")
# Words that a union of its own cannot keep.
_NARROWING = frozenset({
    "enum", "const", "properties", "required", "items", "minimum", "maximum", "pattern", *_COUNTED,
})  # fmt: skip
# Words that constrain nothing, and words the walk deals with itself.
_SILENT = _NARROWING | {
    "$schema", "$id", "$comment", "$defs", "definitions", "examples", "deprecated", "readOnly", "writeOnly", "$anchor",
    "type", "nullable", "format", "propertyOrdering", "strict", "anyOf", "oneOf", "allOf", "$ref", "prefixItems",
    *_TEXTS, *_AS_IS,
}  # fmt: skip
_SAYS_ITS_TYPE = frozenset({"type", "$ref", "anyOf", "oneOf", "allOf", "const", "enum"})


@dataclass(frozen=True, slots=True)
class GeminiSchema:
    """The schema to send and the words of the original that it lacks (``$ref`` for a reference cut short)."""

    schema: dict[str, Any]
    lost: tuple[str, ...] = ()


def gemini_schema(schema: object) -> GeminiSchema:
    """Convert a JSON Schema of any size and shape; always ends, never raises."""
    walk = _Walk(schema)
    return GeminiSchema(walk.node(schema, 0, ()), tuple(walk.lost))


def pointed_at(root: object, reference: str) -> Mapping[str, Any] | None:
    """The schema that a reference by pointer leads to within ``root``, None where there is none."""
    if not reference.startswith("#"):
        return None
    place: object = root
    for step in unquote(reference[1:]).split("/")[1:]:
        step = step.replace("~1", "/").replace("~0", "~")
        if isinstance(place, Mapping):
            place = place.get(step)
        elif isinstance(place, (list, tuple)) and step.isdecimal() and len(step) < 6 and int(step) < len(place):
            place = place[int(step)]
        else:
            return None
    return place if isinstance(place, Mapping) else None


class _Walk:
    """``inside`` are the references on the way to a node: one that leads into itself is cut."""

    def __init__(self, root: object) -> None:
        self.lost: dict[str, None] = {}
        self._root = root
        self._left = MAX_COST

    def _lose(self, word: object) -> None:
        if len(self.lost) < _MAX_LOST:
            self.lost[str(word)[:64]] = None

    def node(self, value: object, depth: int, inside: tuple[str, ...]) -> dict[str, Any]:
        """One schema at ``depth``; always typed or a union."""
        if not isinstance(value, Mapping):
            self._lose({True: "untyped", False: "false"}[value] if isinstance(value, bool) else "malformed")
            return {"type": "STRING"}
        self._left -= 1 + sum(map(_cost, value.values()))
        if self._left < 0 or depth > MAX_DEPTH:
            self._lose("size" if self._left < 0 else "depth")
            return {"type": "OBJECT"}
        node, inside = self._followed(value, inside)
        if node is None:
            return {"type": "OBJECT"}
        self._fold(node, inside)
        for word in node:
            if word not in _SILENT and not (word == "additionalProperties" and node[word] in (True, {})):
                self._lose(word)
        types = [word for word in as_list(node.get("type")) if isinstance(word, str)]
        if len(set(types) - {"null"}) > 1:
            # A union whose branches share every other word.
            shared = {word: kept for word, kept in node.items() if word not in ("title", "description")}
            described = {"description": node["description"]} if "description" in node else {}
            return self._union(described, [{**shared, "type": word} for word in dict.fromkeys(types)], depth, inside)
        for word in ("anyOf", "oneOf"):
            branches = as_list(node.get(word))
            if branches and not node.get("properties"):
                return self._union(node, branches, depth, inside)
            if branches:
                # Next to properties it only says which of them go together, and Gemini takes one or the other.
                self._lose(word)
        return self._plain(node, depth, inside)

    def _followed(
        self, value: Mapping[str, Any], inside: tuple[str, ...]
    ) -> tuple[dict[str, Any] | None, tuple[str, ...]]:
        """The node with its references followed; ``None`` where they lead nowhere or back."""
        node = dict(value)
        while "$ref" in node:
            reference = node.pop("$ref")
            target = pointed_at(self._root, reference) if isinstance(reference, str) else None
            if target is None or reference in inside or len(inside) > _MAX_CHAIN:
                self._lose("$ref")
                return (node if "type" in node or "properties" in node else None), inside
            self._left -= 1 + sum(map(_cost, target.values()))
            inside = (*inside, reference)
            # Words next to a reference narrow it; on a clash the nearer one speaks.
            node = {**target, **node}
        return node, inside

    def _fold(self, node: dict[str, Any], inside: tuple[str, ...]) -> None:
        """Fold ``allOf`` into the node: properties and required names together, of other words the first."""
        parts = [(part, inside) for part in as_list(node.pop("allOf", None))]
        if len(parts) > 1:
            self._lose("allOf")
        while parts:
            part, within = parts.pop(0)
            self._left -= 1
            if not isinstance(part, Mapping) or self._left < 0:
                self._lose("allOf")
                return
            extra, within = self._followed(part, within)
            if extra is None:
                continue
            parts.extend((deeper, within) for deeper in as_list(extra.pop("allOf", None)))
            properties = {**_mapping(extra.get("properties")), **_mapping(node.get("properties"))}
            required = [*as_list(node.get("required")), *as_list(extra.get("required"))]
            for word, kept in extra.items():
                node.setdefault(word, kept)
            if properties:
                node["properties"] = properties
            if required:
                node["required"] = required

    def _union(self, node: dict[str, Any], branches: list[Any], depth: int, inside: tuple[str, ...]) -> dict[str, Any]:
        for word in node:
            if word in _NARROWING or word not in _SILENT:
                self._lose(word)
        nullable = node.get("nullable") is True
        shared = {"type": node["type"]} if isinstance(node.get("type"), str) else {}
        options: list[dict[str, Any]] = []
        for branch in branches:
            if isinstance(branch, Mapping) and not _SAYS_ITS_TYPE & branch.keys():
                branch = {**shared, **branch}
            option = self.node(branch, depth + 1, inside)
            nullable = nullable or option.get("type") == "NULL"
            # A union inside a union is one union, since Gemini takes nothing next to anyOf.
            for single in option.get("anyOf", [option]):
                if single.get("type") != "NULL" and len(options) < _MAX_BRANCHES and single not in options:
                    options.append(single)
        if not options:
            return {"type": "NULL"}
        for option in options:
            # For the same reason, what describes the union describes each branch.
            for word in ("title", "description"):
                if as_text(node.get(word)) and (word == "description" or len(options) == 1):
                    option.setdefault(word, node[word])
        if nullable:
            options[0]["nullable"] = True
        return options[0] if len(options) == 1 else {"anyOf": options}

    def _plain(self, node: dict[str, Any], depth: int, inside: tuple[str, ...]) -> dict[str, Any]:
        kind, nullable = self._type(node)
        values = [node["const"]] if "const" in node else as_list(node.get("enum"))
        nullable = nullable or None in values
        words = [value for value in values if isinstance(value, str) and value]
        if len(words) < len([value for value in values if value is not None]):
            self._lose("enum")
        made: dict[str, Any] = {}
        if words and kind in (None, "STRING"):
            kind, made["enum"] = "STRING", list(dict.fromkeys(words))
        if kind is None:
            # Text satisfies a schema that allows anything; Gemini's newer models refuse an empty schema.
            kind = _type_of_values(values)
            self._lose("untyped")
        made["type"] = kind
        if nullable:
            made["nullable"] = True
        self._copy(node, kind, made)
        if kind == "OBJECT":
            properties = _mapping(node.get("properties"))
            made["properties"] = {name: self.node(one, depth + 1, inside) for name, one in properties.items()}
            required = _names(node.get("required"))
            made["required"] = [name for name in required if name in properties]
            if len(made["required"]) < len(required):
                self._lose("required")
            ordering = _names(node.get("propertyOrdering"))
            made["propertyOrdering"] = ordering if set(ordering) <= properties.keys() else []
            made = {word: kept for word, kept in made.items() if kept not in ({}, [])}
        elif kind == "ARRAY":
            made["items"] = self._items(node, depth, inside)
        return made

    def _type(self, node: dict[str, Any]) -> tuple[str | None, bool]:
        """Gemini's word for the type, inferred from other words where it is not stated, and whether null is allowed."""
        stated = node.get("type")
        nullable = node.get("nullable") is True
        if isinstance(stated, (list, tuple)):
            nullable = nullable or "null" in stated
            stated = next((word for word in stated if word != "null"), "null")
        kind = stated.upper() if isinstance(stated, str) else None
        if kind in _TYPES:
            return kind, nullable
        if stated is not None:
            self._lose("type")
        return ("OBJECT" if "properties" in node else "ARRAY" if "items" in node else None), nullable

    def _copy(self, node: dict[str, Any], kind: str, made: dict[str, Any]) -> None:
        """Copy the words that say the same there."""
        made.update({word: node[word] for word in _TEXTS if as_text(node.get(word))})
        counts = {word: as_count(node.get(word)) for word in _COUNTED}
        made.update({word: count for word, count in counts.items() if count is not None})
        for word in ("minimum", "maximum"):
            if isinstance(node.get(word), (int, float)) and not isinstance(node[word], bool):
                made[word] = node[word]
        for word in _AS_IS:
            if isinstance(node.get(word), (str, int, float, bool)):
                made[word] = node[word]
            elif node.get(word):
                self._lose(word)
        form = as_text(node.get("format"))
        if form and form in _FORMATS.get(kind, ()):
            made["format"] = form
        elif form:
            self._lose("format")

    def _items(self, node: dict[str, Any], depth: int, inside: tuple[str, ...]) -> dict[str, Any]:
        """The schema of an array's items; Gemini demands one, so an array of anything is sent as one of text."""
        items = node.get("items")
        if "prefixItems" in node or isinstance(items, (list, tuple)):
            self._lose("prefixItems")
            positions = as_list(node.get("prefixItems")) or as_list(items)
            return self._union({}, positions, depth, inside) if positions else {"type": "STRING"}
        if isinstance(items, Mapping):
            return self.node(items, depth + 1, inside)
        self._lose("items")
        return {"type": "STRING"}


def _cost(value: object) -> int:
    """The entries of a list or object, and text in lines of 64 characters."""
    if isinstance(value, str):
        return len(value) // 64
    texts = [len(one) // 64 for one in value if isinstance(one, str)] if isinstance(value, (list, tuple)) else []
    return len(value) + sum(texts) if isinstance(value, (list, tuple, dict)) else 0


def _type_of_values(values: list[Any]) -> str:
    """The type all of an enum's values share, else text."""
    kinds = {type(value) for value in values if value is not None}
    if kinds in ({bool}, {int}):
        return "BOOLEAN" if kinds == {bool} else "INTEGER"
    return "NUMBER" if kinds and kinds <= {int, float} else "STRING"


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _names(value: object) -> list[str]:
    return list(dict.fromkeys(name for name in as_list(value) if isinstance(name, str)))
