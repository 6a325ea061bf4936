"""ToolBench: the right tools in the right order. Parameters are not compared; that is MCPToolBench++'s question.

With E the expected and A the answered names:

- ``resolved`` = (E = A), and every call can be read;
- ``tool_selection_accuracy`` = |E ∩ A| ÷ |E| as multisets, so a tool expected twice has to be called twice;
- ``precision`` = |E ∩ A| ÷ |A|, so that superfluous calls are seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vendor_verifier.suites.tool_calls import compat
from vendor_verifier.suites.tool_calls.calls import (
    Call,
    Expectation,
    Mode,
    first,
    first_problem,
    has_id,
    has_tags,
    is_compat,
    lowered,
    read_expectation,
    several,
)
from vendor_verifier.suites.tool_calls.matching import names_in_common
from vendor_verifier.suites.tool_calls.prompt import extract_calls
from vendor_verifier.suites.tool_calls.suite import AnsweredCalls, CallSuite, raw_calls


def evaluate(task: dict[str, Any], solution: str, *, mode: Mode = "strict") -> dict[str, Any]:
    """Evaluate a solution's text against the row's ``ground_truth``.

    Returns ``resolved``, ``tool_selection_accuracy``, ``expected_tools``, ``agent_tools``; strict adds ``precision``,
    and ``error`` where a call is malformed. Without ground truth or calls: ``resolved`` false and ``error``. Mode
    ``compat`` has exactly the original's fields, and its exceptions (see :mod:`..tool_calls.compat`); strict never
    raises.

    Raises:
        UsageError: there is no such mode.
    """
    if is_compat(mode):
        return compat.evaluate_toolbench(task, solution)
    expectation = read_expectation(task.get("ground_truth") if isinstance(task, Mapping) else None)
    if problem := expectation.problem or _nothing_expected(expectation):
        return {"resolved": False, "error": problem}
    found = extract_calls(solution)
    return compare(expectation.calls, found.calls, found.problem)


def compare(expected: Sequence[Call], called: Sequence[Call], problem: str | None = None) -> dict[str, Any]:
    """Strict evaluation of calls; ``expected`` is not empty. ``problem`` says why no calls could be read."""
    if not called:
        return {"resolved": False, "error": problem or compat.NO_CALLS_FOUND}
    wanted, got = [call.name for call in expected], [call.name for call in called]
    common = names_in_common(wanted, got)
    malformed = first_problem(called) or problem
    result = {
        "resolved": wanted == got and malformed is None,
        "tool_selection_accuracy": common / len(wanted),
        "expected_tools": wanted,
        "agent_tools": got,
        "precision": common / len(got),
    }
    return result if malformed is None else {**result, "error": malformed}


def filter_tasks(
    tasks: Sequence[dict[str, Any]],
    *,
    difficulty: Sequence[str] = (),
    category: Sequence[str] = (),
    tags: Sequence[str] = (),
    task_ids: Sequence[str] = (),
    sample_size: int | None = None,
    mode: Mode = "strict",
) -> list[dict[str, Any]]:
    """Rows of any of the difficulties (equal), any of the categories (contained), all tags, any of the ids; then the
    first ``sample_size``. Case does not matter; an empty filter lets everything pass.

    Strict looks for tags in the tools' names and descriptions and never raises. ``compat`` looks for them in the whole
    field as Python writes it, numbers the rows as ``instance_id``, and raises AttributeError on a null difficulty or
    category.
    """
    difficulty, category, tags, task_ids = map(several, (difficulty, category, tags, task_ids))
    if is_compat(mode):
        return compat.filter_toolbench_tasks(
            tasks, difficulty=difficulty, category=category, tags=tags, task_ids=task_ids, sample_size=sample_size
        )
    levels = {level.lower() for level in difficulty}
    kept = [
        task
        for task in tasks
        if (not difficulty or lowered(task, "difficulty") in levels)
        and (not category or any(word.lower() in lowered(task, "category") for word in category))
        and has_tags(task, tags)
        and (not task_ids or has_id(task, ("id", "query_id"), task_ids))
    ]
    return first(kept, sample_size)


def _nothing_expected(expectation: Expectation) -> str | None:
    return None if expectation.calls else compat.NO_EXPECTED


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolBenchSuite(CallSuite):
    """Values: ``resolved`` (1 or 0), ``tool_selection_accuracy``, ``precision`` (strict only)."""

    name: str = "toolbench"

    def value_names(self) -> tuple[str, ...]:
        return ("resolved", "tool_selection_accuracy", "precision")

    def defect(self, expectation: Expectation) -> str | None:
        return _nothing_expected(expectation)

    def not_applicable(self, expectation: Expectation) -> frozenset[str]:  # noqa: ARG002
        return frozenset({"precision"}) if self.mode == "compat" else frozenset()

    def evaluate(self, expectation: Expectation, answered: AnsweredCalls) -> dict[str, Any]:
        """The page's fields for the calls of an answer."""
        if self.mode == "strict":
            found = compare(expectation.calls, answered.calls, answered.problem)
            wanted, got = found.get("expected_tools"), found.get("agent_tools")
            return found if wanted == got else {**found, "reason": f"Expected {wanted}, called {got}."}
        if not expectation.calls:
            return {"resolved": False, "error": compat.NO_EXPECTED}
        calls: list[Any] = raw_calls(answered.calls)
        if answered.in_text:
            calls = [call for text in answered.texts for call in compat.extract_toolbench(text)]
        return compat.compare_toolbench(raw_calls(expectation.calls), calls)
