"""MCPToolBench++ as mcpbr 0.14.0 computes it, unfair to tools without parameters; raises where the original does."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

NO_GROUND_TRUTH = "No ground truth function calls provided for evaluation"
NO_CALLS = "Agent made no tool calls"


def evaluate(task: dict[str, Any], solution: str) -> dict[str, Any]:
    """The original's result for the text of a solution.

    Raises:
        AttributeError: a call is not an object, or the parameters compared are null, a text or a list.
        TypeError: the solution is not text, or the label's parameters are null.
        ValueError: an integer of more digits than Python reads.
    """
    expected = task.get("function_call_label", [])
    return compare(expected, extract(solution)) if expected else {"resolved": False, "error": NO_GROUND_TRUTH}


def extract(solution: str) -> Any:
    """Whole JSON only: a list, or what stands under ``tool_calls``, as it is. Fences and prose are never looked at."""
    try:
        value = json.loads(solution)
    except json.JSONDecodeError:
        return []
    if isinstance(value, dict):
        return value.get("tool_calls", [])
    return value if isinstance(value, list) else []


def compare(expected: Any, calls: Any) -> dict[str, Any]:
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


def filter_tasks(
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
