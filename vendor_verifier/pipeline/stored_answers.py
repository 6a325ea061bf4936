"""Scores the answers that a file of Tool Correctness brings along. It asks nobody."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from vendor_verifier.config.run_config import RunOptions
from vendor_verifier.config.suite_options import stated_options
from vendor_verifier.errors import Problem
from vendor_verifier.loaders.base import data_error
from vendor_verifier.loaders.tool_rows import CALLED
from vendor_verifier.pipeline.datasets import load_dataset
from vendor_verifier.pipeline.suites import refuse_options_of_asking
from vendor_verifier.records.sample import Sample
from vendor_verifier.reports.escape import plain
from vendor_verifier.suites.tool_correctness import (
    CaseResult,
    EvalTestCase,
    ToolCorrectnessMetric,
    ToolCorrectnessSuite,
    evaluate,
)
from vendor_verifier.text import counted

SUITE = "tool_correctness"
_MOST_SHOWN = 20


def evaluate_file(path: Path, options: RunOptions) -> tuple[ToolCorrectnessMetric, list[CaseResult]]:
    """The metric that ``options`` state, and its result for every stored answer in a file."""
    metric = _metric(options)
    samples = load_dataset(path).samples
    lines = [sample.source.line if sample.source else at for at, sample in enumerate(samples, 1)]
    words = f"no answer to score; expected a list such as []. To ask: run --suite {SUITE} --test-file-path {path}"
    rows = zip(samples, lines, strict=True)
    if problems := [Problem(words, path, line, CALLED) for sample, line in rows if CALLED not in sample.tags]:
        raise data_error(problems)
    return metric, evaluate([_case(sample) for sample in samples], [metric], index=lines)


def _metric(options: RunOptions) -> ToolCorrectnessMetric:
    stated, _ = stated_options((SUITE,), {}, options)
    refuse_options_of_asking(stated)
    suite: Any = stated[SUITE].suite
    assert isinstance(suite, ToolCorrectnessSuite)
    return suite


def _case(sample: Sample) -> EvalTestCase:
    texts = (message.get("content") for message in sample.turn.messages if message.get("role") == "user")
    asked = next((text for text in texts if isinstance(text, str)), "")
    return EvalTestCase(asked, None, sample.tags[CALLED], sample.expected.get("calls"))


def case_lines(metric: ToolCorrectnessMetric, found: Sequence[CaseResult], file: str) -> Iterator[str]:
    """The number of answers, their mean score, and the answers below the full score, each with its reason."""
    results = [case.results[0] for case in found]
    mean, passed = _mean([result.score for result in results]), sum(case.success for case in found)
    yield plain(f"{file}: {counted(len(found), 'answer')}")
    shown = "–" if mean is None else f"{mean:.3f}"
    yield f"{SUITE}: score {shown}, {passed} of {len(found)} pass (threshold {metric.threshold:g})"
    short = [(case.index, result) for case, result in zip(found, results, strict=True) if result.score < 1]
    for place, result in short[:_MOST_SHOWN]:
        yield "  " + plain(f"row {place}: {result.score:.3f}: {result.reason}")
    if len(short) > _MOST_SHOWN:
        yield f"  and {len(short) - _MOST_SHOWN} more; --json lists all"


def case_document(found: Sequence[CaseResult]) -> dict[str, Any]:
    """``scores`` and ``success_rates`` by metric, and ``cases`` with score, success and reason."""
    return {
        "scores": {SUITE: _mean([case.results[0].score for case in found])},
        "success_rates": {SUITE: _mean([case.success for case in found])},
        "cases": [
            {
                "row": case.index,
                "input": case.input,
                "tools_called": list(case.tools_called),
                "expected_tools": list(case.expected_tools),
                "metric": SUITE,
                **asdict(case.results[0]),
            }
            for case in found
        ],
    }


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
