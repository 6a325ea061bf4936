"""Whether two JSON values are the same value; it knows nothing of tools and never coerces text to numbers.

``true`` is not 1 (Python says it is), 1 is 1.0 (JSON has one kind of number), null is a value and not an absence. The
order of an object's keys does not matter, the order of an array does; text is compared code point by code point.
"""

from __future__ import annotations


def same_value(left: object, right: object) -> bool:
    """Deep equality of two JSON values, without recursion, so that depth costs no stack."""
    pending: list[tuple[object, object]] = [(left, right)]
    while pending:
        one, other = pending.pop()
        if isinstance(one, dict) and isinstance(other, dict):
            if one.keys() != other.keys():
                return False
            pending.extend((one[key], other[key]) for key in one)
        elif isinstance(one, list) and isinstance(other, list):
            if len(one) != len(other):
                return False
            pending.extend(zip(one, other, strict=True))
        elif not _same_scalar(one, other):
            return False
    return True


def _same_scalar(one: object, other: object) -> bool:
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return one == other
    return type(one) is type(other) and one == other
