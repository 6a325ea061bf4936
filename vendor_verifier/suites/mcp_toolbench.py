"""MCPToolBench++: the right tools with the right parameters and few detours. It executes nothing.

With E the expected and A the answered calls, paired one to one by name for the most right parameters:

- ``tool_selection_accuracy`` = pairs ÷ |E|;
- ``parameter_accuracy`` = right parameters ÷ parameters expected, None where none are expected;
- ``sequence_match``: the same names in the same order;
- ``resolved`` = selection ≥ 0.8, parameters ≥ 0.7 (or none expected), |A| ≤ 1.5 · |E|, and every call can be read;
- ``precision`` = pairs ÷ |A|; ``parameter_precision`` = right parameters ÷ parameters sent, None where none were sent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vendor_verifier.suites.tool_calls import compat
from vendor_verifier.suites.tool_calls.calls import (
    CALL_TYPES,
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
from vendor_verifier.suites.tool_calls.matching import pair_calls
from vendor_verifier.suites.tool_calls.prompt import extract_calls, names_of
from vendor_verifier.suites.tool_calls.suite import AnsweredCalls, CallSuite, raw_calls
from vendor_verifier.values.sample import Sample


def evaluate(task: dict[str, Any], solution: str, *, mode: Mode = "strict") -> dict[str, Any]:
    """Evaluate a solution's text against the row's ``function_call_label``.

    Returns ``resolved``, ``tool_selection_accuracy``, ``parameter_accuracy``, ``sequence_match`` and ``details``;
    strict adds ``precision``, ``parameter_precision``, and ``error`` where a call is malformed. Without a label:
    ``resolved`` false and ``error``. Mode ``compat`` has exactly the original's fields, and its exceptions (see
    :mod:`..tool_calls.compat`); strict never raises.

    Raises:
        UsageError: there is no such mode.
    """
    if is_compat(mode):
        return compat.evaluate_mcp_toolbench(task, solution)
    expectation = read_expectation(task.get("function_call_label") if isinstance(task, Mapping) else None)
    if problem := expectation.problem or _nothing_expected(expectation):
        return {"resolved": False, "error": problem}
    found = extract_calls(solution, _named(task.get("tools"), expectation))
    return compare(expectation.calls, found.calls, found.problem)


def compare(expected: Sequence[Call], called: Sequence[Call], problem: str | None = None) -> dict[str, Any]:
    """Strict evaluation of calls; ``expected`` is not empty. ``problem`` says why no calls could be read."""
    pairs = pair_calls(expected, called)
    right = sum(pair.right_parameters for pair in pairs)
    asked = sum(len(call.parameters) for call in expected)
    sent = sum(len(call.parameters) for call in called)
    accuracy = right / asked if asked else None
    in_sequence = [call.name for call in expected] == [call.name for call in called]
    malformed = first_problem(called) or problem
    # Whole numbers, so that no rounding decides at a threshold.
    enough = 10 * len(pairs) >= 8 * len(expected) and 10 * right >= 7 * asked
    result = {
        "resolved": enough and 2 * len(called) <= 3 * len(expected) and malformed is None,
        "tool_selection_accuracy": len(pairs) / len(expected),
        "parameter_accuracy": accuracy,
        "sequence_match": in_sequence,
        "details": _details(len(pairs) / len(expected), accuracy, in_sequence) if called else compat.NO_CALLS,
        "precision": len(pairs) / len(called) if called else 0.0,
        "parameter_precision": right / sent if sent else None,
    }
    return result if malformed is None else {**result, "error": malformed}


def _details(selection: float, accuracy: float | None, in_sequence: bool) -> str:
    if accuracy is not None:
        return compat.details(selection, accuracy, in_sequence)
    return f"Tool selection: {selection:.1%}, Parameter accuracy: not applicable, Sequence match: {in_sequence}"


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
    """Rows of any of the ids (uuid), any of the difficulties (easy is ``single``, medium and hard are ``multi``), any
    of the categories (equal), all tags; then the first ``sample_size``. Case does not matter; an empty filter lets
    everything pass.

    Strict looks for tags in the tools' names and descriptions and never raises. ``compat`` ignores tags, compares an
    unknown difficulty with ``call_type`` letter by letter, adds ``instance_id``, and raises KeyError without a uuid and
    AttributeError on a null category.
    """
    difficulty, category, tags, task_ids = map(several, (difficulty, category, tags, task_ids))
    if is_compat(mode):
        return compat.filter_mcp_toolbench_tasks(
            tasks, difficulty=difficulty, category=category, tags=tags, task_ids=task_ids, sample_size=sample_size
        )
    call_types = {CALL_TYPES.get(level.lower(), level.lower()) for level in difficulty}
    categories = {name.lower() for name in category}
    kept = [
        task
        for task in tasks
        if (not task_ids or has_id(task, ("uuid", "id"), task_ids))
        and (not difficulty or lowered(task, "call_type") in call_types)
        and (not category or lowered(task, "category") in categories)
        and has_tags(task, tags)
    ]
    return first(kept, sample_size)


# Per call type, best first: from which resolve rate on the original's page speaks of which kind of result.
RESOLVE_BANDS: Mapping[str, tuple[tuple[float, str], ...]] = {
    "single": ((0.7, "good"), (0.5, "adequate")),
    "multi": ((0.5, "good"), (0.3, "adequate"), (0.0, "poor")),
}


def resolve_band(call_type: str, resolved: float) -> str | None:
    """The page's word for a resolve rate: ``good``, ``adequate``, ``poor``; None where it has none."""
    return next((word for least, word in RESOLVE_BANDS.get(call_type, ()) if resolved >= least), None)


