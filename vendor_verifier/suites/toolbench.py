"""ToolBench, the right tools in the right order, and MCPToolBench++, the right tools with the right parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from vendor_verifier.suites.call_suite import CallSuite
from vendor_verifier.suites.calls import Call, calls_in_text, first_problem, read_calls, right_parameters


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolBenchSuite(CallSuite):
    """Values: ``resolved`` (1 or 0) and ``tool_selection_accuracy``. Parameters are not compared."""

    name: str = "toolbench"
    VALUES: ClassVar[tuple[str, ...]] = ("resolved", "tool_selection_accuracy")
    NOTHING_EXPECTED: ClassVar[str | None] = "No ground truth available"

    def evaluate(self, expected: Sequence[Call], called: Sequence[Call]) -> dict[str, Any]:
        """The page's fields, and in words what differs."""
        if not called:
            return {"resolved": False, "error": "Could not extract tool calls from solution"}
        wanted, got = [call.name for call in expected], [call.name for call in called]
        found = {
            "resolved": wanted == got,
            "tool_selection_accuracy": len({*wanted} & {*got}) / len({*wanted}),
            "expected_tools": wanted,
            "agent_tools": got,
        }
        if nameless := first_problem([call for call in called if not call.name]):
            found["error"] = nameless
        return found if wanted == got else {**found, "reason": f"Expected {wanted}, called {got}."}


@dataclass(frozen=True, slots=True, kw_only=True)
class MCPToolBenchSuite(CallSuite):
    """Values: ``resolved`` and ``sequence_match`` (1 or 0), ``tool_selection_accuracy``, ``parameter_accuracy``."""

    name: str = "mcptoolbench"
    VALUES: ClassVar[tuple[str, ...]] = ("resolved", "tool_selection_accuracy", "parameter_accuracy", "sequence_match")
    NOTHING_EXPECTED: ClassVar[str | None] = "No ground truth function calls provided for evaluation"
    READS_PROSE: ClassVar[bool] = True

    def evaluate(self, expected: Sequence[Call], called: Sequence[Call]) -> dict[str, Any]:
        """The page's fields; ``parameter_accuracy`` is None where no parameters are expected.

        Of a tool expected n times the first n calls count; each expected call takes the one that fits best. A call is
        taken a second time only where no other is left.
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


def evaluate_text(suite: CallSuite, task: Mapping[str, Any], solution: str) -> dict[str, Any]:
    """Evaluate the text of a solution to a row of ToolBench or MCPToolBench++; never raises.

    Returns the suite's details; ``resolved`` and ``error`` alone where the row has no readable expected calls.
    """
    expected = read_calls(task.get("ground_truth", task.get("function_call_label")))
    if not expected or (defect := first_problem(expected)):
        return {"resolved": False, "error": defect if expected else suite.NOTHING_EXPECTED}
    listed = task["tools"] if isinstance(task.get("tools"), list) else []
    tools = {call.name for call in read_calls(listed) + expected if call.name}
    return suite.evaluate(expected, calls_in_text(solution, tools if suite.READS_PROSE else None))
