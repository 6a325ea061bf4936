"""The history of runs: one SQLite table (run, at, question, json), read as a DataFrame with a row a vendor of a run.

It holds figures and verdicts, and no record, prompt, answer or key. A history that cannot be written fails no run.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd

from vendor_verifier.errors import UsageError
from vendor_verifier.features.history.figures import FIGURES, SPREADS
from vendor_verifier.records.manifest import Manifest
from vendor_verifier.records.results import FACETS
from vendor_verifier.resources import PRODUCT
from vendor_verifier.scoring.breakdowns import distributions
from vendor_verifier.scoring.metrics import RANK_METRICS
from vendor_verifier.scoring.scored_run import ScoredRun
from vendor_verifier.store import RunFolder

SCHEMA = 2
WAIT_S = 10.0
# "AVVH": distinguishes our file from any other program's SQLite file.
_APPLICATION_ID = 0x41565648
_RUN_COLUMNS = ("run", "at", "question", "folder", "complete", "version")
_ENTRY_COLUMNS = ("label", "vendor", "model_id", "is_baseline", "planned", "succeeded")


class _NoHistoryError(Exception):
    """The file is there and is not a history that this version can use."""


def default_history_file() -> Path:
    """``history.sqlite`` in this user's data folder."""
    from platformdirs import user_data_path

    return user_data_path(PRODUCT, appauthor=False) / "history.sqlite"


def history_file(stated: Path | None, *, none: bool) -> Path | None:
    """The file of ``--history`` or the default; None with ``--no-history``.

    Raises:
        UsageError: both are given.
    """
    if none and stated is not None:
        raise UsageError("--history and --no-history contradict each other; give one of them")
    return None if none else stated or default_history_file()


