"""MCPToolBench++: the right tools with the right parameters and few detours. It executes nothing."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from vendor_verifier.suites.call_suite import CallSuite
from vendor_verifier.suites.calls import Call, first_problem, mcp_calls_in_text, read_calls, right_parameters


def evaluate(task: Mapping[str, Any], solution: str) -> dict[str, Any]:
    """Evaluate a solution's text against the row's ``function_call_label``; never raises.

    Returns ``resolved``, ``tool_selection_accuracy``, ``parameter_accuracy`` (None where no parameters are expected),
    ``sequence_match`` and ``details``; ``error`` where a call cannot be read. Without a label ``resolved`` and
    ``error`` alone.
    """
    expected = read_calls(task.get("function_call_label"))
    if not expected or (defect := first_problem(expected)):
        return {"resolved": False, "error": defect if expected else MCPToolBenchSuite.NOTHING_EXPECTED}
    listed = task["tools"] if isinstance(task.get("tools"), list) else []
    tools = read_calls(listed) + expected
    return _compare(expected, mcp_calls_in_text(solution, {call.name for call in tools if call.name}))


def _compare(expected: Sequence[Call], called: Sequence[Call]) -> dict[str, Any]:
    """Of a tool expected n times the first n calls count; each expected call takes the one that fits best.

    A call is taken a second time only where no other is left.
    """
    selected = right = 0
    wanted_names = [call.name for call in expected]
    taken: list[int] = []
    for wanted in expected:
        of_tool = [at for at, call in enumerate(called) if call.name == wanted.name]
        of_tool = of_tool[: wanted_names.count(wanted.name)]
        free = [at for at in of_tool if at not in taken] or of_tool
        if free:
            fits = {at: (right_parameters(wanted, called[at]), -len(called[at].parameters)) for at in free}
            best = max(fits, key=fits.__getitem__)
            taken.append(best)
            selected += 1
            right += fits[best][0]
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
        "parameter_accuracy": accuracy,
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

    def read_text(self, text: str, tools: Collection[str]) -> tuple[Call, ...]:
        """The calls in the text, also those that it describes: the page promises to find them."""
        return mcp_calls_in_text(text, tools)
