"""Calls of simulated services: run by name, read from a row's solution, made of a reply's calls. Nothing is evaluated.

A written argument may be a call of its own (``add(a=mean(numbers=[1, 2]), b=1)``); it is run first, as the leaderboard
does, and like there an object all of whose members are objects is taken for one.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from vendor_verifier.suites.bfcl.replies import Reply
from vendor_verifier.suites.bfcl.verdict import uncheckable


@dataclass(frozen=True, slots=True)
class ServiceCall:
    """A call by name. Models name every argument; a row's expected calls may give some by position.

    ``source`` is the text of a written call, as the model is shown it again.
    """

    name: str
    named: Mapping[str, Any] = field(default_factory=dict)
    positional: tuple[Any, ...] = ()
    source: str = ""


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
    try:
        result = _result(methods, call)
    except Exception as error:  # noqa: BLE001 - a service may raise anything, and what it raises is its answer
        return f"Error during execution: {error}"
    return _shown(result)


def _result(methods: Mapping[str, Callable[..., object]], call: ServiceCall) -> object:
    method = methods.get(call.name)
    if method is None:
        raise NameError(f"name {call.name.partition('.')[0]!r} is not defined")
    named = {name: _argument(methods, value) for name, value in call.named.items()}
    # A service may keep and change what it is given, and one conversation is run more than once.
    return method(*deepcopy(call.positional), **deepcopy(named))


def _argument(methods: Mapping[str, Callable[..., object]], value: Any) -> Any:
    """The argument, in which calls have become their results."""
    if isinstance(value, ServiceCall):
        return _result(methods, value)
    return {key: _argument(methods, item) for key, item in value.items()} if isinstance(value, dict) else value


def _shown(result: object) -> str:
    if type(result) is dict:
        try:
            return json.dumps(result)
        except (TypeError, ValueError):
            return str(result)
    return str(result)


def native_step(reply: Reply) -> tuple[ServiceCall, ...]:
    """The calls of a native reply."""
    return tuple(ServiceCall(name, arguments) for call in reply.calls for name, arguments in call.items())


def written_step(reply: Reply) -> tuple[ServiceCall, ...] | None:
    """The calls of a written reply, or None where one of them cannot be written again: an empty object in it."""
    calls = [(name, arguments) for call in reply.calls for name, arguments in call.items()]
    try:
        return tuple(_written_call(name, arguments) for name, arguments in calls)
    except _NotWritable:
        return None


class _NotWritable(Exception):
    """An argument has no source text."""


def _written_call(name: str, arguments: Mapping[Any, Any]) -> ServiceCall:
    named = {key: _written_argument(value) for key, value in arguments.items()}
    parts = ", ".join(f"{key}={_source(value)}" for key, value in named.items())
    return ServiceCall(name, named, source=f"{name}({parts})")


def _written_argument(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if not value:
        raise _NotWritable
    if all(isinstance(item, dict) for item in value.values()):
        name, arguments = next(iter(value.items()))
        return _written_call(str(name), arguments)
    return {str(key): _written_argument(item) for key, item in value.items()}


def _source(value: Any) -> str:
    if isinstance(value, ServiceCall):
        return value.source
    if isinstance(value, dict):
        return "{" + ", ".join(f"'{key}': {_source(item)}" for key, item in value.items()) + "}"
    return repr(value)
