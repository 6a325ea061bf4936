"""Answers that are there already: result files of other people, which become a run folder that is scored and reported
like our own, and files of Tool Correctness, whose answers are scored at once. Nobody is asked."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import Any

from vendor_verifier.config.run_config import RunOptions
from vendor_verifier.config.suite_options import stated_options
from vendor_verifier.errors import Problem, RunFolderError
from vendor_verifier.loaders.base import data_error
from vendor_verifier.loaders.results import import_results
from vendor_verifier.loaders.tool_rows import CALLED
from vendor_verifier.pipeline.datasets import Dataset, load_dataset, sample_defects
from vendor_verifier.pipeline.manifest import imported_manifest
from vendor_verifier.pipeline.places import place_of
from vendor_verifier.pipeline.score import check_score, score_folder, write_reports
from vendor_verifier.pipeline.suites import refuse_options_of_asking
from vendor_verifier.records.manifest import ScoreRequest
from vendor_verifier.reports.escape import plain
from vendor_verifier.run.journal import Journal, locked
from vendor_verifier.sample_store import file_digest, open_lines
from vendor_verifier.scoring.figures import ScoredRun
from vendor_verifier.store import RunFolder
from vendor_verifier.suites import TRIGGER
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


def import_run(
    files: Mapping[str, Sequence[Path]],
    *,
    baseline: str | None,
    model: str,
    output_dir: Path,
    test_file: str | PathLike[str] | None = None,
    skip_bad: bool = False,
    score: ScoreRequest | None = None,
) -> ScoredRun:
    """Import ``files`` (label → a path for each run of it) under one model name, write the run folder and score it.

    Raises:
        DataError: unusable rows, all at once.
        ProblemsError: a gate that does not follow the grammar; nothing is written then.
        RunFolderError: the output folder already holds a run.
    """
    judged = score or ScoreRequest()
    check_score(judged, (TRIGGER,))
    if missing := [path for paths in files.values() for path in paths if not path.exists()]:
        raise data_error([Problem("there is no such file; check the path", path) for path in missing])
    folder = RunFolder(output_dir)
    run = f"import-{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"
    asked = place_of(test_file) if test_file else None
    samples = load_dataset(asked.path) if asked else None
    imported = import_results(
        {label: [(path, open_lines(path)) for path in paths] for label, paths in files.items()},
        model=model,
        baseline=baseline,
        run=run,
        samples=samples,
        skip_bad=skip_bad,
    )
    with locked(folder):
        if folder.manifest_file.exists():
            raise RunFolderError(f"{folder.path} already holds a run; choose another --output-dir")
        folder.write_samples(TRIGGER, imported.samples)
        # Other people's files hold no key of ours, so nothing needs scrubbing.
        with Journal(folder) as journal:
            journal.append(imported.records)
        sources = {
            label if number == 1 else f"{label} #{number}": {"file": path.name, "sha256": file_digest(path)}
            for label, paths in files.items()
            for number, path in enumerate(paths, 1)
        }
        dataset = Dataset(
            name=asked.path.name if asked else "union of the imported files",
            sha256=file_digest(asked.path) if asked else "",
            source=asked.address if asked else None,
            samples=imported.samples,
            defects=tuple(sample_defects(imported.samples)),
        )
        folder.write_manifest(imported_manifest(run, imported, dataset, sources, judged))
    scored = score_folder(folder)
    write_reports(folder, scored)
    return scored


def evaluate_file(path: Path, options: RunOptions) -> tuple[ToolCorrectnessMetric, list[CaseResult]]:
    """The metric that ``options`` state, and its result for every stored answer in a file."""
    stated = stated_options((SUITE,), {}, options)
    refuse_options_of_asking(stated)
    metric: Any = stated[SUITE].suite
    assert isinstance(metric, ToolCorrectnessSuite)
    samples = load_dataset(path).samples
    lines = [sample.source.line if sample.source else at for at, sample in enumerate(samples, 1)]
    words = f"no answer to score; expected a list such as []. To ask: run --suite {SUITE} --test-file-path {path}"
    rows = zip(samples, lines, strict=True)
    if problems := [Problem(words, path, line, CALLED) for sample, line in rows if CALLED not in sample.tags]:
        raise data_error(problems)
    cases = []
    for sample in samples:
        texts = (message.get("content") for message in sample.turn.messages if message.get("role") == "user")
        asked = next((text for text in texts if isinstance(text, str)), "")
        cases.append(EvalTestCase(asked, None, sample.tags[CALLED], sample.expected.get("calls")))
    return metric, evaluate(cases, [metric], index=lines)


def case_lines(metric: ToolCorrectnessMetric, found: Sequence[CaseResult], file: str) -> Iterator[str]:
    """The number of answers, their mean score, and the answers below the full score, each with its reason."""
    results = [case.results[0] for case in found]
    mean, passed = sum(result.score for result in results) / len(found), sum(case.success for case in found)
    yield plain(f"{file}: {counted(len(found), 'answer')}")
    yield f"{SUITE}: score {mean:.3f}, {passed} of {len(found)} pass (threshold {metric.threshold:g})"
    short = [(case.index, result) for case, result in zip(found, results, strict=True) if result.score < 1]
    for place, result in short[:_MOST_SHOWN]:
        yield "  " + plain(f"row {place}: {result.score:.3f}: {result.reason}")
    if len(short) > _MOST_SHOWN:
        yield f"  and {len(short) - _MOST_SHOWN} more; --json lists all"


def case_document(found: Sequence[CaseResult]) -> dict[str, Any]:
    """``scores`` and ``success_rates`` by metric, and ``cases`` with score, success and reason."""
    return {
        "scores": {SUITE: sum(case.results[0].score for case in found) / len(found)},
        "success_rates": {SUITE: sum(case.success for case in found) / len(found)},
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
