"""ToolBench as mcpbr 0.14.0 computes it: names only; it raises where the original does and mends nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

NO_GROUND_TRUTH = "No ground truth available"
NO_CALLS = "Could not extract tool calls from solution"
# Opener in lower case or bare, a newline after it and one directly before the closer: all the original recognises. A
# block in another language before it hides it, because that block's closer is taken for an opener.
_BLOCK = re.compile(r"```(?:json)?\s*\n(.*?)\n```", re.DOTALL)


def evaluate(task: dict[str, Any], solution: str) -> dict[str, Any]:
    """The original's result for the text of a solution.

    Raises:
        AttributeError: a fenced list holds something that is not an object.
        TypeError: the solution is not text, or a name cannot be put into a set.
        ValueError: an integer of more digits than Python reads.
    """
    expected = task.get("ground_truth", [])
    return compare(expected, extract(solution)) if expected else {"resolved": False, "error": NO_GROUND_TRUTH}


def extract(solution: str) -> list[Any]:
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


def compare(expected: Any, calls: Sequence[Any]) -> dict[str, Any]:
    """The original's result for calls that are already extracted. ``expected`` is not empty."""
    if not calls:
        return {"resolved": False, "error": NO_CALLS}
    wanted = [call.get("name", "") for call in expected if isinstance(call, dict)]
    got = [call.get("name", "") for call in calls]
    kinds = set(wanted)
    return {
        "resolved": wanted == got,
        "tool_selection_accuracy": len(kinds & set(got)) / max(len(kinds), 1),
        "expected_tools": wanted,
        "agent_tools": got,
    }


def filter_tasks(
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
