"""Parameters of rows that no vendor can take: said as defects of the row, and sent as they stand.

A row may mean to be refused, so it is kept; unsaid, the refusal would look like the vendor's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from vendor_verifier.loaders.base import kind_of, shortened


def _is_number(value: object, least: float = -math.inf, most: float = math.inf) -> bool:
    is_one = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    return is_one and least <= value <= most  # type: ignore[operator]


def _is_whole(value: object, least: float) -> bool:
    return isinstance(value, int) and _is_number(value, least)


def _is_stop(value: object) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(each, str) for each in value))


# By name: what chat completions can take at all, and in words what it expects.
_CHECKS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "temperature": (partial(_is_number, least=0, most=2), "a number from 0 to 2"),
    "top_p": (partial(_is_number, least=0, most=1), "a number from 0 to 1"),
    "presence_penalty": (partial(_is_number, least=-2, most=2), "a number from -2 to 2"),
    "frequency_penalty": (partial(_is_number, least=-2, most=2), "a number from -2 to 2"),
    "max_tokens": (partial(_is_whole, least=1), "a whole number from 1 on"),
    "max_completion_tokens": (partial(_is_whole, least=1), "a whole number from 1 on"),
    "n": (partial(_is_whole, least=1), "a whole number from 1 on"),
    "top_logprobs": (partial(_is_whole, least=0), "a whole number from 0 on"),
    "seed": (partial(_is_whole, least=-math.inf), "a whole number"),
    "logprobs": (lambda value: isinstance(value, bool), "true or false"),
    "parallel_tool_calls": (lambda value: isinstance(value, bool), "true or false"),
    "response_format": (lambda value: isinstance(value, dict), "an object"),
    "logit_bias": (lambda value: isinstance(value, dict), "an object"),
    "stop": (_is_stop, "text, or an array of texts"),
    "tool_choice": (lambda value: isinstance(value, (str, dict)), "text, or an object"),
}


def parameter_defects(parameters: Mapping[str, Any]) -> list[str]:
    """The parameters whose value nobody can take, in words; those that are not known are left alone."""
    found = []
    for name, value in parameters.items():
        is_fine, expected = _CHECKS.get(name, (lambda _: True, ""))
        if not is_fine(value):
            read = shortened(value, 40) if isinstance(value, str) else value if _is_number(value) else kind_of(value)
            found.append(f"{name}: expected {expected}, read {read}; it is sent so")
    return found