def _named(tools: object, expectation: Expectation) -> frozenset[str]:
    """The names of a row's tools, which are bare or definitions, and of those it expects."""
    listed = tools if isinstance(tools, (list, tuple)) else ()
    bare = {name for name in listed if isinstance(name, str)}
    expected = {call.name for call in expectation.calls if call.name}
    return names_of(tool for tool in listed if isinstance(tool, Mapping)) | bare | expected


def _nothing_expected(expectation: Expectation) -> str | None:
    return None if expectation.calls else compat.NO_GROUND_TRUTH


@dataclass(frozen=True, slots=True, kw_only=True)
class MCPToolBenchSuite(CallSuite):
    """Values: ``resolved`` and ``sequence_match`` (1 or 0), ``tool_selection_accuracy``, ``parameter_accuracy``, and
    in strict mode ``precision`` and ``parameter_precision``."""

    name: str = "mcptoolbench"

    def value_names(self) -> tuple[str, ...]:
        strict = ("precision", "parameter_precision")
        return ("resolved", "tool_selection_accuracy", "parameter_accuracy", "sequence_match", *strict)

    def defect(self, expectation: Expectation) -> str | None:
        return _nothing_expected(expectation)

    def not_applicable(self, expectation: Expectation) -> frozenset[str]:
        """Without expected parameters there is no parameter accuracy, whether or not an answer came."""
        if self.mode == "compat":
            return frozenset({"precision", "parameter_precision"})
        any_expected = any(call.parameters for call in expectation.calls)
        return frozenset() if any_expected else frozenset({"parameter_accuracy"})

    def tools_in_prose(self, sample: Sample) -> frozenset[str]:
        """All that the sample offers: the page promises to find calls that a text describes."""
        return names_of(sample.turn.tools)

    def evaluate(self, expectation: Expectation, answered: AnsweredCalls) -> dict[str, Any]:
        """The page's fields for the calls of an answer."""
        if self.mode == "strict":
            return compare(expectation.calls, answered.calls, answered.problem)
        if not expectation.calls:
            return {"resolved": False, "error": compat.NO_GROUND_TRUTH}
        calls: Any = raw_calls(answered.calls)
        if answered.in_text:
            calls = [call for text in answered.texts for call in compat.extract_mcp_toolbench(text) or ()]
        return compat.compare_mcp_toolbench(raw_calls(expectation.calls), calls)
