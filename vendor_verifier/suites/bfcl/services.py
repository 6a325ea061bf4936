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

from vendor_verifier.errors import DataError
from vendor_verifier.suites.bfcl.categories import is_relevance, language_of
from vendor_verifier.suites.bfcl.check_call import document_named, expected_arguments, read_document
from vendor_verifier.suites.bfcl.check_value import expected_type, written_type
from vendor_verifier.suites.bfcl.checker import check
from vendor_verifier.suites.bfcl.reference_calls import reference_calls
from vendor_verifier.suites.bfcl.verdict import uncheckable


def row_problem(expected: Mapping[str, Any]) -> str | None:
    """The reason in one sentence that a single-turn row cannot be checked, or None when it can."""
    category = str(expected["category"])
    if is_relevance(category):
        return None
    try:
        _check_row(expected, category)
    except DataError as error:
        return error.problems[0].message
    return None


def unreachable(expected: Mapping[str, Any]) -> str | None:
    """The reason that a row's own answers fail it, or None when they pass; for rows without a :func:`row_problem`."""
    category = str(expected["category"])
    if is_relevance(category):
        return None
    calls = [{name: arguments} for name, arguments in reference_calls(expected)]
    functions, answer = list(expected["functions"]), expected.get("answer")
    verdict = check(functions, calls, answer, category=category, language=language_of(category))
    return None if verdict.valid else f"{verdict.error_type}: {'; '.join(verdict.error)}"[:300]


def _check_row(expected: Mapping[str, Any], category: str) -> None:
    language, functions = language_of(category), expected["functions"]
    for function in functions:
        document = read_document(function)
        for parameter, details in document.properties.items():
            expected_type(parameter, details, language)
    for answer in expected.get("answer") or ():
        name, accepted = expected_arguments(answer)
        if "parallel" in category or "multiple" in category:
            document_named(functions, name)
        for options in accepted.values():
            written_type(options)
    # The first call's rules decide which document and answer are taken, and whether there are any.
    check(functions, [], expected.get("answer"), category=category, language=language)


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
