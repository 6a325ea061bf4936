"""The scores of stored answers of Tool Correctness: in plain lines, and as a document for programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vendor_verifier.reports import number_format
from vendor_verifier.reports.escape import plain
from vendor_verifier.suites.tool_cases import Evaluation
from vendor_verifier.words import Texts

_MOST_SHOWN = 20


def case_lines(found: Evaluation, file: str) -> Iterator[str]:
    """The number of answers, each metric's mean, and the answers below the full score, each with its reason."""
    t = Texts()
    yield plain(t("cases_head", file=file, n=len(found)))
    for at, metric in enumerate(found.metrics):
        score = found.scores[metric.name]
        yield t(
            "cases_metric",
            metric=metric.name,
            score=number_format.rate(score),
            passed=sum(case.results[at].success for case in found),
            n=len(found),
            threshold=f"{metric.threshold:g}",
        )
    short = [(case.index, result) for case in found for result in case.results if result.score < 1]
    if not short:
        yield t("cases_full")
    for place, result in short[:_MOST_SHOWN]:
        yield "  " + plain(t("cases_case", place=place, score=number_format.rate(result.score), reason=result.reason))
    if len(short) > _MOST_SHOWN:
        yield t("cases_more", n=len(short) - _MOST_SHOWN)


def case_document(found: Evaluation) -> dict[str, Any]:
    """``scores`` and ``success_rates`` by metric, and ``cases`` with score, success and reason."""
    cases = [{"row": case.index, **row} for case in found for row in found.rows_of(case)]
    return {"scores": found.scores, "success_rates": found.success_rates, "cases": cases}
