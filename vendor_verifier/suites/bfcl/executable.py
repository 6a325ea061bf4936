"""Calls judged by what they return: the ``exec_*`` rows. It runs nothing itself; the user's functions are injected.

Source of the rules: nvidia_bfcl 26.3. Results are compared as JSON, so a tuple is a list. ``exact_match`` asks for
equal results, ``real_time_match`` for numbers within 20 %, ``structural_match`` for the same type and keys or length.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from vendor_verifier.suites.bfcl.decode import Reply
from vendor_verifier.suites.bfcl.verdict import VALID, Mode, Verdict, invalid, uncheckable

_ALLOWED_DIFFERENCE = 0.2
_NO_MATCH = "executable_checker:cannot_find_match"
_OPERATORS: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A call by name; a row's expected calls may give some arguments by position."""

    name: str
    named: Mapping[str, Any]
    positional: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Returned:
    """What a call returned, as JSON reads it back, or ``error``: why it did not."""

    value: Any = None
    error: str | None = None


class Functions(Protocol):
    """Runs functions by name, each within a time limit."""

    def missing(self, name: str) -> str | None:
        """Why this function cannot be run here, or None when it can."""

    def call(self, call: FunctionCall) -> Returned:
        """Run one call; whatever goes wrong is its error."""


def expected_calls(sources: Sequence[str]) -> list[FunctionCall]:
    """The row's right calls: ``name(1, key=2 * 3)``, literals and arithmetic only.

    Raises:
        DataError: anything else.
    """
    return [_read(source) for source in sources]


def judge_execution(expected: Mapping[str, Any], reply: Reply, functions: Functions, mode: Mode) -> Verdict:
    """The verdict on a reply, with upstream's error types.

    ``expected``: ``category``, ``answer`` (sources of calls), ``match_types`` (one a call). ``compat`` takes for each
    expected call in turn the first call that fits, ``strict`` any assignment that works.

    Raises:
        DataError: an expected call cannot be read or run.
    """
    if reply.outcome != "calls":
        return invalid("executable_decoder:decoder_failed", reply.reason or "no calls that can be read came")
    made = [FunctionCall(name, arguments) for call in reply.calls for name, arguments in call.items()]
    wanted = [functions.call(call) for call in expected_calls(expected["answer"])]
    broken = next((result.error for result in wanted if result.error), None)
    if broken is not None:
        raise uncheckable(f"an expected call fails: {broken}")
    several = "parallel" in expected["category"] or "multiple" in expected["category"]
    if len(made) != len(wanted):
        kind = "value_error:exec_result_count" if several else "simple_exec_checker:wrong_count"
        return invalid(kind, f"{len(wanted)} calls are right, got {len(made)}")
    results = [functions.call(call) for call in made]
    verdicts = [
        [_compare(result, right.value, kind) for result in results]
        for right, kind in zip(wanted, expected["match_types"], strict=True)
    ]
    return _assigned(verdicts, mode) if several else verdicts[0][0]


def _assigned(verdicts: Sequence[Sequence[Verdict]], mode: Mode) -> Verdict:
    """Every expected call (row) needs a call of its own (column)."""
    holder: dict[int, int] = {}

    def place(row: int, tried: set[int]) -> bool:
        for column, verdict in enumerate(verdicts[row]):
            if not verdict.valid or column in tried:
                continue
            tried.add(column)
            if column not in holder or (mode == "strict" and place(holder[column], tried)):
                holder[column] = row
                return True
        return False

    for row, found in enumerate(verdicts):
        if not place(row, set()):
            return invalid(_NO_MATCH, *(why for verdict in found for why in verdict.error))
    return VALID


def _compare(result: Returned, right: Any, kind: str) -> Verdict:
    if result.error is not None:
        return invalid("executable_checker:execution_error", result.error)
    value = result.value
    if kind == "exact_match":
        return VALID if value == right else _wrong("executable_checker:wrong_result", value, right)
    if kind == "real_time_match":
        numbers = type(value) in (int, float) and type(right) in (int, float)
        low, high = (1 - _ALLOWED_DIFFERENCE, 1 + _ALLOWED_DIFFERENCE) if numbers else (0, 0)
        near = numbers and right * low <= value <= right * high
        return VALID if near else _wrong("executable_checker:wrong_result_real_time", value, right)
    return _same_structure(value, right)


def _same_structure(value: Any, right: Any) -> Verdict:
    kind = "executable_checker:wrong_result_type"
    if type(value) is not type(right):
        return _wrong(kind, value, right)
    if isinstance(value, dict):
        missing = [key for key in right if key not in value]
        if missing:
            return _wrong(f"{kind}:dict_key_not_found", value, right)
        return VALID if len(value) == len(right) else _wrong(f"{kind}:dict_extra_key", value, right)
    if isinstance(value, list) and len(value) != len(right):
        return _wrong(f"{kind}:list_length", value, right)
    return VALID


def _wrong(kind: str, value: Any, right: Any) -> Verdict:
    return invalid(kind, f"expected {right!r:.200}, got {value!r:.200}")


def _read(source: str) -> FunctionCall:
    try:
        call = ast.parse(source.strip(), mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            raise ValueError("no call of a function by name")
        positional = tuple(_value(argument) for argument in call.args)
        named = {str(keyword.arg): _value(keyword.value) for keyword in call.keywords}
    except (SyntaxError, ValueError, ArithmeticError, TypeError) as error:
        raise uncheckable(f"the expected call {source!r:.120} cannot be read: {error}") from None
    return FunctionCall(call.func.id, named, positional)


def _value(node: ast.expr) -> Any:
    """A literal, or arithmetic on literals (``1/6``)."""
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_value(node.left), _value(node.right))
    return ast.literal_eval(node)
