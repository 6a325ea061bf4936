"""Calls against the calls a custom row names, exactly: no folding, no alternatives, no document. Order does not matter.

The source is NeMo's ``tool-calling`` metric, with one mending: it compares names as sets and keeps one call per name,
here calls are counted, so calling one function twice means something.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from vendor_verifier.suites.bfcl.functions import sent_name
from vendor_verifier.suites.bfcl.json_equal import json_equal

Call = tuple[str, Mapping[str, Any]]


def exact_match(wanted: Sequence[Call], made: Sequence[Call] | None) -> dict[str, float]:
    """``function_name_accuracy`` and ``function_name_and_args_accuracy`` of one row, each 1.0 or 0.0.

    The first asks for the same names as often as wanted, the second for the same calls. Dots equal underscores in
    names, ``1`` equals ``1.0``, ``true`` equals neither. ``made`` is None when the reply could not be read: both 0.0.
    """
    if made is None:
        return {"function_name_accuracy": 0.0, "function_name_and_args_accuracy": 0.0}
    names = Counter(sent_name(name) for name, _ in wanted) == Counter(sent_name(name) for name, _ in made)
    return {
        "function_name_accuracy": float(names),
        "function_name_and_args_accuracy": float(names and _same_calls(wanted, made)),
    }


def _same_calls(wanted: Sequence[Call], made: Sequence[Call]) -> bool:
    left = list(made)
    for name, arguments in wanted:
        place = next((index for index, call in enumerate(left) if _same(call, (name, arguments))), None)
        if place is None:
            return False
        # By place: removing by value would take ``true`` for ``1``.
        del left[place]
    return not left


def _same(one: Call, other: Call) -> bool:
    return sent_name(one[0]) == sent_name(other[0]) and json_equal(dict(one[1]), dict(other[1]))
