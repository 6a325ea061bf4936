"""The scores of stored answers of Tool Correctness: in plain lines, and as a document for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from vendor_verifier.reports import number_format
from vendor_verifier.reports.escape import plain
from vendor_verifier.suites.tool_correctness import CaseResult, ToolCorrectnessMetric
from vendor_verifier.words import Texts

_MOST_SHOWN = 20
_NAME = "tool_correctness"


def case_lines(metric: ToolCorrectnessMetric, found: Sequence[CaseResult], file: str) -> Iterator[str]:
    """The number of answers, their mean, and the answers below the full score, each with its reason."""
    t = Texts()
    yield plain(t("cases_head", file=file, n=len(found)))
    yield t(
        "cases_metric",
        metric=_NAME,
        score=number_format.rate(_mean([case.results[0].score for case in found])),
        passed=sum(case.success for case in found),
        n=len(found),
        threshold=f"{metric.threshold:g}",
    )
    short = [(case.index, case.results[0]) for case in found if case.results[0].score < 1]
    if not short:
        yield t("cases_full")
    for place, result in short[:_MOST_SHOWN]:
        yield "  " + plain(t("cases_case", place=place, score=number_format.rate(result.score), reason=result.reason))
    if len(short) > _MOST_SHOWN:
        yield t("cases_more", n=len(short) - _MOST_SHOWN)


def case_document(found: Sequence[CaseResult]) -> dict[str, Any]:
    """``scores`` and ``success_rates`` by metric, and ``cases`` with score, success and reason."""
    return {
        "scores": {_NAME: _mean([case.results[0].score for case in found])},
        "success_rates": {_NAME: _mean([case.success for case in found])},
        "cases": [
            {
                "row": case.index,
                "input": case.input,
                "tools_called": list(case.tools_called),
                "expected_tools": list(case.expected_tools),
                "metric": _NAME,
                **asdict(case.results[0]),
            }
            for case in found
        ],
    }


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
