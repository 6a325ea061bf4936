"""Tool Correctness: the share of expected tools that were called, of answers to ask for or of cases that are there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from vendor_verifier.errors import UsageError
from vendor_verifier.suites.tool_calls.calls import Call, first_problem, kind_of, read_expectation, right_parameters
from vendor_verifier.suites.tool_calls.suite import CallSuite


@dataclass(frozen=True, slots=True)
class ToolCorrectness:
    """``score`` in [0, 1]; ``success`` is score ≥ threshold; ``reason`` says in words why."""

    score: float
    success: bool
    reason: str


@dataclass(frozen=True, slots=True)
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
            raise UsageError(f"tool_correctness: threshold is a number from 0 to 1, read {self.threshold!r}")

    def score(self, expected: Sequence[Call], called: Sequence[Call]) -> ToolCorrectness:
        """The share of expected calls that were made. Where nothing is expected, only no call at all is right."""
        likes = (like for _, like in self.pairs(expected, called).values())
        total = self._in_order(expected, called) if self.check_ordering else sum(likes)
        if self.exact_match or not expected:
            value = float(len(expected) == len(called) and total == len(expected))
        else:
            value = total / len(expected)
        wanted, got = [call.name for call in expected], [call.name for call in called]
        missing, extra = (list((Counter(a) - Counter(b)).elements()) for a, b in ((wanted, got), (got, wanted)))
        found = ["All expected tools were called."] if value == 1 else []
        found += [f"Missing tools {missing}."] if missing else []
        found += [f"Extra tools {extra}."] if extra else []
        other = "Other parameters than expected." if self.compare_parameters else "The order differs."
        reason = " ".join([*(found or [other]), f"Expected {wanted}, called {got}."])
        return ToolCorrectness(value, value >= self.threshold, reason)

    def pairs(self, expected: Sequence[Call], called: Sequence[Call]) -> dict[int, tuple[int, float]]:
        """Pairs of one tool, the most alike first: place of the expected call → place of the call, likeness."""
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


def score(
    expected: Sequence[str] | None,
    called: Sequence[str] | None,
    *,
    threshold: float = 0.5,
    exact_match: bool = False,
    check_ordering: bool = False,
) -> ToolCorrectness:
    """Score the names of tools called against those expected; None stands for none. What is no list of names fails."""
    for names in (expected, called):
        strange = [one for one in names if not isinstance(one, str)] if isinstance(names, (list, tuple)) else [names]
        if strange and names is not None:
            return ToolCorrectness(0.0, False, f"Tools are a list of names, read {kind_of(strange[0])}.")
    metric = ToolCorrectnessMetric(threshold, exact_match, check_ordering)
    return metric.score([Call(name) for name in expected or ()], [Call(name) for name in called or ()])


@dataclass(frozen=True, slots=True)
class EvalTestCase:
    """One question with the tools that were called and those that should have been; None stands for none."""

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

    A case has ``input``, ``tools_called`` and ``expected_tools``, lists of names or of calls with parameters.

    Raises:
        UsageError: a case lacks its tools, or they are no list of names or calls; all such cases at once.
    """
    if not metrics or isinstance(cases, (Mapping, str, bytes)):
        raise UsageError("evaluate() takes a list of cases, and at least one metric; put the one case into a list")
    problems: list[str] = []
    found: list[CaseResult] = []
    for at, case in enumerate(cases):
        label = at if index is None else index[at]
        keys = ("input", "tools_called", "expected_tools")
        row = case if isinstance(case, Mapping) else {key: getattr(case, key, None) for key in keys}
        sides = []
        for key in keys[1:]:
            side = read_expectation(row.get(key))
            sides.append(side.calls)
            if problem := side.problem if key in row else "there is none":
                problems.append(f"case {label}: {key}: {problem}; expected a list of names, such as [] or ['search']")
        called, expected = sides
        names = [tuple(call.name for call in calls) for calls in sides]
        results = tuple(metric.score(expected, called) for metric in metrics)
        found.append(CaseResult(label, str(row.get("input") or ""), names[0], names[1], results))
    if problems:
        raise UsageError(
            "\n".join(problems[:20] + [f"and {len(problems) - 20} more like these"] * (len(problems) > 20))
        )
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCorrectnessSuite(CallSuite):
    """Scores the tools that an answer called. Values: ``score`` and ``success`` (1 or 0)."""

    name: str = "tool_correctness"
    threshold: float = 0.5
    exact_match: bool = False
    check_ordering: bool = False
    compare_parameters: bool = False
    VALUES: ClassVar[tuple[str, ...]] = ("score", "success")

    def __post_init__(self) -> None:
        CallSuite.__post_init__(self)
        ToolCorrectnessMetric(self.threshold)

    @property
    def metric(self) -> ToolCorrectnessMetric:
        """The metric that these options make."""
        return ToolCorrectnessMetric(self.threshold, self.exact_match, self.check_ordering, self.compare_parameters)

    def unresolved(self, reason: str) -> dict[str, Any]:
        """The details of an answer that scores 0."""
        return {"score": 0.0, "success": False, "reason": reason}

    def evaluate(self, expected: Sequence[Call], called: Sequence[Call]) -> dict[str, Any]:
        """Score, success and reason."""
        result = self.metric.score(expected, called)
        malformed = first_problem(called)
        reason = f"{result.reason} Beware: {malformed}." if malformed else result.reason
        return {"score": result.score, "success": result.success, "reason": reason}
