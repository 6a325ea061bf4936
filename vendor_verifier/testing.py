"""An assertion about tool calls for other people's pytest suites, with a message that shows the differences.

It runs no model and needs no configuration: it takes an SDK's response, calls, names, or an answer's text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from vendor_verifier.suites.tool_calls.calls import Call, first_problem, read_call, read_native
from vendor_verifier.suites.tool_calls.matching import pair_calls
from vendor_verifier.suites.tool_calls.prompt import calls_in, extract_calls
from vendor_verifier.suites.tool_correctness import score_calls
from vendor_verifier.values.event import ToolCall
from vendor_verifier.values.record import Response


def assert_tool_calls(
    actual: object,
    expected: Sequence[str | Mapping[str, Any]],
    *,
    threshold: float = 1.0,
    exact_match: bool = True,
    check_ordering: bool = False,
) -> None:
    """Assert that ``actual`` holds the ``expected`` tool calls.

    ``actual``: a list of calls or names, an answer's text, a response as an SDK or JSON gives it (chat completions,
    Responses, Anthropic, Gemini). ``expected``: calls as ``{"name": ..., "parameters": {...}}`` in any wire's spelling;
    a bare name accepts any parameters. Extra calls fail unless ``exact_match`` is False,
    another order passes unless ``check_ordering`` is True; ``threshold`` is the least share that passes.

    Raises:
        AssertionError: the calls differ; the message lists both sides, paired.
        ValueError: ``expected`` is no list, or holds something that is no call.
    """
    __tracebackhide__ = True
    if isinstance(expected, (str, Mapping)):
        raise ValueError("expected: a list of calls or names is wanted; put the one call into a list")
    wanted = [read_call(item) for item in expected]
    if problem := next((call.problem for call in wanted if call.problem), None):
        raise ValueError(f"expected: {problem}")
    called, unreadable = _read(actual)
    result = score_calls(wanted, called, threshold=threshold, exact_match=exact_match, check_ordering=check_ordering)
    if not result.success or unreadable:
        raise AssertionError("\n".join([result.reason, *unreadable, *_side_by_side(wanted, called)]))


def _read(actual: object) -> tuple[tuple[Call, ...], list[str]]:
    """The calls in ``actual``, and the parts of it that cannot be read."""
    if isinstance(actual, str):
        found = extract_calls(actual)
        calls, problem = found.calls, found.problem
    else:
        calls, problem = tuple(_read_one(item) for item in _spelled(actual)), None
    return calls, [text for text in (problem, first_problem(calls)) if text]


def _spelled(actual: object) -> Sequence[object]:
    if isinstance(actual, Response):
        return actual.tool_calls
    if isinstance(actual, (list, tuple)):
        if all(isinstance(item, (str, ToolCall)) for item in actual):
            return actual
        return calls_in([_plain(item) for item in actual]) or []
    return calls_in(_plain(actual)) or []


def _read_one(item: object) -> Call:
    return read_native(item) if isinstance(item, ToolCall) else read_call(item)


def _plain(item: object) -> object:
    """An SDK's object as the JSON it stands for; anything else as it is."""
    dump = getattr(item, "model_dump", None)
    return dump(mode="json") if callable(dump) else item


def _side_by_side(wanted: Sequence[Call], called: Sequence[Call]) -> list[str]:
    answers = {pair.expected: pair.called for pair in pair_calls(wanted, called)}
    lines = []
    for at, call in enumerate(wanted):
        answer = _written(called[answers[at]]) if at in answers else "nothing"
        lines.append(f"  expected {_written(call)}  called {answer}")
    extra = [call for at, call in enumerate(called) if at not in answers.values()]
    return [*lines, *(f"  not expected: {_written(call)}" for call in extra)]


def _written(call: Call) -> str:
    shown = "..." if call.any_parameters else json.dumps(call.parameters, ensure_ascii=False, default=str)
    return f"{call.name or '(no name)'}({shown})"
