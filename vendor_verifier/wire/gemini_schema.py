"""Converts JSON Schema to the OpenAPI subset of Gemini's ``parameters``, for hosts without ``parametersJsonSchema``.

What the subset cannot say is lost, and named in the request's ``rewritten``. Answers are validated against the schema
as declared, so a loss excuses no vendor.

One walk down the schema replaces each ``$ref`` by what it points to. A reference inside itself is cut, and so is what
is deeper than ``MAX_DEPTH`` or beyond ``MAX_NODES``, since references may double at each step.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from vendor_verifier.wire.payload import as_list, as_text

MAX_DEPTH = 32
MAX_NODES = 5_000
_MAX_BRANCHES = 64
_TYPES = frozenset({"STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"})
_FORMATS = {"STRING": ("enum", "date-time"), "NUMBER": ("float", "double"), "INTEGER": ("int32", "int64")}
# Words that mean the same there, and the type of their values.
_SAME: Mapping[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("title", "description", "pattern"), str),
    **dict.fromkeys(("minItems", "maxItems", "minProperties", "maxProperties", "minLength", "maxLength"), int),
    **dict.fromkeys(("minimum", "maximum"), (int, float)),
    **dict.fromkeys(("default", "example"), (str, int, float)),
}
# Words that constrain nothing.
_SILENT = frozenset({
    "$schema", "$id", "$anchor", "$comment", "$defs", "definitions", "examples", "deprecated", "readOnly", "writeOnly",
    "strict", "title", "description", "default", "example", "nullable",
})  # fmt: skip
_UNION = frozenset({"type", "anyOf", "oneOf"})
_READ = _SILENT | _UNION | _SAME.keys() | {
    "format", "enum", "const", "properties", "required", "items", "prefixItems",
}  # fmt: skip
_SAYS_ITS_TYPE = frozenset({"type", "$ref", "anyOf", "oneOf", "allOf", "const", "enum"})


def gemini_schema(schema: object) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Convert a JSON Schema of any size and shape; always ends, never raises.

    Returns the schema to send, and the words of the original that it lacks (``$ref`` for a reference that was cut).
    """
    walk = _Walk(schema)
    return walk.node(schema, 0, ()), tuple(walk.lost)


