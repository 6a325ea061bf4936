"""The history of runs: one SQLite table (run, at, question, json), read as a DataFrame with a row per vendor and run.

It holds figures and verdicts, and no record, prompt, answer or key. A figure is a rank metric (``f1``), a statistic of
single records (``ttft_ms.p50``), or an evaluation's main score (``scores.toolbench``; its name alone will do).
"""

from __future__ import annotations

import hashlib
import json
import math
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd

from vendor_verifier.errors import Problem, ProblemsError, UsageError
from vendor_verifier.records.manifest import Manifest
from vendor_verifier.records.results import FACETS
from vendor_verifier.reports import formats
from vendor_verifier.resources import PRODUCT
from vendor_verifier.scoring.breakdowns import distributions
from vendor_verifier.scoring.figures import ScoredRun
from vendor_verifier.scoring.metrics import RANK_METRICS, SHORT_NAMES, is_share
from vendor_verifier.store import NO_HISTORY, RunFolder

WAIT_S = 10.0
_TABLE = "CREATE TABLE runs(run TEXT PRIMARY KEY, at TEXT, question TEXT, json TEXT)"
_RUN_COLUMNS = ("run", "at", "question", "folder", "complete", "version")
_ENTRY_COLUMNS = ("label", "vendor", "model_id", "is_baseline", "planned", "succeeded")

_SPREADS = [f"{name}.{each}" for name in ("ttft_ms", "e2e_ms", "request_tps") for each in ("p50", "p95")]
FIGURES = (*RANK_METRICS, *_SPREADS, "output_tokens.mean")
# Short names that users type for figures; those of times mean their medians.
ALIASES: Mapping[str, str] = {
    **{short: name if name in FIGURES else f"{name}.p50" for short, name in SHORT_NAMES.items()},
    "output_tokens": "output_tokens.mean",
}
# Medians of latency, because a mean follows its few worst requests; output tokens, because prompts drown them in a sum.
WATCHED = ("f1", "success_rate", "schema_accuracy", "ttft_ms.p50", "tps", "avg_tokens", "output_tokens.mean")


def default_history_file() -> Path:
    """``history.sqlite`` in this user's data folder."""
    from platformdirs import user_data_path

    return user_data_path(PRODUCT, appauthor=False) / "history.sqlite"


def remember(folder: RunFolder, scored: ScoredRun, stated: Path | None, *, wait_s: float = WAIT_S) -> str | None:
    """Add a scored run to the history, in place of an older scoring of it; a warning in one sentence if that failed.

    Without a ``stated`` file to the one in the user's data folder; to none where ``none`` is stated.
    """
    if stated == NO_HISTORY:
        return None
    file, document = stated or default_history_file(), run_document(scored, folder)
    row = [document.pop(name) for name in ("run", "at", "question")]
    row.append(msgspec.json.encode(document).decode())
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file.touch(mode=0o600)
        with closing(sqlite3.connect(file, timeout=wait_s, isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            if _is_new(connection):
                connection.execute(_TABLE)
            connection.execute("INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?)", row)
            connection.execute("COMMIT")
    except (sqlite3.Error, OSError) as error:
        return f"The run is not in the history {file}: {error}. Then `score {folder.path}` adds it."
    return None


def run_document(scored: ScoredRun, folder: RunFolder | None = None) -> dict[str, Any]:
    """What the history keeps of a run; ``vendors`` are those with a record."""
    manifest, vendors = scored.manifest, []
    for model, result in scored.report.models.items():
        records = scored.records[scored.records["model"] == model]
        tokens = records.groupby("label", observed=True)["output_tokens"].mean().to_dict()
        table: dict[Any, Any] = distributions(records).to_dict("index")
        spreads = {(key[0], f"{key[1]}.{each}"): value for key, row in table.items() for each, value in row.items()}
        for vendor in [vendor for vendor in result.vendors.values() if vendor.recorded]:
            facets = vendor.verdict.facets.items()
            vendors.append({
                "model": model,
                **{name: getattr(vendor, name) for name in (*_ENTRY_COLUMNS, *RANK_METRICS, "measured")},
                # A baseline's is 1 by definition, not a measurement.
                "f1": None if vendor.is_baseline else vendor.f1,
                **{name: spreads.get((vendor.label, name)) for name in _SPREADS},
                "output_tokens.mean": tokens.get(vendor.label),
                "verdict": vendor.verdict.status,
                "reason": vendor.verdict.reason,
                "facets": {name: facet.status for name, facet in facets},
                "reasons": {name: facet.reason for name, facet in facets},
                "scores": {name: suite.score for name, suite in vendor.suites.items()},
            })  # fmt: skip
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
    """16 hex digits of a digest of samples, evaluations, repetitions, scoring rules and load, without entries."""
    asked = [
        [[task.suite, task.asked or task.sha256, task.count, task.options] for task in manifest.tasks],
        manifest.settings.repeat,
        manifest.score.undecided,
        manifest.score.schema_policy,
        msgspec.to_builtins(manifest.settings.load),
    ]
    return hashlib.sha256(json.dumps(asked, sort_keys=True, default=str).encode()).hexdigest()[:16]


def read_history(stated: Path | None = None) -> pd.DataFrame:
    """All runs of a history, oldest first, as :func:`history_frame` has them.

    Without a ``stated`` file that in the user's data folder, which is empty before the first run.

    Raises:
        UsageError: the stated file is not there, or cannot be read as a history.
    """
    file = stated or default_history_file()
    if stated is not None and not file.exists():
        advice = "name a file" if stated == NO_HISTORY else f"a run with --history {file} creates it"
        raise UsageError(f"there is no history {file}; {advice}")
    try:
        if not file.exists():
            return history_frame([])
        with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True, timeout=WAIT_S)) as connection:
            query = "SELECT run, at, question, json FROM runs ORDER BY at, run"
            rows = [] if _is_new(connection) else connection.execute(query).fetchall()
    except (sqlite3.Error, OSError) as error:
        raise UsageError(f"the history {file} cannot be read: {error}") from None
    return history_frame(
        [{"run": run, "at": at, "question": question, **json.loads(text)} for run, at, question, text in rows]
    )


