"""A SQLite history of scored runs: figures per run and vendor. It holds no records, never fails a run and loses none.

A run that cannot be written (locked, read-only, newer schema, damaged) is reported in a sentence, and waits in a folder
beside the history until the next run brings it in. Added again, a run replaces itself.

The folder of ``history.sqlite`` is ``history.sqlite.waiting``. A file in it is newer than what the history holds of its
run, and goes when the history has it.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from vendor_verifier.errors import StorageError, UsageError
from vendor_verifier.features.history.figures import history_run
from vendor_verifier.records.history import HistoryEntry, HistoryRun
from vendor_verifier.records.judgement import ServedNames
from vendor_verifier.records.labels import kept_label, shown_label, shown_labels
from vendor_verifier.records.score import Report
from vendor_verifier.records.verdict import Status
from vendor_verifier.resources import PRODUCT
from vendor_verifier.store import RunFolder
from vendor_verifier.words import english

_decode = msgspec.json.Decoder(HistoryRun).decode


def waiting_folder(history: Path) -> Path:
    """The folder of the runs that are still to be added to ``history``."""
    return history.with_name(f"{history.name}.waiting")


def keep_waiting(history: Path, run: HistoryRun) -> None:
    """Write ``run`` beside ``history``, in place of an older judgement of it.

    Raises:
        StorageError: that cannot be written either.
    """
    folder = RunFolder(waiting_folder(history))
    folder.create()
    # An imported run may have any name, so no file name is made of it.
    name = hashlib.sha256(run.run.encode(errors="surrogatepass")).hexdigest()[:32]
    folder.write(f"{name}.json", msgspec.json.encode(run))


def waiting_runs(history: Path) -> list[tuple[Path, HistoryRun]]:
    """Every run that waits, with its file; a file that cannot be read stays where it is and is none."""
    found = []
    for path in sorted(waiting_folder(history).glob("*.json")):
        # Another process may have brought it into the history just now.
        with suppress(OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            found.append((path, _decode(shown_labels(path.read_text(encoding="utf-8")))))
    return found


def waits_no_more(paths: Iterable[Path]) -> None:
    """Delete the waiting files of runs that the history has now; one that cannot be deleted is only added once more."""
    for path in paths:
        with suppress(OSError):
            path.unlink()


SCHEMA = 1
BUSY_TIMEOUT_S = 5.0
# "AVVH": tells our file from any other program's SQLite file.
_APPLICATION_ID = 0x41565648
_TABLES = """
CREATE TABLE runs(
    run TEXT PRIMARY KEY, at TEXT NOT NULL, folder TEXT NOT NULL, question TEXT NOT NULL,
    complete INTEGER NOT NULL, version TEXT NOT NULL, added_at TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE entries(
    run TEXT NOT NULL REFERENCES runs ON DELETE CASCADE, model TEXT NOT NULL, label TEXT NOT NULL,
    vendor TEXT NOT NULL, model_id TEXT NOT NULL, is_baseline INTEGER NOT NULL,
    planned INTEGER NOT NULL, succeeded INTEGER NOT NULL, PRIMARY KEY(run, model, label)
) WITHOUT ROWID;
CREATE TABLE figures(
    run TEXT NOT NULL, model TEXT NOT NULL, label TEXT NOT NULL, metric TEXT NOT NULL,
    value REAL NOT NULL, n INTEGER NOT NULL, PRIMARY KEY(run, model, label, metric),
    FOREIGN KEY(run, model, label) REFERENCES entries ON DELETE CASCADE
) WITHOUT ROWID;
CREATE INDEX runs_at ON runs(at);
"""
# Added to histories that were begun without it, on the first writing.
_SERVED = """
CREATE TABLE IF NOT EXISTS served(
    run TEXT NOT NULL, model TEXT NOT NULL, label TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL,
    PRIMARY KEY(run, model, label, kind, name),
    FOREIGN KEY(run, model, label) REFERENCES entries ON DELETE CASCADE
) WITHOUT ROWID
"""
_VERDICTS = """
CREATE TABLE IF NOT EXISTS verdicts(
    run TEXT NOT NULL, model TEXT NOT NULL, label TEXT NOT NULL, status TEXT NOT NULL, PRIMARY KEY(run, model, label),
    FOREIGN KEY(run, model, label) REFERENCES entries ON DELETE CASCADE
) WITHOUT ROWID
"""


class _Unusable(Exception):
    """The file is there and is not a history this program may touch."""


class _Foreign(_Unusable):
    """The file is no history of this program."""


# Errors that another try would meet again.
_OF_THE_RUN = (sqlite3.IntegrityError, sqlite3.ProgrammingError)


def default_history_file() -> Path:
    """``history.sqlite`` in this user's data folder."""
    from platformdirs import user_data_path

    return user_data_path(PRODUCT, appauthor=False) / "history.sqlite"


def history_file(stated: Path | None, *, none: bool) -> Path | None:
    """The file of ``--history`` or the default; ``None`` with ``--no-history``.

    Raises:
        UsageError: both are given.
    """
    if none and stated is not None:
        raise UsageError("--history and --no-history contradict each other; give one of them")
    return None if none else stated or default_history_file()


def remember(folder: RunFolder, report: Report, file: Path | None) -> str | None:
    """Add ``report`` to the history; a warning in one sentence if that failed. A run without any record is left out."""
    if file is None:
        return None
    run = history_run(report, str(folder.path.resolve()))
    return add_run(file, run) if run.entries else None


def add_run(file: Path, run: HistoryRun, *, wait_s: float = BUSY_TIMEOUT_S) -> str | None:
    """Write ``run`` and all that waited, replacing older judgements; ``None``, or one sentence on the failure."""
    try:
        with _writable(file, wait_s) as connection:
            waited = waiting_runs(file)
            for each in (*(old for _, old in waited), run):
                _insert(connection, each)
    except (sqlite3.Error, OSError, _Unusable) as error:
        return _kept_aside(file, run, error)
    waits_no_more(path for path, _ in waited)
    return None


def _kept_aside(file: Path, run: HistoryRun, error: Exception) -> str:
    """A sentence on a run that was not added, after storing it to wait; nothing is stored beside a foreign file."""
    reason = _reason(error)
    try:
        if not file.is_file() or isinstance(error, (*_OF_THE_RUN, _Foreign)):
            return english("warn_not_kept", file=file, reason=reason)
        keep_waiting(file, run)
    except (StorageError, OSError):
        return english("warn_not_kept", file=file, reason=reason)
    return english("warn_kept_waiting", file=file, reason=reason, folder=waiting_folder(file))


def read_runs(file: Path, *, models: Sequence[str] = (), labels: Sequence[str] = ()) -> tuple[HistoryRun, ...]:
    """All runs, oldest first; with ``models`` or ``labels`` (a label or a vendor's name) those in which they took part.

    Runs that wait beside the history are among them. No file is an empty history.

    Raises:
        UsageError: there is a file and it cannot be read as a history.
    """
    try:
        with _readable(file) if file.exists() else nullcontext() as connection:
            stored = [] if connection is None else _select(connection)
    except (sqlite3.Error, OSError, _Unusable) as error:
        raise UsageError(f"the history {file} cannot be read: {_reason(error)}") from None
    newest = {run.run: run for run in (*stored, *(waiting for _, waiting in waiting_runs(file)))}
    found = sorted(newest.values(), key=lambda run: (run.at, run.run))
    asked = [shown_label(label) for label in labels]
    return tuple(run for run in found if _took_part(run, models, asked))


def _took_part(run: HistoryRun, models: Sequence[str], labels: Sequence[str]) -> bool:
    return not (models or labels) or any(
        (not models or entry.model in models) and (not labels or entry.label in labels or entry.vendor in labels)
        for entry in run.entries
    )


def _reason(error: Exception) -> str:
    words = (error.strerror if isinstance(error, OSError) else None) or str(error)
    if getattr(error, "sqlite_errorname", "").startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
        return english("cure_move_away", words=words)
    return words


@contextmanager
def _writable(file: Path, wait_s: float) -> Iterator[sqlite3.Connection]:
    """A connection inside one immediate transaction, which is committed at the end."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file.touch(mode=0o600)
    with closing(sqlite3.connect(file, timeout=wait_s, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA busy_timeout = {int(wait_s * 1000)}")
        connection.execute("PRAGMA foreign_keys = ON")
        if not _is_ours(connection):
            # Readers beside a writer; where the file system cannot do it, the plain journal is as safe.
            with suppress(sqlite3.OperationalError):
                connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("BEGIN IMMEDIATE")
        try:
            if not _is_ours(connection):
                _create(connection)
            connection.execute(_SERVED)
            connection.execute(_VERDICTS)
            yield connection
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")


@contextmanager
def _readable(file: Path) -> Iterator[sqlite3.Connection]:
    """A connection that cannot write; a file in a read-only folder is read as one that does not change."""
    address = file.resolve().as_uri()
    with closing(sqlite3.connect(f"{address}?mode=ro", uri=True, timeout=BUSY_TIMEOUT_S)) as connection:
        try:
            usable = _is_ours(connection)
        except sqlite3.OperationalError:
            usable = None
        if usable is not None:
            if usable:
                yield connection
            else:
                raise _Unusable("it is empty")
            return
    with closing(sqlite3.connect(f"{address}?mode=ro&immutable=1", uri=True)) as connection:
        if not _is_ours(connection):
            raise _Unusable("it is empty")
        yield connection


def _is_ours(connection: sqlite3.Connection) -> bool:
    """True for a history of our schema, False for an empty file. Raises _Unusable for anything else."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (owner,) = connection.execute("PRAGMA application_id").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if owner == 0 and version == 0 and tables == 0:
        return False
    if owner != _APPLICATION_ID:
        raise _Foreign("it is another program's database")
    if version > SCHEMA:
        raise _Unusable(f"a newer version of this program made it (schema {version}, known is {SCHEMA})")
    return True


def _create(connection: sqlite3.Connection) -> None:
    for statement in _TABLES.split(";"):
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {SCHEMA}")


def _insert(connection: sqlite3.Connection, run: HistoryRun) -> None:
    connection.execute("DELETE FROM runs WHERE run = ?", (run.run,))
    connection.execute(
        "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?)",
        (run.run, run.at, run.folder, run.question, run.complete, run.version, datetime.now(UTC).isoformat()),
    )
    connection.executemany(
        "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                run.run,
                each.model,
                kept_label(each.label),
                each.vendor,
                each.model_id,
                each.is_baseline,
                each.planned,
                each.succeeded,
            )
            for each in run.entries
        ],
    )
    connection.executemany(
        "INSERT INTO figures VALUES (?, ?, ?, ?, ?, ?)",
        [
            (run.run, each.model, kept_label(each.label), metric, value, n)
            for each in run.entries
            for metric, (value, n) in each.figures.items()
        ],
    )
    connection.executemany(
        "INSERT INTO served VALUES (?, ?, ?, ?, ?)",
        [
            (run.run, each.model, kept_label(each.label), kind, name)
            for each in run.entries
            for kind, names in (("model", each.served.models), ("fingerprint", each.served.fingerprints))
            for name in names
        ],
    )
    connection.executemany(
        "INSERT INTO verdicts VALUES (?, ?, ?, ?)",
        [
            (run.run, each.model, kept_label(each.label), each.verdict)
            for each in run.entries
            if each.verdict is not None
        ],
    )