def remember(folder: RunFolder, scored: ScoredRun, file: Path | None, *, wait_s: float = WAIT_S) -> str | None:
    """Add a scored run to the history, in place of an older scoring of it; a warning in one sentence if that failed.

    A run without any record is left out. Another process that writes at the same time is waited for.
    """
    document = None if file is None else run_document(scored, folder)
    if file is None or document is None or not document["vendors"]:
        return None
    row = [document.pop(name) for name in ("run", "at", "question")]
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file.touch(mode=0o600)
        with closing(sqlite3.connect(file, timeout=wait_s, isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            if _is_new(connection):
                connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {SCHEMA}")
                connection.execute("CREATE TABLE runs(run TEXT PRIMARY KEY, at TEXT, question TEXT, json TEXT)")
            row.append(msgspec.json.encode(document).decode())
            connection.execute("INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?)", row)
            connection.execute("COMMIT")
    except (sqlite3.Error, OSError, _NoHistoryError) as error:
        return f"The run is not in the history {file}: {_reason(error)}. Then `score {folder.path}` adds it."
    return None


def run_document(scored: ScoredRun, folder: RunFolder | None = None) -> dict[str, Any]:
    """What the history keeps of a run; ``vendors`` are those with a record."""
    manifest, vendors = scored.manifest, []
    for model, result in scored.report.models.items():
        records = scored.records[scored.records["model"] == model]
        tokens = records.groupby("label", observed=True)["output_tokens"].mean().to_dict()
        spreads: dict[Any, Any] = distributions(records).to_dict("index")
        for vendor in result.vendors.values():
            if not vendor.recorded:
                continue
            # The baseline's F1 is 1 by definition, not a measurement.
            ranked = [name for name in RANK_METRICS if name != "f1" or not vendor.is_baseline]
            facets = vendor.verdict.facets
            vendors.append(
                {
                    "model": model,
                    **{name: getattr(vendor, name) for name in _ENTRY_COLUMNS},
                    "verdict": vendor.verdict.status,
                    "reason": vendor.verdict.reason,
                    "facets": {name: facet.status for name, facet in facets.items()},
                    "reasons": {name: facet.reason for name, facet in facets.items()},
                    **{name: getattr(vendor, name) for name in ranked},
                    **{
                        f"{name}.{each}": spreads.get((vendor.label, name), {}).get(each)
                        for name in SPREADS
                        for each in ("p50", "p95")
                    },
                    "output_tokens.mean": tokens.get(vendor.label),
                    "measured": {name: vendor.measured.get(name, 0) for name in ranked},
                    "scores": {name: suite.score for name, suite in vendor.suites.items()},
                }
            )
    return {
        "run": scored.report.run,
        "at": manifest.created_at or "",
        "question": question_of(manifest),
        "folder": "" if folder is None else str(folder.path.resolve()),
        "complete": scored.report.complete,
        "version": None if manifest.tool is None else manifest.tool.version,
        "vendors": vendors,
    }


def question_of(manifest: Manifest) -> str:
    """The first 16 hex digits of a digest of the samples, the evaluations, the repetitions and the rules of scoring.

    Entries are left out: a vendor that is asked elsewhere, or with other settings, is what a history is to show. The
    load is in, where there is one: who is asked more often is slower without having got worse.
    """
    identity = manifest.identity or {}
    asked = [
        identity.get("samples") or [[task.suite, task.sha256, task.count] for task in manifest.tasks],
        identity.get("suites"),
        manifest.settings.repeat,
        manifest.score.undecided,
        manifest.score.schema_policy,
        msgspec.to_builtins(manifest.settings.load),
    ]
    return hashlib.sha256(json.dumps(asked, sort_keys=True, default=str).encode()).hexdigest()[:16]


def read_history(file: Path) -> pd.DataFrame:
    """All runs of a history, oldest first, as :func:`history_frame` has them. No file is an empty history.

    Raises:
        UsageError: there is a file and it cannot be read as a history.
    """
    try:
        return history_frame(_documents(file) if file.exists() else [])
    except (sqlite3.Error, OSError, _NoHistoryError) as error:
        raise UsageError(f"the history {file} cannot be read: {_reason(error)}") from None


def history_frame(documents: list[dict[str, Any]]) -> pd.DataFrame:
    """Stored runs as a DataFrame: a row a vendor of a model in a run.

    Columns of the run: ``run``, ``at`` (UTC), ``question`` (a digest: runs that share it asked the same), ``folder``,
    ``complete``, ``version``. Of the vendor: ``model``, ``label``, ``vendor``, ``model_id``, ``is_baseline``,
    ``planned``, ``succeeded``, ``verdict``, ``reason``; of each facet ``facets.…`` (its status) and ``reasons.…``; the
    figures (:data:`vendor_verifier.features.history.figures.FIGURES`), of rank metrics ``measured.…`` (over how many
    records), and the ``scores.…`` of evaluations.
    """
    frame = pd.json_normalize(documents, "vendors", list(_RUN_COLUMNS)) if documents else pd.DataFrame()
    facets = [f"{kind}.{name}" for kind in ("facets", "reasons") for name in FACETS]
    known = [*_RUN_COLUMNS, "model", *_ENTRY_COLUMNS, "verdict", "reason", *facets, *FIGURES]
    frame = frame.reindex(columns=[*known, *(name for name in frame.columns if name not in known)])
    frame["at"] = pd.to_datetime(frame["at"], utc=True, format="ISO8601", errors="coerce")
    frame[list(FIGURES)] = frame[list(FIGURES)].astype(float)
    return frame


def _documents(file: Path) -> list[dict[str, Any]]:
    with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True, timeout=WAIT_S)) as connection:
        if _is_new(connection):
            return []
        rows = connection.execute("SELECT run, at, question, json FROM runs ORDER BY at, run").fetchall()
    return [{"run": run, "at": at, "question": question, **json.loads(text)} for run, at, question, text in rows]


def _is_new(connection: sqlite3.Connection) -> bool:
    """Whether the file is empty; raises _NoHistoryError where it is neither that nor a history of this schema."""
    (owner,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if not (owner or version or tables):
        return True
    if owner != _APPLICATION_ID:
        raise _NoHistoryError("it is another program's database. Name another file with --history")
    if version < SCHEMA:
        raise _NoHistoryError("an earlier version of this program wrote it, and it is not read any more. Move it away")
    if version > SCHEMA:
        raise _NoHistoryError("a newer version of this program wrote it. Update this program, or move the file away")
    return False


def _reason(error: Exception) -> str:
    if getattr(error, "sqlite_errorname", "").startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
        return "it is damaged, or no history. Move it away, or name another file with --history"
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
