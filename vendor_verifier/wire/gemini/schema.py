"""Converts JSON Schema to the OpenAPI subset that Gemini's ``parameters`` takes, and names what is lost on the way.

The result is only what is sent. Answers are validated against the schema as declared, so a vendor is not excused by
what this module could not say, and the loss is evidence in the request's ``rewritten``.

Theory of operation: one walk down the schema, ``$ref`` replaced by what it points to. Three bounds make the walk end: a
reference inside itself is cut, nothing deeper than ``MAX_DEPTH`` is kept, and the whole walk may spend ``MAX_COST`` (a
node costs its words, the entries of its lists and its text by the line), after which the rest is cut. So a schema of a
few kilobytes whose references double at each step costs milliseconds and not the machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from vendor_verifier.wire.payload import as_count, as_list, as_text

_MAX_CHAIN = 128

Inside = tuple[str, ...]
"""The references on the way to a node, outermost first; one that leads into itself is cut."""


class SchemaReferences:
    """The references of one document. ``left`` is what may still be spent; below zero nothing is followed."""

    def __init__(self, root: object, budget: int, lose: Callable[[object], None]) -> None:
        self.left = budget
        self._root = root
        self._lose = lose

    def spend(self, node: Mapping[str, Any]) -> bool:
        """Pay for looking at a node; False when the budget is used up."""
        self.left -= _cost(node)
        return self.left >= 0

    def followed(self, node: Mapping[str, Any], inside: Inside) -> tuple[dict[str, Any] | None, Inside]:
        """The node with its references followed; ``None`` where they lead nowhere or back."""
        node = dict(node)
        while "$ref" in node:
            reference = node.pop("$ref")
            target = pointed_at(self._root, reference) if isinstance(reference, str) else None
            too_far = self.left < 0 or len(inside) > _MAX_CHAIN
            if target is None or reference in inside or too_far:
                self._lose("$ref")
                return (node if "type" in node or "properties" in node else None), inside
            self.left -= _cost(target)
            inside = (*inside, reference)
            # Words beside a reference narrow it; on a clash the nearer one speaks.
            node = {**target, **node}
        return node, inside

    def folded(self, node: dict[str, Any], inside: Inside) -> dict[str, Any]:
        """``allOf`` folded into the node: properties and required names together, of other words the first."""
        parts = [(part, inside) for part in as_list(node.pop("allOf", None))]
        if len(parts) > 1:
            self._lose("allOf")
        while parts:
            part, within = parts.pop(0)
            self.left -= 1
            if not isinstance(part, Mapping) or self.left < 0:
                self._lose("allOf")
                break
            extra, within = self.followed(part, within)
            if extra is None:
                continue
            parts.extend((deeper, within) for deeper in as_list(extra.pop("allOf", None)))
            properties = {**as_mapping(extra.get("properties")), **as_mapping(node.get("properties"))}
            required = [*as_list(node.get("required")), *as_list(extra.get("required"))]
            self.left -= len(properties) + len(required)
            node = {**extra, **node}
            if properties:
                node["properties"] = properties
            if required:
                node["required"] = required
        return node


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


def _cost(node: Mapping[str, Any]) -> int:
    """The cost of a node: its words, the entries of its lists, and its text in lines of 64 characters."""
    cost = 1 + len(node)
    for value in node.values():
        if isinstance(value, str):
            cost += len(value) // 64
        elif isinstance(value, (list, tuple)):
            cost += len(value) + sum(len(item) // 64 for item in value if isinstance(item, str))
    return cost


def as_mapping(value: object) -> Mapping[str, Any]:
    """``value`` if it is a mapping, else an empty one."""
    return value if isinstance(value, Mapping) else {}


MAX_DEPTH = 32
MAX_COST = 20_000

_TYPES = frozenset({"STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"})
_FORMATS: Mapping[str, frozenset[str]] = {
    "STRING": frozenset({"enum", "date-time"}),
    "NUMBER": frozenset({"float", "double"}),
    "INTEGER": frozenset({"int32", "int64"}),
}
_COUNTED = ("minItems", "maxItems", "minProperties", "maxProperties", "minLength", "maxLength")
_TEXTS = ("title", "description", "pattern")
_AS_IS = ("default", "example")
# Words that constrain nothing, and words the walk deals with itself.
_SILENT = frozenset({
    "$schema", "$id", "$comment", "$defs", "definitions", "examples", "deprecated", "readOnly", "writeOnly", "$anchor",
    "type", "nullable", "format", "enum", "const", "properties", "required", "items", "propertyOrdering", "strict",
    "minimum", "maximum", "anyOf", "oneOf", "allOf", "$ref", "prefixItems", *_COUNTED, *_TEXTS, *_AS_IS,
})  # fmt: skip

# Beside a union these are handled or say nothing; a list of types is itself the union, and its branches keep the rest.
_BESIDE_UNION = _SILENT - {
    "enum",
    "const",
    "properties",
    "required",
    "items",
    "minimum",
    "maximum",
    "pattern",
    *_COUNTED,
}
_SAYS_ITS_TYPE = frozenset({"type", "$ref", "anyOf", "oneOf", "allOf", "const", "enum"})
_MAX_BRANCHES = 64


@dataclass(frozen=True, slots=True)
class GeminiSchema:
    """The schema to send and the words of the original that it lacks (``$ref`` for a reference cut short)."""

    schema: dict[str, Any]
    lost: tuple[str, ...] = ()


def gemini_schema(schema: object) -> GeminiSchema:
    """Convert a JSON Schema of any size and shape; always ends, never raises."""
    walk = _Walk(schema)
    return GeminiSchema(walk.node(schema, 0, ()), tuple(walk.lost))


class _Walk:
    def __init__(self, root: object) -> None:
        self.lost: dict[str, None] = {}
        self._refs = SchemaReferences(root, MAX_COST, self._lose)

    def node(self, value: object, depth: int, inside: Inside) -> dict[str, Any]:
        """One schema at ``depth``, reached through the references ``inside``; always typed or a union."""
        if not isinstance(value, Mapping):
            self._lose({True: "untyped", False: "false"}[value] if isinstance(value, bool) else "malformed")
            return {"type": "STRING"}
        affordable = self._refs.spend(value)
        if not affordable or depth > MAX_DEPTH:
            self._lose("depth" if affordable else "size")
            return {"type": "OBJECT"}
        found, inside = self._refs.followed(value, inside)
        if found is None:
            return {"type": "OBJECT"}
        node = self._refs.folded(found, inside)
        for word in node:
            if word not in _SILENT and not (word == "additionalProperties" and node[word] in (True, {})):
                self._lose(word)
        types = [word for word in as_list(node.get("type")) if isinstance(word, str)]
        if len(set(types) - {"null"}) > 1:
            return self._one_of_types(node, types, depth, inside)
        branches = self._branches(node)
        if branches is not None:
            return self._union(node, branches, depth, inside)
        return self._plain(node, depth, inside)

    def _one_of_types(self, node: dict[str, Any], types: list[str], depth: int, inside: Inside) -> dict[str, Any]:
        """A list of types is a union whose branches share every other word."""
        shared = {word: value for word, value in node.items() if word not in ("title", "description")}
        described = {"description": node["description"]} if "description" in node else {}
        return self._union(described, [{**shared, "type": word} for word in dict.fromkeys(types)], depth, inside)

    def _lose(self, word: object) -> None:
        if len(self.lost) < 64:
            self.lost[str(word)[:64]] = None

    def _branches(self, node: dict[str, Any]) -> list[Any] | None:
        """The alternatives of a union, however it is spelled; ``None`` for a node that is one thing."""
        for word in ("anyOf", "oneOf"):
            branches = as_list(node.get(word))
            if not branches:
                continue
            if node.get("properties"):
                # Beside properties it only says which of them go together, and Gemini takes one or the other.
                self._lose(word)
                continue
            return branches
        return None

    def _union(self, node: dict[str, Any], branches: list[Any], depth: int, inside: Inside) -> dict[str, Any]:
        for word in node:
            if word not in _BESIDE_UNION:
                self._lose(word)
        nullable = node.get("nullable") is True
        shared = {"type": node["type"]} if isinstance(node.get("type"), str) else {}
        options: list[dict[str, Any]] = []
        for branch in branches:
            if isinstance(branch, Mapping) and not _SAYS_ITS_TYPE & branch.keys():
                branch = {**shared, **branch}
            option = self.node(branch, depth + 1, inside)
            nullable = nullable or option.get("type") == "NULL"
            # A union inside a union is one union, since Gemini takes nothing beside anyOf.
            for single in option.get("anyOf", [option]):
                if single.get("type") != "NULL" and len(options) < _MAX_BRANCHES and single not in options:
                    options.append(single)
        if not options:
            return {"type": "NULL"}
        for option in options:
            # Gemini takes nothing beside anyOf, so what describes the union describes each branch.
            for word in ("title", "description"):
                if as_text(node.get(word)) and (word == "description" or len(options) == 1):
                    option.setdefault(word, node[word])
        if nullable:
            options[0]["nullable"] = True
        return options[0] if len(options) == 1 else {"anyOf": options}

    def _plain(self, node: dict[str, Any], depth: int, inside: Inside) -> dict[str, Any]:
        made: dict[str, Any] = {}
        kind, nullable = self._type(node)
        values = self._enum(node)
        if values is not None:
            nullable = nullable or None in values
            words = [value for value in values if isinstance(value, str) and value]
            if len(words) < len([value for value in values if value is not None]):
                self._lose("enum")
            if words and kind in (None, "STRING"):
                kind, made["enum"] = "STRING", list(dict.fromkeys(words))
        if kind is None:
            # Text satisfies a schema that allows anything; Gemini's newer models refuse an empty schema.
            kind = _type_of_values(values or [])
            self._lose("untyped")
        made["type"] = kind
        if nullable:
            made["nullable"] = True
        self._copy(node, kind, made)
        if kind == "OBJECT":
            self._object(node, made, depth, inside)
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
        if "properties" in node:
            return "OBJECT", nullable
        return ("ARRAY" if "items" in node else None), nullable

    @staticmethod
    def _enum(node: dict[str, Any]) -> list[Any] | None:
        if "const" in node:
            return [node["const"]]
        return as_list(node["enum"]) if "enum" in node else None

    def _copy(self, node: dict[str, Any], kind: str | None, made: dict[str, Any]) -> None:
        for word in _TEXTS:
            if as_text(node.get(word)):
                made[word] = node[word]
        for word in _COUNTED:
            if as_count(node.get(word)) is not None:
                made[word] = as_count(node[word])
        for word in ("minimum", "maximum"):
            number = node.get(word)
            if isinstance(number, (int, float)) and not isinstance(number, bool):
                made[word] = number
        for word in _AS_IS:
            if isinstance(node.get(word), (str, int, float, bool)):
                made[word] = node[word]
            elif node.get(word):
                self._lose(word)
        form = as_text(node.get("format"))
        if form and form in _FORMATS.get(kind or "", ()):
            made["format"] = form
        elif form:
            self._lose("format")

    def _object(self, node: dict[str, Any], made: dict[str, Any], depth: int, inside: Inside) -> None:
        properties: dict[str, Any] = {}
        for name, value in as_mapping(node.get("properties")).items():
            if self._refs.left < 0:
                self._lose("size")
                break
            self._refs.left -= len(name) // 64
            properties[name] = self.node(value, depth + 1, inside)
        if properties:
            made["properties"] = properties
        required = _names(node.get("required"))
        known = [name for name in required if name in properties]
        if len(known) < len(required):
            self._lose("required")
        if known:
            made["required"] = known
        ordering = _names(node.get("propertyOrdering"))
        if ordering and set(ordering) <= set(properties):
            made["propertyOrdering"] = ordering

    def _items(self, node: dict[str, Any], depth: int, inside: Inside) -> dict[str, Any]:
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


def _type_of_values(values: list[Any]) -> str:
    """The type all of an enum's values share, else text."""
    kinds = {type(value) for value in values if value is not None}
    if kinds == {bool}:
        return "BOOLEAN"
    if kinds == {int}:
        return "INTEGER"
    return "NUMBER" if kinds and kinds <= {int, float} else "STRING"


def _names(value: object) -> list[str]:
    names: Iterable[object] = as_list(value)
    return list(dict.fromkeys(name for name in names if isinstance(name, str)))
