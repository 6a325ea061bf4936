"""Tool Correctness: the share of expected tools that were called, of answers to ask for or of cases that are there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from vendor_verifier.errors import Problem, ProblemsError, UsageError
from vendor_verifier.suites.call_suite import CallSuite
from vendor_verifier.suites.calls import Call, first_problem, read_calls, right_parameters


@dataclass(frozen=True, slots=True)
class ToolCorrectness:
    """``score`` in [0, 1]; ``success`` is score ≥ threshold; ``reason`` says in words why."""

    score: float
    success: bool
    reason: str


@dataclass(frozen=True)
class ToolCorrectnessMetric:
    """One way to score calls. Raises UsageError for a threshold outside 0 to 1.

    ``check_ordering`` counts the longest common subsequence; ``exact_match`` allows neither extra nor missing calls,
    with ``check_ordering`` in no other order. With ``compare_parameters`` a call counts as much as its parameters do.
    """

    threshold: float = 0.5
    exact_match: bool = False
    check_ordering: bool = False
    compare_parameters: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.threshold, (int, float)) or not 0 <= self.threshold <= 1:
            raise UsageError(f"threshold must be a number from 0 to 1, read {self.threshold!r}")

    def score(self, expected: Sequence[Call], called: Sequence[Call]) -> ToolCorrectness:
        """The share of expected calls that were made. Where nothing is expected, only no call at all is right."""
        if self.check_ordering:
            total = self._in_order(expected, called)
        else:
            total = sum(likeness for _, likeness in self.pairs(expected, called).values())
        value = total / len(expected) if expected else float(not called)
        if self.exact_match:
            value = float(value == 1 and len(called) == len(expected))
        wanted, got = [call.name for call in expected], [call.name for call in called]
        missing, extra = Counter(wanted) - Counter(got), Counter(got) - Counter(wanted)
        found = [f"Missing tools {list(missing.elements())}."] if missing else []
        found += [f"Extra tools {list(extra.elements())}."] if extra else []
        if value < 1 and not found:
            found = ["The parameters differ." if self.compare_parameters else "The order differs."]
        reason = " ".join([*found, f"Expected {wanted}, called {got}."])
        return ToolCorrectness(value, value >= self.threshold, reason)

    def pairs(self, expected: Sequence[Call], called: Sequence[Call]) -> dict[int, tuple[int, float]]:
        """Pairs of one tool, the most similar first: place of the expected call → place of the call, likeness."""
        ranked = sorted(
            (-self._likeness(one, other), at, place)
            for at, one in enumerate(expected)
            for place, other in enumerate(called)
            if one.name == other.name
        )
        found: dict[int, tuple[int, float]] = {}
        taken: set[int] = set()
        for unlike, at, place in ranked:
            if at not in found and place not in taken:
                found[at] = (place, -unlike)
                taken.add(place)
        return found

    def _in_order(self, expected: Sequence[Call], called: Sequence[Call]) -> float:
        best = [0.0] * (len(called) + 1)
        for wanted in expected:
            above = best[:]
            for at, got in enumerate(called, 1):
                best[at] = max(above[at], best[at - 1], above[at - 1] + self._likeness(wanted, got))
        return best[-1]

    def _likeness(self, wanted: Call, given: Call) -> float:
        """0 for another tool; else right parameters ÷ all names on either side, 1 where parameters do not count."""
        if wanted.name != given.name or (self.compare_parameters and given.problem):
            return 0.0
        names = wanted.parameters.keys() | given.parameters.keys()
        if not self.compare_parameters or wanted.any_parameters or not names:
            return 1.0
        return right_parameters(wanted, given) / len(names)


@dataclass(frozen=True, slots=True)
class EvalTestCase:
    """One question with the tools that were called and those that should have been; None means none."""

    input: str = ""
    actual_output: str | None = None
    tools_called: Sequence[Any] | None = None
    expected_tools: Sequence[Any] | None = None


@dataclass(frozen=True, slots=True)
class CaseResult:
    """One case with the result of each metric, in their order; ``index`` is its place among the cases."""

    index: Any
    input: str
    tools_called: tuple[str, ...]
    expected_tools: tuple[str, ...]
    results: tuple[ToolCorrectness, ...]

    @property
    def success(self) -> bool:
        """Whether every metric is met."""
        return all(result.success for result in self.results)


def evaluate(
    cases: Iterable[EvalTestCase | Mapping[str, Any]],
    metrics: Sequence[ToolCorrectnessMetric] = (ToolCorrectnessMetric(),),
    *,
    index: Sequence[Any] | None = None,
) -> list[CaseResult]:
    """Score every case by every metric; ``index`` are the labels of the cases in place of their numbers from 0.

    A case has ``input``, ``tools_called`` and ``expected_tools``, lists of names or of calls with parameters. Raises
    UsageError for cases without them (all of these).
    """
    if not metrics or isinstance(cases, (Mapping, str, bytes)):
        raise UsageError("evaluate() takes a list of cases and at least one metric; put a single case into a list")
    problems: list[Problem] = []
    found: list[CaseResult] = []
    for at, case in enumerate(cases):
        row = case if isinstance(case, Mapping) else asdict(case)
        label = at if index is None else index[at]
        called, expected = read_calls(row.get("tools_called")), read_calls(row.get("expected_tools"))
        for key, calls in (("tools_called", called), ("expected_tools", expected)):
            if problem := first_problem(calls) if key in row else "there is none":
                words = f"{problem}; expected a list of names, such as [] or ['search']"
                problems.append(Problem(words, key=f"case {label}: {key}"))
        made, wanted = (tuple(call.name for call in calls) for calls in (called, expected))
        results = tuple(metric.score(expected, called) for metric in metrics)
        found.append(CaseResult(label, str(row.get("input") or ""), made, wanted, results))
    if problems:
        raise ProblemsError(problems)
    return found


@dataclass(frozen=True, kw_only=True)
class ToolCorrectnessSuite(CallSuite, ToolCorrectnessMetric):
    """Scores the tools that an answer called. Values: ``score`` and ``success`` (1 or 0)."""

    name: str = "tool_correctness"
    VALUES: ClassVar[tuple[str, ...]] = ("score", "success")

    def __post_init__(self) -> None:
        CallSuite.__post_init__(self)
        ToolCorrectnessMetric.__post_init__(self)

    def evaluate(self, expected: Sequence[Call], called: Sequence[Call]) -> dict[str, Any]:
        """Score, success and reason."""
        found = asdict(self.score(expected, called))
        malformed = first_problem(called)
        return {**found, "reason": f"{found['reason']} Note: {malformed}."} if malformed else found
