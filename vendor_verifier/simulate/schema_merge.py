"""Two schemas as one, and local references followed; it leaves alone what has no obvious conjunction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from vendor_verifier.wire.payload import as_dict, as_list

_LARGEST_OF = frozenset({"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"})
_SMALLEST_OF = frozenset({"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"})


def resolved(root: Mapping[str, Any], reference: object) -> dict[str, Any]:
    """What a local ``$ref`` points at in ``root``; an empty schema for any other reference."""
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
