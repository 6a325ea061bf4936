"""ToolBench: the right tools in the right order. Parameters are not compared; that is MCPToolBench++'s question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from vendor_verifier.suites.call_suite import CallSuite
from vendor_verifier.suites.calls import Call, calls_in_text, first_problem, read_calls


def evaluate(task: Mapping[str, Any], solution: str) -> dict[str, Any]:
    """Evaluate a solution's text against the row's ``ground_truth``; never raises.

    Returns ``resolved``, ``tool_selection_accuracy``, ``expected_tools`` and ``agent_tools``; ``error`` where a call
    has no name. Without ground truth or calls ``resolved`` and ``error`` alone.
    """
    expected = read_calls(task.get("ground_truth"))
    if not expected or (defect := first_problem(expected)):
        return {"resolved": False, "error": defect if expected else ToolBenchSuite.NOTHING_EXPECTED}
    return _compare(expected, calls_in_text(solution))


def _compare(expected: Sequence[Call], called: Sequence[Call]) -> dict[str, Any]:
    if not called:
        return {"resolved": False, "error": "Could not extract tool calls from solution"}
    wanted, got = [call.name for call in expected], [call.name for call in called]
    found = {
        "resolved": wanted == got,
        "tool_selection_accuracy": len({*wanted} & {*got}) / len({*wanted}),
        "expected_tools": wanted,
        "agent_tools": got,
    }
    nameless = first_problem([call for call in called if not call.name])
    return {**found, "error": nameless} if nameless else found


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolBenchSuite(CallSuite):
    """Values: ``resolved`` (1 or 0) and ``tool_selection_accuracy``."""

    name: str = "toolbench"
    VALUES: ClassVar[tuple[str, ...]] = ("resolved", "tool_selection_accuracy")
    NOTHING_EXPECTED: ClassVar[str | None] = "No ground truth available"

    def evaluate(self, expected: Sequence[Call], called: Sequence[Call]) -> dict[str, Any]:
        """The page's fields, and in words what differs."""
        found = _compare(expected, called)
        wanted, got = found.get("expected_tools"), found.get("agent_tools")
        return found if wanted == got else {**found, "reason": f"Expected {wanted}, called {got}."}