def history_frame(documents: list[dict[str, Any]]) -> pd.DataFrame:
    """Stored runs as a DataFrame, a row a vendor of a model in a run.

    docs/nightly.md lists the columns; ``at`` is in UTC.
    """
    frame = pd.json_normalize(documents, "vendors", list(_RUN_COLUMNS)) if documents else pd.DataFrame()
    facets = [f"{kind}.{name}" for kind in ("facets", "reasons") for name in FACETS]
    known = [*_RUN_COLUMNS, "model", *_ENTRY_COLUMNS, "verdict", "reason", *facets, *FIGURES]
    frame = frame.reindex(columns=[*known, *(name for name in frame.columns if name not in known)])
    frame["at"] = pd.to_datetime(frame["at"], utc=True, format="ISO8601", errors="coerce")
    return frame.astype(dict.fromkeys(FIGURES, float))


def _is_new(connection: sqlite3.Connection) -> bool:
    """Whether the file is empty; an error where it is neither that nor a history."""
    tables = connection.execute("SELECT sql FROM sqlite_master WHERE type = 'table'").fetchall()
    if tables and tables != [(_TABLE,)]:
        raise sqlite3.DatabaseError("another program wrote it. Name another file with --history")
    return not tables


def figure_names(words: Iterable[str], suites: Iterable[str], flag: str) -> tuple[str, ...]:
    """The figures that these words stand for, such as ``ttft_ms.p50`` for ``ttft``.

    Raises:
        ProblemsError: a word is not a figure of any run with ``suites``; a misspelt one would never be judged.
    """
    known = {name: name for name in FIGURES} | dict(ALIASES) | {name: f"scores.{name}" for name in suites}
    unknown = [word for word in words if word not in known]
    if unknown:
        raise ProblemsError([Problem(f"read {', '.join(unknown)}; known are {', '.join(sorted(known))}", key=flag)])
    return tuple(dict.fromkeys(known[word] for word in words))


def least_change(figure: str) -> float:
    """2 points of a share, 5 % of a quantity: a difference of the share, or of logarithms."""
    return 0.02 if is_share(figure) else math.log1p(0.05)


def shown(figure: str, value: float) -> str:
    """A value as it is printed."""
    return formats.short_rate(value) if is_share(figure) else formats.quantity(value)


def shown_change(figure: str, change: float) -> str:
    """A change (of a quantity by its logarithm) as it is printed: ``−7.0 points`` or ``+43.0 %``."""
    text = f"{100 * change:+.1f} points" if is_share(figure) else f"{100 * math.expm1(change):+.1f} %"
    return text.replace("-", "−")
