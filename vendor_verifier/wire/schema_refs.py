"""Follows ``$ref`` and folds ``allOf`` in a JSON Schema within a budget, so that no schema costs more than it may.

It fetches nothing: a reference to another document leads nowhere. What could not be followed is named to ``lose``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import unquote

from vendor_verifier.wire.payload import as_list

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
    """What a node spends: its words, the entries of its lists, and its text in lines of 64 characters."""
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
