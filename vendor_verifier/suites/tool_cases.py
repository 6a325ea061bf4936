"""Tool Correctness over a batch of cases whose answers are there: nothing is asked, nothing is waited for.

A case is ``{input, tools_called, expected_tools}``: an :class:`EvalTestCase`, a mapping, any object with these
attributes, or a row of a DataFrame. Tools are names, or calls with parameters where these are compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, overload

from vendor_verifier.errors import UsageError
from vendor_verifier.suites.tool_calls.calls import Call, Mode, kind_of, read_call
from vendor_verifier.suites.tool_correctness import ToolCorrectness, check_options, score, score_calls
from vendor_verifier.wire.payload import PayloadError, parse_json

if TYPE_CHECKING:
    import pandas as pd

_MAX_NAMED = 20


@dataclass(frozen=True, slots=True)
class EvalTestCase:
    """One question with the tools that were called and those that should have been; None stands for none."""

    input: str = ""
    actual_output: str | None = None
    tools_called: Sequence[Any] | None = None
    expected_tools: Sequence[Any] | None = None


@dataclass(frozen=True, slots=True)
class ToolCorrectnessMetric:
    """One way to score a case; the options are those of the evaluation ``tool_correctness``.

    Raises UsageError for options that cannot be meant.
    """

    threshold: float = 0.5
    exact_match: bool = False
    check_ordering: bool = False
    compare_parameters: bool = False
    mode: Mode = "strict"

    def __post_init__(self) -> None:
        check_options("tool_correctness", self.threshold, self.mode, compare_parameters=self.compare_parameters)

    @property
    def name(self) -> str:
        """``tool_correctness`` with the options that are not the usual ones."""
        usual = asdict(ToolCorrectnessMetric())
        stated = [f"{key}={value}" for key, value in asdict(self).items() if value != usual[key]]
        return f"tool_correctness({', '.join(stated)})" if stated else "tool_correctness"

    def score(self, expected: Sequence[Call], called: Sequence[Call]) -> ToolCorrectness:
        """The score of calls against those expected."""
        if self.compare_parameters:
            return score_calls(
                expected,
                called,
                threshold=self.threshold,
                exact_match=self.exact_match,
                check_ordering=self.check_ordering,
            )
        return score(
            [call.name for call in expected],
            [call.name for call in called],
            threshold=self.threshold,
            exact_match=self.exact_match,
            check_ordering=self.check_ordering,
            mode=self.mode,
        )


@dataclass(frozen=True, slots=True)
class CaseResult:
    """One case with the result of each metric, in their order; ``index`` is its place, or its label in a DataFrame."""

    index: Any
    input: str
    tools_called: tuple[str, ...]
    expected_tools: tuple[str, ...]
    results: tuple[ToolCorrectness, ...]

    @property
    def success(self) -> bool:
        """Whether every metric is met."""
        return all(result.success for result in self.results)


@dataclass(frozen=True, slots=True)
class Evaluation(Sequence[CaseResult]):
    """The results of a batch, case by case in its order."""

    metrics: tuple[ToolCorrectnessMetric, ...]
    cases: tuple[CaseResult, ...] = field(repr=False)

    @overload
    def __getitem__(self, at: int) -> CaseResult: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[CaseResult, ...]: ...
    def __getitem__(self, at: int | slice) -> CaseResult | tuple[CaseResult, ...]:
        return self.cases[at]

    def __len__(self) -> int:
        return len(self.cases)

    @property
    def scores(self) -> dict[str, float | None]:
        """The mean score by metric; None of no case."""
        return {metric.name: self._mean([case.results[at].score for case in self]) for at, metric in self._numbered}

    @property
    def success_rates(self) -> dict[str, float | None]:
        """The share of cases that meet each metric; None of no case."""
        return {metric.name: self._mean([case.results[at].success for case in self]) for at, metric in self._numbered}

    def rows(self) -> Iterator[dict[str, Any]]:
        """One row for each case and metric: input, tools_called, expected_tools, metric, score, success, reason."""
        for case in self.cases:
            yield from self.rows_of(case)

    def rows_of(self, case: CaseResult) -> Iterator[dict[str, Any]]:
        """The rows of one case, one for each metric."""
        for metric, result in zip(self.metrics, case.results, strict=True):
            yield {
                "input": case.input,
                "tools_called": list(case.tools_called),
                "expected_tools": list(case.expected_tools),
                "metric": metric.name,
                **asdict(result),
            }

    def frame(self) -> pd.DataFrame:
        """The rows as a pandas table, whose index is the cases' own."""
        import pandas as pd

        index = [case.index for case in self.cases for _ in self.metrics]
        names = ["input", "tools_called", "expected_tools", "metric", "score", "success", "reason"]
        return pd.DataFrame(list(self.rows()), index=index, columns=names)

    @property
    def _numbered(self) -> list[tuple[int, ToolCorrectnessMetric]]:
        return list(enumerate(self.metrics))

    @staticmethod
    def _mean(values: Sequence[float]) -> float | None:
        return sum(values) / len(values) if values else None


