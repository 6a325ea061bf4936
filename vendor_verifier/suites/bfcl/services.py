"""Simulated services as multi-turn rows use them: calls by name with their arguments, results as text.

The services themselves are the user's own copy of upstream's and are injected. Nothing is ever evaluated: a model's
call is a look-up among public methods, a row's expected call is read as literals.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Protocol

from vendor_verifier.suites.bfcl.verdict import uncheckable


class Services(Protocol):
    """Makes simulated services."""

    def start(
        self, classes: Sequence[str], initial_config: Mapping[str, Any], *, long_context: bool
    ) -> Mapping[str, object]:
        """Class name → a new instance in its initial state; nothing of it may be shared with another start."""


@dataclass(frozen=True, slots=True)
class ServiceCall:
    """A call by name. Models name every argument; a row's expected calls may give some by position."""

    name: str
    named: Mapping[str, Any] = field(default_factory=dict)
    positional: tuple[Any, ...] = ()


def execute(instances: Mapping[str, object], calls: Iterable[ServiceCall]) -> list[str]:
    """Run the calls in order; each one's result, or its error, as the text a model is shown."""
    methods = _methods(instances)
    return [_run(methods, call) for call in calls]


def read_expected_call(source: str) -> ServiceCall:
    """``name(1, key='value')`` with literal arguments only.

    Raises:
        DataError: anything else.
    """
    try:
        call = ast.parse(source.strip(), mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            raise ValueError("no call of a function by name")
        positional = tuple(ast.literal_eval(argument) for argument in call.args)
        named = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
    except (SyntaxError, ValueError) as error:
        raise uncheckable(f"the expected call {source!r:.120} cannot be read: {error}") from None
    return ServiceCall(call.func.id, named, positional)


def _methods(instances: Mapping[str, object]) -> dict[str, Callable[..., object]]:
    """Public methods of all instances; of equal names the later class's counts."""
    found: dict[str, Callable[..., object]] = {}
    for instance in instances.values():
        public = [name for name in dir(type(instance)) if not name.startswith("_")]
        found.update({name: method for name in public if callable(method := getattr(instance, name))})
    return found


def _run(methods: Mapping[str, Callable[..., object]], call: ServiceCall) -> str:
    method = methods.get(call.name)
    if method is None:
        return f"Error during execution: name '{call.name}' is not defined"
    try:
        # A service may keep and change what it is given, and one conversation is run more than once.
        result = method(*deepcopy(call.positional), **deepcopy(dict(call.named)))
    except Exception as error:  # noqa: BLE001 - a service may raise anything, and what it raises is its answer
        return f"Error during execution: {error}"
    return _shown(result)


def _shown(result: object) -> str:
    if type(result) is dict:
        try:
            return json.dumps(result)
        except (TypeError, ValueError):
            return str(result)
    return str(result)
