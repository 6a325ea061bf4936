"""The originals' arithmetic, quirks and crashes included, for comparison with published numbers; nothing is mended.

Behaviour was taken from mcpbr 0.14.0 (ToolBench; MCPToolBench++, unfair to tools without parameters) and
eval_ai_library 0.8.2 (Tool Correctness). Input on which an original raises makes these raise the same class of
exception; the suites turn that into an unresolved sample.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from vendor_verifier.suites.tool_calls.matching import longest_common

NO_GROUND_TRUTH = "No ground truth function calls provided for evaluation"
NO_CALLS = "Agent made no tool calls"


def evaluate_mcp_toolbench(task: dict[str, Any], solution: str) -> dict[str, Any]:
    """The original's result for the text of a solution.

    Raises:
        AttributeError: a call is not an object, or the parameters compared are null, a text or a list.
        TypeError: the solution is not text, or the label's parameters are null.
        ValueError: an integer of more digits than Python reads.
    """
    expected = task.get("function_call_label", [])
    return (
        compare_mcp_toolbench(expected, extract_mcp_toolbench(solution))
        if expected
        else {"resolved": False, "error": NO_GROUND_TRUTH}
    )


def extract_mcp_toolbench(solution: str) -> Any:
    """Whole JSON only: a list, or what stands under ``tool_calls``, as it is. Fences and prose are never looked at."""
    try:
        value = json.loads(solution)
    except json.JSONDecodeError:
        return []
    if isinstance(value, dict):
        return value.get("tool_calls", [])
    return value if isinstance(value, list) else []


def compare_mcp_toolbench(expected: Any, calls: Any) -> dict[str, Any]:
    """The original's result for calls that are already extracted. ``expected`` is not empty."""
    if not calls:
        return _result(False, 0.0, 0.0, False, NO_CALLS)
    # Selection is counted before any parameter is looked at, so that odd input raises what the original raises.
    selected = sum(_first_named(calls, wanted) is not None for wanted in expected)
    correct = total = 0
    for wanted in expected:
        parameters = wanted.get("parameters", {})
        total += len(parameters)
        answered = _first_named(calls, wanted)
        if answered is not None:
            given = answered.get("parameters", {})
            correct += sum(given.get(key) == value for key, value in parameters.items())
    selection = selected / len(expected)
    accuracy = correct / total if total else 0.0
    in_sequence = len(calls) == len(expected) and all(
        call.get("name", "") == wanted.get("name", "") for call, wanted in zip(calls, expected, strict=True)
    )
    resolved = selection >= 0.8 and accuracy >= 0.7 and len(calls) <= 1.5 * len(expected)
    return _result(resolved, selection, accuracy, in_sequence, details(selection, accuracy, in_sequence))


def details(selection: float, accuracy: float, in_sequence: bool) -> str:
    """The three figures in the original's words."""
    return f"Tool selection: {selection:.1%}, Parameter accuracy: {accuracy:.1%}, Sequence match: {in_sequence}"


def _first_named(calls: Any, wanted: Any) -> Any:
    name = wanted.get("name", "")
    return next((call for call in calls if call.get("name", "") == name), None)


def _result(resolved: bool, selection: float, accuracy: float, in_sequence: bool, text: str) -> dict[str, Any]:
    return {
        "resolved": resolved,
        "tool_selection_accuracy": selection,
        "parameter_accuracy": accuracy,
        "sequence_match": in_sequence,
        "details": text,
    }


def filter_mcp_toolbench_tasks(
    tasks: Sequence[dict[str, Any]],
    *,
    difficulty: Sequence[str] = (),
    category: Sequence[str] = (),
    tags: Sequence[str] = (),  # noqa: ARG001 - the original takes and ignores them
    task_ids: Sequence[str] = (),
    sample_size: int | None = None,
) -> list[dict[str, Any]]:
    """The original's selection. ``instance_id`` is the row's uuid.

    Raises:
        KeyError: a row has no uuid.
        AttributeError: a row's category is null or no text.
    """
    kept = [task for task in tasks if task["uuid"] in set(task_ids)] if task_ids else list(tasks)
    if difficulty:
        call_types = {_CALL_TYPES.get(level.lower(), level) for level in difficulty}
        kept = [task for task in kept if task.get("call_type", "") in call_types]
    if category:
        names = {name.lower() for name in category}
        kept = [task for task in kept if task.get("category", "").lower() in names]
    if sample_size is not None and len(kept) > sample_size:
        kept = kept[:sample_size]
    return [{**task, "instance_id": task["uuid"]} for task in kept]


_CALL_TYPES = {"easy": "single", "single": "single", "hard": "multi", "multi": "multi", "medium": "multi"}


