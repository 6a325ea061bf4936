"""MCPToolBench++: the right tools with the right parameters and few detours. It executes nothing."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from vendor_verifier.suites.tool_calls.calls import (
    Call,
    first_problem,
    mcp_calls_in_text,
    read_expectation,
    right_parameters,
)
from vendor_verifier.suites.tool_calls.suite import CallSuite, tool_names


def evaluate(task: Mapping[str, Any], solution: str) -> dict[str, Any]:
    """Evaluate a solution's text against the row's ``function_call_label``; never raises.

    Returns ``resolved``, ``tool_selection_accuracy``, ``parameter_accuracy`` (None where no parameters are expected),
    ``sequence_match`` and ``details``; ``error`` where a call cannot be read. Without a label ``resolved`` and
    ``error`` alone.
    """
    expectation = read_expectation(task.get("function_call_label"))
    if expectation.problem or not expectation.calls:
        return {"resolved": False, "error": expectation.problem or MCPToolBenchSuite.NOTHING_EXPECTED}
    listed = task["tools"] if isinstance(task.get("tools"), list) else []
    names = tool_names({"name": tool} if isinstance(tool, str) else tool for tool in listed)
    return _compare(expectation.calls, mcp_calls_in_text(solution, names | {call.name for call in expectation.calls}))


def _compare(expected: Sequence[Call], called: Sequence[Call]) -> dict[str, Any]:
    """An expected call is compared with the first call of its tool. Of a tool expected n times the first n calls are
    shared out, each expected call taking the one that fits best, each once while there are others.
    """
    selected = right = 0
    wanted_names = [call.name for call in expected]
    first = {name: [call for call in called if call.name == name][: wanted_names.count(name)] for name in wanted_names}
    left = {name: list(calls) for name, calls in first.items()}
    for wanted in expected:
        if not first[wanted.name]:
            continue
        candidates = left[wanted.name] or first[wanted.name]
        fits = [(right_parameters(wanted, call), -len(call.parameters)) for call in candidates]
        selected += 1
        right += max(fits)[0]
        if left[wanted.name]:
            left[wanted.name].pop(fits.index(max(fits)))
    total = sum(len(call.parameters) for call in expected)
    selection, accuracy = selected / len(expected), right / total if total else None
    in_sequence = wanted_names == [call.name for call in called]
    unreadable = first_problem(called)
    # Whole numbers, so that no rounding decides at a threshold.
    enough = 10 * selected >= 8 * len(expected) and 10 * right >= 7 * total and 2 * len(called) <= 3 * len(expected)
    shown = "not applicable" if accuracy is None else f"{accuracy:.1%}"
    details = f"Tool selection: {selection:.1%}, Parameter accuracy: {shown}, Sequence match: {in_sequence}"
    result = {
        "resolved": enough and not unreadable,
        "tool_selection_accuracy": selection,
        "parameter_accuracy": accuracy if called else 0.0,
        "sequence_match": in_sequence,
        "details": details if called else "Agent made no tool calls",
    }
    return {**result, "error": unreadable} if unreadable else result


@dataclass(frozen=True, slots=True, kw_only=True)
class MCPToolBenchSuite(CallSuite):
    """Values: ``resolved`` and ``sequence_match`` (1 or 0), ``tool_selection_accuracy``, ``parameter_accuracy``."""

    name: str = "mcptoolbench"
    VALUES: ClassVar[tuple[str, ...]] = ("resolved", "tool_selection_accuracy", "parameter_accuracy", "sequence_match")
    NOTHING_EXPECTED: ClassVar[str | None] = "No ground truth function calls provided for evaluation"

    def evaluate(self, expected: Sequence[Call], called: Sequence[Call]) -> dict[str, Any]:
        """The page's fields for the calls of an answer."""
        return _compare(expected, called)

    def not_applicable(self, expected: Sequence[Call]) -> Collection[str]:
        """Without expected parameters there is no parameter accuracy, whether or not an answer came."""
        return () if any(call.parameters for call in expected) else ("parameter_accuracy",)

    def read_text(self, text: str, tools: Collection[str]) -> tuple[Call, ...]:
        """The calls in the text, also those that it describes: the page promises to find them."""
        return mcp_calls_in_text(text, tools)