def pointed_at(root: object, reference: object) -> Mapping[str, Any] | None:
    """The schema that a reference by pointer leads to within ``root``, None where there is none."""
    if not isinstance(reference, str) or not reference.startswith("#"):
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
    """``inside`` are the references on the way to a node."""

    def __init__(self, root: object) -> None:
        self.lost: dict[str, None] = {}
        self._root = root
        self._left = MAX_NODES

    def _lose(self, word: object) -> None:
        if len(self.lost) < _MAX_BRANCHES:
            self.lost[str(word)[:64]] = None

    def node(self, value: object, depth: int, inside: tuple[str, ...]) -> dict[str, Any]:
        """One schema at ``depth``; always typed or a union."""
        if not isinstance(value, Mapping):
            self._lose({True: "untyped", False: "false"}[value] if isinstance(value, bool) else "malformed")
            return {"type": "STRING"}
        if self._left <= 0 or depth > MAX_DEPTH:
            self._lose("size" if self._left <= 0 else "depth")
            return {"type": "OBJECT"}
        node, inside = self._folded(value, inside)
        for word in node:
            if word not in _READ and not (word == "additionalProperties" and node[word] in (True, {})):
                self._lose(word)
        types = [word for word in as_list(node.get("type")) if isinstance(word, str)]
        if len(set(types) - {"null"}) > 1:
            # A union whose branches share every other word.
            shared = {word: kept for word, kept in node.items() if word not in ("title", "description")}
            described = {"description": node["description"]} if "description" in node else {}
            return self._union(described, [{**shared, "type": word} for word in dict.fromkeys(types)], depth, inside)
        branches = as_list(node.get("anyOf")) or as_list(node.get("oneOf"))
        if branches and not node.get("properties"):
            return self._union(node, branches, depth, inside)
        if branches:
            # Next to properties it only says which of them go together, and Gemini takes one or the other.
            self._lose("anyOf" if as_list(node.get("anyOf")) else "oneOf")
        return self._plain(node, depth, inside)

    def _folded(self, value: Mapping[str, Any], inside: tuple[str, ...]) -> tuple[dict[str, Any], tuple[str, ...]]:
        """The schema with its reference and its ``allOf`` folded in: properties and required names together, of other
        words the nearest."""
        self._left -= 1
        node = {word: kept for word, kept in value.items() if word not in ("$ref", "allOf")}
        parts = as_list(value.get("allOf"))
        if len(parts) > 1:
            self._lose("allOf")
        reference = value.get("$ref")
        target = pointed_at(self._root, reference)
        if target is not None and reference not in inside and len(inside) < 4 * MAX_DEPTH:
            inside, parts = (*inside, str(reference)), [target, *parts]
        elif "$ref" in value:
            self._lose("$ref")
            node.setdefault("type", "object")
        seen = inside
        for part in parts:
            if not isinstance(part, Mapping) or self._left <= 0:
                self._lose("allOf")
                continue
            extra, within = self._folded(part, inside)
            seen = tuple(dict.fromkeys([*seen, *within]))
            if isinstance(node.get("properties"), Mapping) and isinstance(extra.get("properties"), Mapping):
                node["properties"] = {**extra["properties"], **node["properties"]}
            if "required" in node and "required" in extra:
                node["required"] = [*as_list(node["required"]), *as_list(extra["required"])]
            node = {**extra, **node}
        return node, seen

    def _union(self, node: dict[str, Any], branches: list[Any], depth: int, inside: tuple[str, ...]) -> dict[str, Any]:
        for word in node:
            if word not in _SILENT | _UNION:
                self._lose(word)
        nullable = node.get("nullable") is True
        shared = {"type": node["type"]} if isinstance(node.get("type"), str) else {}
        options: list[dict[str, Any]] = []
        for branch in branches[:_MAX_BRANCHES]:
            if isinstance(branch, Mapping) and not _SAYS_ITS_TYPE & branch.keys():
                branch = {**shared, **branch}
            option = self.node(branch, depth + 1, inside)
            nullable = nullable or option.get("type") == "NULL"
            # A union inside a union is one union, since Gemini takes nothing next to anyOf.
            options += [
                one for one in option.get("anyOf", [option]) if one.get("type") != "NULL" and one not in options
            ]
        if not options:
            return {"type": "NULL"}
        for option in options:
            # For the same reason, what describes the union describes each branch.
            if as_text(node.get("description")):
                option.setdefault("description", node["description"])
        if nullable:
            options[0]["nullable"] = True
        return options[0] if len(options) == 1 else {"anyOf": options}

    def _plain(self, node: dict[str, Any], depth: int, inside: tuple[str, ...]) -> dict[str, Any]:
        stated = node.get("type")
        names = stated if isinstance(stated, (list, tuple)) else [stated]
        values = [node["const"]] if "const" in node else as_list(node.get("enum"))
        made: dict[str, Any] = {}
        if node.get("nullable") is True or (len(names) > 1 and "null" in names) or None in values:
            made["nullable"] = True
        made["type"] = kind = self._type(node, next((name for name in names if name != "null"), "null"), values)
        words = [value for value in values if isinstance(value, str) and value]
        if len(words) < len([value for value in values if value is not None]):
            self._lose("enum")
        if words and kind == "STRING":
            made["enum"] = list(dict.fromkeys(words))
        for word, form in _SAME.items():
            if isinstance(node.get(word), form):
                made[word] = node[word]
            elif word in node:
                self._lose(word)
        if node.get("format") in _FORMATS.get(kind, ()):
            made["format"] = node["format"]
        elif node.get("format"):
            self._lose("format")
        if kind == "OBJECT":
            made |= self._held(node, depth, inside)
        elif kind == "ARRAY":
            made["items"] = self._items(node, depth, inside)
        return made

    def _held(self, node: dict[str, Any], depth: int, inside: tuple[str, ...]) -> dict[str, Any]:
        """The properties of an object, and which of them are required."""
        properties = node["properties"] if isinstance(node.get("properties"), Mapping) else {}
        required = [name for name in dict.fromkeys(map(str, as_list(node.get("required")))) if name in properties]
        if len(required) < len(as_list(node.get("required"))):
            self._lose("required")
        made = {name: self.node(one, depth + 1, inside) for name, one in properties.items()}
        held = {"properties": made, "required": required}
        return {word: kept for word, kept in held.items() if kept}

    def _items(self, node: dict[str, Any], depth: int, inside: tuple[str, ...]) -> dict[str, Any]:
        """The schema of an array's items; Gemini demands one, so an array of anything is sent as one of text."""
        items = node.get("items")
        positions = as_list(node.get("prefixItems")) or as_list(items)
        if positions:
            self._lose("prefixItems")
            return self._union({}, positions, depth, inside)
        if isinstance(items, Mapping):
            return self.node(items, depth + 1, inside)
        self._lose("items")
        return {"type": "STRING"}

    def _type(self, node: dict[str, Any], stated: object, values: list[Any]) -> str:
        """Gemini's word for the type, taken from other words where it is not stated."""
        kind = stated.upper() if isinstance(stated, str) else ""
        if kind in _TYPES:
            return kind
        if stated is not None:
            self._lose("type")
        if "properties" in node or "items" in node:
            return "OBJECT" if "properties" in node else "ARRAY"
        kinds = {type(value) for value in values if value is not None}
        if str in kinds:
            return "STRING"
        # Text satisfies a schema that allows anything; Gemini's newer models refuse an empty schema.
        self._lose("untyped")
        if kinds == {bool} or kinds == {int}:
            return "BOOLEAN" if kinds == {bool} else "INTEGER"
        return "NUMBER" if kinds and kinds <= {int, float} else "STRING"