def score_tool_correctness(expected: Any, called: Any, *, exact_match: bool, check_ordering: bool) -> tuple[float, str]:
    """The original's score and reason. Exact match wins over ordering.

    Where the reason lists missing tools the original's order changes from process to process; here it is the order of
    the expectation.

    Raises:
        pydantic.ValidationError: an argument is no list of texts (None is an empty list).
    """
    wanted, got = _names(expected), _names(called)
    if exact_match:
        if wanted == got:
            return 1.0, f"Exact match: all expected tools {wanted} were called exactly."
        return 0.0, f"Mismatch: expected {wanted}, called {got}."
    if check_ordering:
        common = longest_common(wanted, got)
        if common == len(wanted):
            return 1.0, "Correct tool usage and order."
        return common / len(wanted), f"Incomplete or unordered: expected {wanted}, got {got}."
    return _share_called(wanted, got), _share_reason(wanted, got)


def _share_called(wanted: list[str], got: list[str]) -> float:
    return (Counter(wanted) & Counter(got)).total() / len(wanted) if wanted else 1.0


def _share_reason(wanted: Sequence[str], got: Sequence[str]) -> str:
    """By sets, unlike the score: one call of a tool expected twice gives 0.5 and "all were called"."""
    missing = [name for name in dict.fromkeys(wanted) if name not in got]
    if missing:
        return f"Missing tools {missing}. Expected {wanted}, got {got}."
    return f"All expected tools {wanted} were called."


def _names(value: Any) -> list[str]:
    from pydantic import TypeAdapter  # heavy, and needed only to refuse what the original refuses

    return TypeAdapter(list[str] | None).validate_python(value) or []


NO_EXPECTED = "No ground truth available"
NO_CALLS_FOUND = "Could not extract tool calls from solution"
# Opener in lower case or bare, a newline after it and one directly before the closer: all the original recognises. A
# block in another language before it hides it, because that block's closer is taken for an opener.
_BLOCK = re.compile(r"```(?:json)?\s*\n(.*?)\n```", re.DOTALL)


def evaluate_toolbench(task: dict[str, Any], solution: str) -> dict[str, Any]:
    """The original's result for the text of a solution.

    Raises:
        AttributeError: a fenced list holds something that is not an object.
        TypeError: the solution is not text, or a name cannot be put into a set.
        ValueError: an integer of more digits than Python reads.
    """
    expected = task.get("ground_truth", [])
    return (
        compare_toolbench(expected, extract_toolbench(solution))
        if expected
        else {"resolved": False, "error": NO_EXPECTED}
    )


def extract_toolbench(solution: str) -> list[Any]:
    """A whole-text list loses what is not an object; a list in a block is taken as it is."""
    whole = _list_or_object(solution)
    if whole is not None:
        return [call for call in whole if isinstance(call, dict)]
    blocks = (_list_or_object(block) for block in _BLOCK.findall(solution))
    return next((calls for calls in blocks if calls is not None), [])


def _list_or_object(text: str) -> list[Any] | None:
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        return None
    if isinstance(value, dict):
        return [value]
    return value if isinstance(value, list) else None


def compare_toolbench(expected: Any, calls: Sequence[Any]) -> dict[str, Any]:
    """The original's result for calls that are already extracted. ``expected`` is not empty."""
    if not calls:
        return {"resolved": False, "error": NO_CALLS_FOUND}
    wanted = [call.get("name", "") for call in expected if isinstance(call, dict)]
    got = [call.get("name", "") for call in calls]
    kinds = set(wanted)
    return {
        "resolved": wanted == got,
        "tool_selection_accuracy": len(kinds & set(got)) / max(len(kinds), 1),
        "expected_tools": wanted,
        "agent_tools": got,
    }


def filter_toolbench_tasks(
    tasks: Sequence[dict[str, Any]],
    *,
    difficulty: Sequence[str] = (),
    category: Sequence[str] = (),
    tags: Sequence[str] = (),
    task_ids: Sequence[str] = (),
    sample_size: int | None = None,
) -> list[dict[str, Any]]:
    """The original's selection; ``instance_id`` is the position after filtering, so it changes with the filters.

    Raises:
        AttributeError: a row's difficulty or category is null or no text.
    """
    kept = list(tasks)
    if difficulty:
        levels = {level.lower() for level in difficulty}
        kept = [task for task in kept if task.get("difficulty", "").lower() in levels]
    if category:
        kept = [task for task in kept if any(word.lower() in task.get("category", "").lower() for word in category)]
    if tags:
        kept = [task for task in kept if all(tag.lower() in str(task.get("tools", "")).lower() for tag in tags)]
    if task_ids:
        kept = [task for task in kept if str(task.get("id", "")) in set(task_ids)]
    if sample_size is not None and len(kept) > sample_size:
        kept = kept[:sample_size]
    return [{**task, "instance_id": f"toolbench_{position}"} for position, task in enumerate(kept)]
