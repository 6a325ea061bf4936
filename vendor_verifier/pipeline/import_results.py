"""Makes a run folder out of other people's result files, so that they are scored and reported like our own."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from vendor_verifier import __version__
from vendor_verifier.errors import RunFolderError
from vendor_verifier.loaders.results import SUITE, Imported, import_results
from vendor_verifier.pipeline.datasets import Dataset, load_dataset, sample_defects
from vendor_verifier.pipeline.gates import check_conditions
from vendor_verifier.pipeline.manifest import MANIFEST_SCHEMA, now_text, task_entry
from vendor_verifier.pipeline.request import ScoreRequest
from vendor_verifier.pipeline.score import score_folder, write_reports
from vendor_verifier.redaction import Scrubber
from vendor_verifier.run.journal import Journal
from vendor_verifier.samples_file import file_digest, open_lines
from vendor_verifier.store import RunFolder
from vendor_verifier.values.plan import Task
from vendor_verifier.values.score import Report
from vendor_verifier.words import Language


def import_run(
    files: Mapping[str, Path],
    *,
    baseline: str | None,
    model: str,
    output_dir: Path,
    test_file: Path | None = None,
    skip_bad: bool = False,
    score: ScoreRequest | None = None,
    language: Language = "en",
) -> Report:
    """Import ``files`` (label → path) under one model name, write the run folder and score it.

    Raises:
        DataError: unusable rows, all at once.
        ProblemsError: a gate that does not follow the grammar; nothing is written then.
        RunFolderError: the output folder already holds a run.
    """
    judged = score or ScoreRequest()
    check_conditions(judged, (SUITE,))
    folder = RunFolder(output_dir)
    if folder.manifest_file.exists():
        raise RunFolderError(f"{folder.path} already holds a run; choose another --output-dir")
    run = f"import-{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"
    samples = load_dataset(test_file) if test_file else None
    imported = import_results(
        {label: open_lines(path) for label, path in files.items()},
        model=model,
        baseline=baseline,
        run=run,
        samples=samples,
        paths=files,
        skip_bad=skip_bad,
    )
    folder.create()
    folder.write_samples(SUITE, imported.samples)
    # Other people's files hold no key of ours: there is nothing to scrub.
    with Journal(folder, Scrubber()) as journal:
        journal.append(imported.records)
        folder.write_manifest(_manifest(run, imported, files, test_file, judged))
    report = score_folder(folder)
    write_reports(folder, report, language=language)
    return report


def _manifest(
    run: str, imported: Imported, files: Mapping[str, Path], test_file: Path | None, score: ScoreRequest
) -> dict[str, Any]:
    now = now_text()
    return {
        "schema": MANIFEST_SCHEMA,
        "run": run,
        "tool": {"name": "agent-vendor-verifier", "version": __version__},
        "created_at": now,
        "finished_at": now,
        "status": "imported",
        "imported": {label: {"file": path.name, "sha256": file_digest(path)} for label, path in files.items()},
        "entries": [asdict(entry) for entry in imported.entries],
        "tasks": [task_entry(Task(SUITE, imported.samples), _dataset(imported, test_file))],
        "settings": {"repeat": 1},
        "score": asdict(score),
        "warnings": list(imported.warnings),
        "stopped": {},
    }


def _dataset(imported: Imported, test_file: Path | None) -> Dataset:
    """What was asked: the test file where it is at hand, else the union of the results' questions."""
    return Dataset(
        name=test_file.name if test_file else "union of the imported files",
        sha256=file_digest(test_file) if test_file else "",
        samples=imported.samples,
        skipped=(),
        defects=tuple(sample_defects(imported.samples)),
    )
