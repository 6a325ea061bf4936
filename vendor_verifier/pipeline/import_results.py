"""Makes a run folder out of other people's result files, so that they are scored and reported like our own."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path

from vendor_verifier.errors import RunFolderError
from vendor_verifier.loaders.results import Imported, import_results
from vendor_verifier.pipeline.datasets import Dataset, load_dataset, sample_defects
from vendor_verifier.pipeline.manifest import imported_manifest
from vendor_verifier.pipeline.places import Place, place_of
from vendor_verifier.pipeline.score import check_score, score_folder, write_reports
from vendor_verifier.records.manifest import ScoreRequest
from vendor_verifier.run.journal import Journal, locked
from vendor_verifier.sample_store import file_digest, open_lines
from vendor_verifier.scoring.scored_run import ScoredRun
from vendor_verifier.store import RunFolder
from vendor_verifier.suites import TRIGGER


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
    folder = RunFolder(output_dir)
    run = f"import-{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"
    asked = place_of(test_file) if test_file else None
    samples = load_dataset(asked.path) if asked else None
    imported = import_results(
        {label: [open_lines(path) for path in paths] for label, paths in files.items()},
        model=model,
        baseline=baseline,
        run=run,
        samples=samples,
        paths=files,
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
        folder.write_manifest(imported_manifest(run, imported, _dataset(imported, asked), sources, judged))
    scored = score_folder(folder)
    write_reports(folder, scored)
    return scored


def _dataset(imported: Imported, asked: Place | None) -> Dataset:
    """The data set of imported results: the file that was ``asked`` where it is given, else all their questions."""
    return Dataset(
        name=asked.path.name if asked else "union of the imported files",
        sha256=file_digest(asked.path) if asked else "",
        source=asked.address if asked else None,
        samples=imported.samples,
        skipped=(),
        defects=tuple(sample_defects(imported.samples)),
    )