def _select(connection: sqlite3.Connection) -> list[HistoryRun]:
    # One transaction, so that the three readings are of one moment.
    connection.execute("BEGIN")
    figures: dict[tuple[str, str, str], dict[str, tuple[float, int]]] = {}
    for run, model, label, metric, value, n in connection.execute("SELECT * FROM figures ORDER BY metric"):
        figures.setdefault((run, model, label), {})[metric] = (value, n)
    served, verdicts = _served(connection), _verdicts(connection)
    entries: dict[str, list[HistoryEntry]] = {}
    for run, model, label, vendor, model_id, baseline, planned, succeeded in connection.execute(
        "SELECT * FROM entries ORDER BY model, label"
    ):
        found = figures.get((run, model, label), {})
        entries.setdefault(run, []).append(
            HistoryEntry(
                model, shown_label(label), vendor, model_id, bool(baseline), planned, succeeded, found,
                served.get((run, model, label), ServedNames()), verdicts.get((run, model, label)),
            )
        )  # fmt: skip
    rows = connection.execute("SELECT run, at, folder, question, complete, version FROM runs")
    return [
        HistoryRun(run, at, folder, question, bool(complete), version, tuple(entries.get(run, ())))
        for run, at, folder, question, complete, version in rows
    ]


def _has(connection: sqlite3.Connection, table: str) -> bool:
    """Whether the history has a table that older ones lack."""
    (known,) = connection.execute("SELECT count(*) FROM sqlite_master WHERE name = ?", (table,)).fetchone()
    return bool(known)


def _verdicts(connection: sqlite3.Connection) -> dict[tuple[str, str, str], Status]:
    """(run, model, label) → verdict; empty in a history that was begun before verdicts were kept."""
    rows = connection.execute("SELECT * FROM verdicts") if _has(connection, "verdicts") else ()
    return {(run, model, label): status for run, model, label, status in rows}


def _served(connection: sqlite3.Connection) -> dict[tuple[str, str, str], ServedNames]:
    """(run, model, label) → names; empty in a history that was begun before names were kept."""
    names: dict[tuple[str, str, str], dict[str, list[str]]] = {}
    for run, model, label, kind, name in (
        connection.execute("SELECT * FROM served ORDER BY name") if _has(connection, "served") else ()
    ):
        names.setdefault((run, model, label), {}).setdefault(kind, []).append(name)
    return {
        key: ServedNames(tuple(kinds.get("model", ())), tuple(kinds.get("fingerprint", ())))
        for key, kinds in names.items()
    }
