"""An assertion about tool calls for other people's pytest suites, with a message that shows the differences.

It runs no model and needs no configuration: it takes an SDK's response, calls, names, or an answer's text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from vendor_verifier.records.record import Response
from vendor_verifier.suites.calls import WRAPPER_KEYS, Call, calls_in_text, first_problem, read_call
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
        ValueError: ``expected`` is not a list, or holds something that is not a call.
    """
    __tracebackhide__ = True
    if isinstance(expected, (str, Mapping)):
        raise ValueError("expected: pass a list of calls or names; put a single call into a list")
    wanted = [read_call(item) for item in expected]
    if problem := next((call.problem for call in wanted if call.problem), None):
        raise ValueError(f"expected: {problem}")
    called = calls_in_text(actual, ()) if isinstance(actual, str) else tuple(map(read_call, _spelled(actual)))
    unreadable = first_problem(called)
    metric = ToolCorrectnessMetric(threshold, exact_match, check_ordering, compare_parameters=True)
    result = metric.score(wanted, called)
    if not result.success or unreadable:
        lines = [result.reason, *([unreadable] if unreadable else []), *_side_by_side(metric, wanted, called)]
        raise AssertionError("\n".join(lines))


def _spelled(actual: object) -> Sequence[object]:
    if isinstance(actual, Response):
        return actual.tool_calls
    if not isinstance(actual, (list, tuple)):
        actual = [actual]
    return [call for item in actual for call in _calls_in(item)]


# Keys of a response or a message that hold its parts.
_HOLDERS = ("choices", "candidates", "message", "tool_calls", "output", "content", "parts")
# Parts of an answer that are not calls.
_OTHER_PARTS = ("text", "output_text", "thinking", "redacted_thinking", "reasoning", "message")


def _calls_in(value: object) -> Iterator[object]:
    """The objects that spell calls in a response or a part of it, in order, and what is not part of a response."""
    # An SDK's object as JSON.
    dump = getattr(value, "model_dump", None)
    value = dump(mode="json") if callable(dump) else value
    if not isinstance(value, dict) or _spells_call(value):
        yield value
        return
    is_text = value.get("type") in _OTHER_PARTS or set(value) == {"text"} or "role" in value
    if not is_text and value.keys().isdisjoint(_HOLDERS):
        yield value
    for key in _HOLDERS:
        held = value.get(key)
        # Of several choices the first.
        items = held[:1] if key in ("choices", "candidates") and isinstance(held, list) else held
        for item in [items] if isinstance(items, dict) else items if isinstance(items, list) else []:
            yield from _calls_in(item)


def _spells_call(value: Mapping[str, Any]) -> bool:
    named = isinstance(value.get("name"), str) and "role" not in value
    return named or any(isinstance(value.get(key), dict) for key in WRAPPER_KEYS)


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
