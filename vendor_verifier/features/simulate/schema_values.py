"""A value that satisfies a JSON schema, and the merging of schemas that takes; it never fetches a ``$ref``.

Theory of operation: a schema is simplified one step at a time (``$ref`` resolved inside its root, ``allOf`` merged,
one branch of ``anyOf``/``oneOf``/``if`` chosen and merged) until a type is left, and that type's maker is called. The
result is checked with a real validator and drawn again with another branch when it fails; the last draw is returned as
a best effort, because a simulated vendor, like a real one, must answer whatever it was given. Depth and the number of
values are capped, so recursive schemas end.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

import jsonschema_rs

from vendor_verifier.features.simulate.scalar_values import make_number, make_string
from vendor_verifier.suites.schema_bounds import MAX_BACKTRACKS, OverBoundError, SchemaBounds
from vendor_verifier.wire.payload import as_count, as_dict, as_list

_LARGEST_OF = frozenset({"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"})
_SMALLEST_OF = frozenset({"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"})


def resolved(root: Mapping[str, Any], reference: object) -> dict[str, Any]:
    """The schema that a local ``$ref`` points at in ``root``; an empty schema for any other reference."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        return {}
    found: Any = root
    for part in reference[1:].split("/")[1:]:
        key = unquote(part).replace("~1", "/").replace("~0", "~")
        if isinstance(found, list):
            found = found[int(key)] if key.isascii() and key.isdigit() and int(key) < len(found) else {}
        else:
            found = as_dict(found).get(key)
    return as_dict(found)