def evaluate(
    cases: Iterable[Any],
    metrics: Sequence[ToolCorrectnessMetric] = (ToolCorrectnessMetric(),),
    *,
    index: Sequence[Any] | None = None,
) -> Evaluation:
    """Score every case by every metric; ``cases`` may be a DataFrame with columns of these names.

    ``index`` are the labels of the cases, in place of their numbers from 0 or of the DataFrame's own.

    Raises:
        UsageError: a case lacks its tools, or they are no list of names or calls; all such cases at once.
    """
    chosen = tuple(metrics)
    if not chosen:
        raise UsageError("evaluate() needs at least one metric")
    problems: list[str] = []
    found: list[CaseResult] = []
    labelled = _indexed(cases)
    for label, case in labelled if index is None else zip(index, (case for _, case in labelled), strict=True):
        sides = {}
        for key in ("tools_called", "expected_tools"):
            calls = _calls(case, key)
            if isinstance(calls, str):
                problems.append(f"case {label}: {key}: {calls}")
            else:
                sides[key] = calls
        if len(sides) == 2:
            called, expected = sides["tools_called"], sides["expected_tools"]
            names = [tuple(call.name for call in calls) for calls in (called, expected)]
            results = tuple(metric.score(expected, called) for metric in chosen)
            found.append(CaseResult(label, str(_field(case, "input") or ""), names[0], names[1], results))
    if problems:
        more = len(problems) - _MAX_NAMED
        raise UsageError("\n".join([*problems[:_MAX_NAMED], *([f"and {more} more like these"] if more > 0 else [])]))
    return Evaluation(chosen, tuple(found))


_ABSENT = object()


def _indexed(cases: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    """The cases with their labels; a DataFrame is read by its rows, as pandas and polars have them."""
    if hasattr(cases, "to_dict") and hasattr(cases, "index"):
        yield from zip(cases.index, cases.to_dict("records"), strict=True)
    elif hasattr(cases, "to_dicts"):
        yield from enumerate(cases.to_dicts())
    elif isinstance(cases, (Mapping, str, bytes)):
        raise UsageError(f"evaluate() takes a list of cases, read {kind_of(cases)}; put the one case into a list")
    else:
        yield from enumerate(cases)


def _field(case: Any, key: str) -> Any:
    return case.get(key, _ABSENT) if isinstance(case, Mapping) else getattr(case, key, _ABSENT)


def _calls(case: Any, key: str) -> tuple[Call, ...] | str:
    """The calls of one side of a case, or what is wrong with them."""
    value = _field(case, key)
    if value is _ABSENT:
        return 'there is none; expected a list of names, such as [] or ["search"]'
    value = value.tolist() if hasattr(value, "tolist") else value
    # A DataFrame says with NaN, the one number unlike itself, that there is nothing.
    if value is None or (isinstance(value, float) and value != value):
        return ()
    if isinstance(value, str):
        try:
            value = parse_json(value)
        except PayloadError:
            return f"read the text {value[:40]!r}; expected a list of names"
    if not isinstance(value, (list, tuple)):
        return f"expected a list of names, read {kind_of(value)}"
    calls = tuple(read_call(item) for item in value)
    return next((call.problem for call in calls if call.problem), None) or calls
