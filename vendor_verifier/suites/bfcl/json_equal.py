"""Equality of JSON values, exact and nothing else; Python's own thinks that true is 1."""

from __future__ import annotations


def json_equal(one: object, other: object) -> bool:
    """Equal as JSON values: ``1`` equals ``1.0``, ``true`` equals neither."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(json_equal, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(json_equal(one[key], other[key]) for key in one)
    return one == other
