"""The questions of the checks: short, cheap and the same for every vendor; it judges no answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from vendor_verifier.values.request import Turn

WEATHER = "get_weather"
TIME = "get_time"
_BUDGETS = ("max_tokens", "max_completion_tokens")


def _tool(name: str, description: str) -> Mapping[str, Any]:
    city = {"type": "string", "description": "Name of the city"}
    parameters = {"type": "object", "properties": {"city": city}, "required": ["city"]}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


TOOLS = (_tool(WEATHER, "Current weather of a city."), _tool(TIME, "Current local time of a city."))
TOOL_NAMES = frozenset({WEATHER, TIME})


def ask(words: str, parameters: Mapping[str, Any] | None = None, *, tools: bool = False) -> Turn:
    """One user message. The given parameters are what is examined, so an entry's own do not replace them."""
    given = dict(parameters or {})
    fixed = (*given, *(_BUDGETS if given.keys() & set(_BUDGETS) else ()))
    return Turn(({"role": "user", "content": words},), TOOLS if tools else (), given, fixed=tuple(dict.fromkeys(fixed)))


def bare(turn: Turn) -> Turn:
    """The same words and nothing else: whether the vendor answers at all."""
    return Turn(turn.messages)


def without(turn: Turn, parameter: str) -> Turn:
    """The same question as a run would ask it: without one parameter, which is the entry's own again if it has one."""
    kept = {name: value for name, value in turn.parameters.items() if name != parameter}
    return replace(turn, parameters=kept, fixed=())
