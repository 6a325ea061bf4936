"""An assertion about tool calls for other people's pytest suites, with a message that shows the differences.

It runs no model and needs no configuration: it takes an SDK's response, calls, names, or an answer's text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from vendor_verifier.records.record import Response, ToolCall
from vendor_verifier.suites.calls import WRAPPER_KEYS, Call, first_problem, mcp_calls_in_text, read_call
from vendor_verifier.suites.tool_correctness import ToolCorrectnessMetric


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
    called = mcp_calls_in_text(actual) if isinstance(actual, str) else tuple(map(read_call, _spelled(actual)))
    unreadable = first_problem(called)
    metric = ToolCorrectnessMetric(threshold, exact_match, check_ordering, compare_parameters=True)
    result = metric.score(wanted, called)
    if not result.success or unreadable:
        lines = [result.reason, *([unreadable] if unreadable else []), *_side_by_side(metric, wanted, called)]
        raise AssertionError("\n".join(lines))


def _spelled(actual: object) -> Sequence[object]:
    if isinstance(actual, Response):
        return actual.tool_calls
    if isinstance(actual, (list, tuple)):
        if all(isinstance(item, (str, ToolCall)) for item in actual):
            return actual
        return _calls_in([_plain(item) for item in actual]) or []
    return _calls_in(_plain(actual)) or []


# Parts of an answer that are no calls.
_OTHER_PARTS = frozenset({"text", "output_text", "thinking", "redacted_thinking", "reasoning", "message"})


def _calls_in(value: object) -> list[object] | None:
    """The objects that spell calls inside a response, in order; None when it is no list of calls."""
    if isinstance(value, list):
        return _members(value)
    if not isinstance(value, dict):
        return None
    for key in ("tool_calls", "output", "content", "parts"):
        if isinstance(value.get(key), list) and not isinstance(value.get("name"), str):
            return _members(value[key])
    for key in ("choices", "candidates"):
        if isinstance(value.get(key), list) and value[key]:
            return _calls_in(value[key][0])
    for key in ("message", "content"):
        if isinstance(value.get(key), dict):
            return _calls_in(value[key])
    return [value] if _spells_call(value) else None


def _members(items: list[object]) -> list[object]:
    found: list[object] = []
    for item in items:
        if not isinstance(item, dict) or _spells_call(item):
            found.append(item)
        elif (inner := _calls_in(item)) is not None:
            found.extend(inner)
        elif item.get("type") not in _OTHER_PARTS and set(item) != {"text"} and "role" not in item:
            found.append(item)
    return found


def _spells_call(value: Mapping[str, Any]) -> bool:
    named = isinstance(value.get("name"), str) and "role" not in value
    return named or any(isinstance(value.get(key), dict) for key in WRAPPER_KEYS)


def _plain(item: object) -> object:
    """An SDK's object as JSON; anything else as it is."""
    dump = getattr(item, "model_dump", None)
    return dump(mode="json") if callable(dump) else item


def _side_by_side(metric: ToolCorrectnessMetric, wanted: Sequence[Call], called: Sequence[Call]) -> list[str]:
    found = metric.pairs(wanted, called)
    answers = {at: place for at, (place, _) in found.items() if not called[place].problem}
    lines = []
    for at, call in enumerate(wanted):
        answer = _written(called[answers[at]]) if at in answers else "nothing"
        lines.append(f"  expected {_written(call)}  called {answer}")
    extra = [call for at, call in enumerate(called) if at not in answers.values()]
    return [*lines, *(f"  not expected: {_written(call)}" for call in extra)]


def _written(call: Call) -> str:
    shown = "..." if call.any_parameters else json.dumps(call.parameters, ensure_ascii=False, default=str)
    return f"{call.name or '(no name)'}({shown})"