def merged(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """A schema that asks for both, as far as its keywords have a simple conjunction; else ``second`` wins."""
    result = dict(first)
    for key, value in second.items():
        result[key] = _both(key, result[key], value) if key in result else value
    return result


def _both(key: str, first: Any, second: Any) -> Any:
    if key in ("properties", "patternProperties", "$defs", "definitions"):
        one, two = as_dict(first), as_dict(second)
        return {
            **one,
            **{name: merged(as_dict(one[name]), as_dict(rule)) if name in one else rule for name, rule in two.items()},
        }
    if key == "required":
        return list(dict.fromkeys(str(name) for name in [*as_list(first), *as_list(second)]))
    if key == "enum":
        return [value for value in as_list(first) if value in as_list(second)] or second
    if key == "type":
        return _common_types(first, second)
    if key in ("allOf", "anyOf", "oneOf"):
        return [*as_list(first), *as_list(second)] if key == "allOf" else second
    if key in _LARGEST_OF | _SMALLEST_OF and _is_number(first) and _is_number(second):
        return max(first, second) if key in _LARGEST_OF else min(first, second)
    return second


def _common_types(first: Any, second: Any) -> Any:
    one = first if isinstance(first, list) else [first]
    two = second if isinstance(second, list) else [second]
    common = [name for name in one if name in two or (name == "integer" and "number" in two)]
    common += [name for name in two if name == "integer" and "number" in one and name not in common]
    return common or second


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


_TRIES = 6
_SPARE_DEPTH = 4
_MAX_DEPTH = 24
_MAX_VALUES = 400
_MAX_ITEMS = 60
_MAX_WRITTEN = 100_000
_SIMPLIFICATIONS = 24
_TYPE_HINTS = (
    ("object", ("properties", "required", "additionalProperties", "minProperties", "patternProperties")),
    ("array", ("items", "prefixItems", "minItems", "contains")),
    ("string", ("minLength", "maxLength", "pattern", "format")),
    ("number", ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")),
)


def satisfying_value(schema: object, dice: random.Random, words: Sequence[str]) -> Any:
    """A JSON value valid against ``schema``, or the best that was found.

    Args:
        schema: a JSON schema; anything that is not one counts as "no restriction".
        dice: where all choices come from.
        words: what free text is made of.
    """
    is_valid = _checker(schema)
    value: Any = None
    for attempt in range(_TRIES):
        value = _Maker(schema, dice, words, sparing=attempt == _TRIES - 2).make(schema, 0, "value")
        if is_valid(value):
            break
    return value


def _checker(schema: object) -> Callable[[Any], bool]:
    if not isinstance(schema, dict):
        return _anything
    try:
        bounds = SchemaBounds(schema)
        patterns = jsonschema_rs.FancyRegexOptions(backtrack_limit=MAX_BACKTRACKS)
        validator = jsonschema_rs.validator_for(schema, retriever=_refuse, pattern_options=patterns)
    except (ValueError, OverBoundError, jsonschema_rs.ReferencingError):
        return _anything

    def is_valid(value: Any) -> bool:
        try:
            # Nothing that is made here is long, but its schema may be anybody's.
            bounds.estimate_ns(value, _MAX_WRITTEN)
        except OverBoundError:
            return True
        return bool(validator.is_valid(value))

    return is_valid


def _anything(value: Any) -> bool:  # noqa: ARG001 stands in for a validator
    return True


def _refuse(uri: str) -> Any:
    raise ValueError(f"{uri} is not fetched")


class _Maker:
    """One drawing. ``sparing`` leaves out everything optional."""

    def __init__(self, root: object, dice: random.Random, words: Sequence[str], *, sparing: bool) -> None:
        self._root = as_dict(root)
        self._dice = dice
        self._words = words
        self._sparing = sparing
        self._made = 0

    def make(self, schema: object, depth: int, name: str) -> Any:
        self._made += 1
        if depth > _MAX_DEPTH or self._made > 4 * _MAX_VALUES:
            return None
        simple = self._simplified(as_dict(schema), spare=self._spare(depth))
        if "const" in simple:
            return simple["const"]
        options = as_list(simple.get("enum"))
        if options:
            return self._dice.choice(options)
        examples = as_list(simple.get("examples"))
        if examples and self._dice.random() < 0.5:
            return self._dice.choice(examples)
        return self._typed(self._type(simple, depth), simple, depth, name)

    def _spare(self, depth: int) -> bool:
        return self._sparing or depth >= _SPARE_DEPTH or self._made > _MAX_VALUES

    def _simplified(self, schema: dict[str, Any], *, spare: bool) -> dict[str, Any]:
        for _ in range(_SIMPLIFICATIONS):
            if "$ref" in schema:
                rest = {key: value for key, value in schema.items() if key != "$ref"}
                schema = merged(rest, resolved(self._root, schema["$ref"]))
                continue
            combined = next((key for key in ("allOf", "oneOf", "anyOf", "if") if key in schema), None)
            if combined is None:
                break
            schema = self._without(schema, combined, spare=spare)
        return schema

    def _without(self, schema: dict[str, Any], key: str, *, spare: bool) -> dict[str, Any]:
        """The schema with one combining keyword decided."""
        dropped = {key, "then", "else"} if key == "if" else {key}
        rest = {name: value for name, value in schema.items() if name not in dropped}
        if key == "if":
            if self._dice.random() < 0.5:
                return merged(merged(rest, as_dict(schema["if"])), as_dict(schema.get("then")))
            return merged(rest, as_dict(schema.get("else")))
        branches = [as_dict(branch) for branch in as_list(schema[key]) if branch is not False]
        if key == "allOf":
            for branch in branches:
                rest = merged(rest, branch)
            return rest
        if not branches:
            return rest
        # A recursive schema ends in its simplest branch.
        branch = min(branches, key=lambda item: len(str(item))) if spare else self._dice.choice(branches)
        return merged(rest, branch)

    def _type(self, schema: Mapping[str, Any], depth: int) -> str:
        declared = schema.get("type")
        if isinstance(declared, list):
            names = [name for name in declared if isinstance(name, str)]
            if "null" in names and (self._spare(depth) or self._dice.random() < 0.15):
                return "null"
            names = [name for name in names if name != "null"] or names
            declared = self._dice.choice(names) if names else None
        if isinstance(declared, str):
            return declared
        return next((kind for kind, hints in _TYPE_HINTS if any(hint in schema for hint in hints)), "string")

    def _typed(self, kind: str, schema: Mapping[str, Any], depth: int, name: str) -> Any:
        match kind:
            case "object":
                return self._object(schema, depth)
            case "array":
                return self._array(schema, depth, name)
            case "integer" | "number":
                return make_number(schema, self._dice, whole=kind == "integer")
            case "boolean":
                return self._dice.random() < 0.5
            case "null":
                return None
        return make_string(schema, self._dice, self._words)

    def _object(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        properties = as_dict(schema.get("properties"))
        required = [key for key in as_list(schema.get("required")) if isinstance(key, str)]
        extra = schema.get("additionalProperties")
        extra = extra if isinstance(extra, dict) else {}
        # Required keys first, then each optional one with probability one half, in the schema's own order.
        limit = as_count(schema.get("maxProperties"))
        chosen = {*required}
        for key, rule in properties.items():
            full = limit is not None and len(chosen) >= limit
            if key not in chosen and rule is not False and not full and not self._spare(depth):
                chosen |= {key} if self._dice.random() < 0.5 else set()
        self._add_dependents(schema, chosen)
        value = {key: self.make(properties[key], depth + 1, key) for key in properties if key in chosen}
        for key in required:
            if key not in value:
                value[key] = self.make(extra, depth + 1, key)
        self._fill(value, schema, properties, extra, depth)
        return value

    def _add_dependents(self, schema: Mapping[str, Any], chosen: set[str]) -> None:
        for key, needed in as_dict(schema.get("dependentRequired") or schema.get("dependencies")).items():
            if key in chosen:
                chosen.update(name for name in as_list(needed) if isinstance(name, str))

    def _fill(
        self, value: dict[str, Any], schema: Mapping[str, Any], properties: dict[str, Any], extra: Any, depth: int
    ) -> None:
        """Bring an object up to ``minProperties``: declared properties, then names by pattern, then free names."""
        wanted = min(as_count(schema.get("minProperties")) or 0, _MAX_ITEMS)
        for key, declared in properties.items():
            if len(value) < wanted and key not in value and declared is not False:
                value[key] = self.make(declared, depth + 1, key)
        patterned = as_dict(schema.get("patternProperties"))
        names = schema.get("propertyNames")
        if not wanted and (patterned or extra) and not properties and not self._spare(depth):
            wanted = self._dice.randint(1, 2)
        for number in range(2 * _MAX_ITEMS):
            if len(value) >= wanted:
                break
            rule: Any = extra
            key = f"key_{number + 1}"
            if patterned:
                pattern, rule = self._dice.choice(list(patterned.items()))
                key = make_string({"pattern": pattern}, self._dice, self._words)
            elif isinstance(names, dict):
                key = str(self.make({"type": "string", **names}, depth + 1, "key"))
            if key not in value:
                value[key] = self.make(rule, depth + 1, key)

    def _array(self, schema: Mapping[str, Any], depth: int, name: str) -> list[Any]:
        low = min(as_count(schema.get("minItems")) or 0, _MAX_ITEMS)
        high = as_count(schema.get("maxItems"))
        items = schema.get("items")
        prefix = as_list(schema.get("prefixItems")) or as_list(items)
        rest = schema.get("additionalItems") if isinstance(items, list) else items
        if prefix and not low:
            low = len(prefix)
        top = low if self._spare(depth) else max(low, 1) + self._dice.randint(0, 2)
        if high is not None:
            top = min(top, high)
        if rest is False:
            top = min(top, len(prefix))
        count = max(low, top)
        value: list[Any] = []
        contains = schema.get("contains")
        for number in range(4 * count):
            if len(value) >= count:
                break
            rule = prefix[len(value)] if len(value) < len(prefix) else rest
            if number == 0 and isinstance(contains, dict) and not prefix:
                rule = merged(as_dict(rule), contains)
            item = self.make(rule, depth + 1, name)
            # An enumeration may hold fewer different items than were drawn for: fewer is better than twice the same.
            if schema.get("uniqueItems") is not True or item not in value:
                value.append(item)
        return value
