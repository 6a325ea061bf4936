"""Parameters of rows that no vendor can take: said as defects of the row, and sent as they stand.

A row may mean to be refused, so it is kept; unsaid, the refusal would look like the vendor's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from vendor_verifier.loaders.base import kind_of, shortened

_Check = tuple[Callable[[Any], bool], str]


def _number(least: float, most: float) -> _Check:
    return lambda value: _is_number(value) and least <= value <= most, f"a number from {least:g} to {most:g}"


def _whole(least: float, words: str) -> _Check:
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= least, words


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _is_stop(value: object) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(each, str) for each in value))


_TRUTH: _Check = (lambda value: isinstance(value, bool), "true or false")
_OBJECT: _Check = (lambda value: isinstance(value, dict), "an object")
# By name: whether chat completions can take a value at all, and what it expects.
_CHECKS: Mapping[str, _Check] = {
    "temperature": _number(0, 2),
    "top_p": _number(0, 1),
    "presence_penalty": _number(-2, 2),
    "frequency_penalty": _number(-2, 2),
    "max_tokens": _whole(1, "a whole number from 1 on"),
    "max_completion_tokens": _whole(1, "a whole number from 1 on"),
    "n": _whole(1, "a whole number from 1 on"),
    "top_logprobs": _whole(0, "a whole number from 0 on"),
    "seed": _whole(-math.inf, "a whole number"),
    "logprobs": _TRUTH,
    "parallel_tool_calls": _TRUTH,
    "response_format": _OBJECT,
    "logit_bias": _OBJECT,
    "stop": (_is_stop, "text, or an array of texts"),
    "tool_choice": (lambda value: isinstance(value, (str, dict)), "text, or an object"),
}


def parameter_defects(parameters: Mapping[str, Any]) -> list[str]:
    """The parameters whose value nobody can take, in words; those that are not known are left alone."""
    return [
        f"{name}: expected {_CHECKS[name][1]}, read {_read(value)}; it is sent so"
        for name, value in parameters.items()
        if name in _CHECKS and not _CHECKS[name][0](value)
    ]


def _read(value: object) -> str:
    if isinstance(value, str):
        return shortened(value, 40)
    return f"{value}" if _is_number(value) else kind_of(value)
