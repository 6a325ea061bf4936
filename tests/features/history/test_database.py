"""The history keeps every run it can, tells why it cannot otherwise, and never gets in a run's way."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from changing import replace
from histories import night
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.errors import UsageError
from vendor_verifier.features.history import database
from vendor_verifier.features.history.database import (
    SCHEMA,
    add_run,
    default_history_file,
    keep_waiting,
    read_runs,
    waiting_folder,
)
from vendor_verifier.records.history import HistoryEntry, HistoryRun
from vendor_verifier.records.judgement import ServedNames

ROOT = Path(__file__).parents[3]
needs_modes = pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write read-only files")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "history.sqlite"


def stored(file: Path) -> list[str]:
    """The runs in the file itself, whatever waits beside it."""
    with closing(sqlite3.connect(file)) as connection:
        return [run for (run,) in connection.execute("SELECT run FROM runs ORDER BY run")]


def test_what_is_added_is_read_back_and_adding_again_replaces(file: Path) -> None:
    """A run scored again is one run with the newer figures, and older runs come first."""
    second, first = night(2, {"a": 2.0, "b": 3.0}), night(1, {"a": 1.0})
    assert [add_run(file, run) for run in (second, first)] == [None, None]
    assert read_runs(file) == (first, second)
    judged_again = night(2, {"a": 2.5})
    assert add_run(file, judged_again) is None
    assert read_runs(file) == (first, judged_again)


@given(
    st.lists(
        st.tuples(st.text(max_size=8), st.floats(allow_nan=False), st.integers(0, 2**40)),
        unique_by=lambda each: each[0],
        max_size=4,
    )
)
def test_any_label_and_figure_survives(rows: list[tuple[str, float, int]]) -> None:
    """Quotes, NUL, any script, infinities: SQL parameters keep what they are given (lone surrogates cannot occur)."""
    import tempfile

    entries = tuple(
        HistoryEntry("m", label, "v", "i", True, n, n, {"x'; DROP TABLE runs; --": (value, n)})
        for label, value, n in sorted(rows, key=lambda row: row[0].encode())
    )
    run = HistoryRun("r", "2026", "folder", "q", False, "1", entries)
    with tempfile.TemporaryDirectory() as folder:
        assert add_run(Path(folder) / "h", run) is None
        assert read_runs(Path(folder) / "h") == (run,)


def test_runs_are_filtered_by_model_label_and_vendor_name(file: Path) -> None:
    """A filter keeps the runs in which such an entry took part."""
    add_run(file, night(1, {"a": 1.0}))
    add_run(file, night(2, {"b": 1.0}))
    assert [run.run for run in read_runs(file, labels=["b"])] == ["night-002"]
    assert [run.run for run in read_runs(file, models=["m"], labels=["vendor"])] == ["night-001", "night-002"]
    assert read_runs(file, models=["other"]) == ()


def test_no_file_is_an_empty_history_and_the_default_is_the_user_s_own(tmp_path: Path) -> None:
    """Asking an absent history is no mistake; the default lies in the user's data folder."""
    assert read_runs(tmp_path / "none") == ()
    assert default_history_file().name == "history.sqlite"
    assert "agent-vendor-verifier" in default_history_file().parts


def test_the_file_is_private_and_in_wal_mode(file: Path) -> None:
    """What vendors are used and how they do is nobody else's business; readers do not block the writer."""
    add_run(file, night(1, {"a": 1.0}))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA user_version").fetchone() == (SCHEMA,)


def test_a_locked_file_is_a_warning_and_what_was_in_it_stays(file: Path) -> None:
    """Somebody holds the write lock for longer than we wait: the run waits beside the file and comes in later."""
    add_run(file, night(1, {"a": 1.0}))
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        warning = add_run(file, night(2, {"a": 1.0}), wait_s=0.05)
        other.execute("ROLLBACK")
    assert warning is not None
    assert "locked" in warning
    assert "comes in with the next run" in warning
    assert stored(file) == ["night-001"]
    assert read_runs(file) == (night(1, {"a": 1.0}), night(2, {"a": 1.0}))
    assert add_run(file, night(3, {"a": 1.0})) is None
    assert stored(file) == ["night-001", "night-002", "night-003"]
    assert list(waiting_folder(file).iterdir()) == []


def test_what_waits_survives_a_newer_schema_and_a_damaged_file(file: Path) -> None:
    """Whatever the history was while they could not be added, the next one that can be written holds the runs."""
    add_run(file, night(1, {"a": 1.0}))
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(f"PRAGMA user_version = {SCHEMA + 1}")
    assert add_run(file, night(2, {"a": 1.0})) is not None
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(f"PRAGMA user_version = {SCHEMA}")
    whole = file.read_bytes()
    file.write_bytes(b"damaged " * 1000)
    warning = add_run(file, night(3, {"a": 1.0}))
    assert "move it away" in (warning or "")
    file.write_bytes(whole)
    assert add_run(file, night(4, {"a": 1.0})) is None
    assert stored(file) == ["night-001", "night-002", "night-003", "night-004"]


def test_of_a_run_that_waits_the_newest_judgement_counts(file: Path) -> None:
    """Scored again while it waits, and scored again after: never the older figures."""
    add_run(file, night(1, {"a": 1.0}))
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        for value in (2.0, 3.0):
            assert add_run(file, night(1, {"a": value}), wait_s=0.05) is not None
        other.execute("ROLLBACK")
    assert read_runs(file) == (night(1, {"a": 3.0}),)
    assert len(list(waiting_folder(file).iterdir())) == 1
    assert add_run(file, night(1, {"a": 4.0})) is None
    assert read_runs(file) == (night(1, {"a": 4.0}),)


def test_a_waiting_file_that_cannot_be_read_stays_and_harms_nothing(file: Path) -> None:
    """Torn or foreign content beside the history is neither a run nor deleted; what waits is nobody else's business."""
    add_run(file, night(1, {"a": 1.0}))
    keep_waiting(file, night(2, {"a": 1.0}))
    torn = waiting_folder(file) / "torn.json"
    torn.write_bytes(b'{"run": "x", "at"\xff')
    assert stat.S_IMODE(waiting_folder(file).stat().st_mode) == 0o700
    assert [run.run for run in read_runs(file)] == ["night-001", "night-002"]
    assert add_run(file, night(3, {"a": 1.0})) is None
    assert len(stored(file)) == 3
    assert list(waiting_folder(file).iterdir()) == [torn]


def test_a_newer_schema_is_left_alone(file: Path) -> None:
    """A file of a later version is neither written nor read, and it says which version it has."""
    add_run(file, night(1, {"a": 1.0}))
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(f"PRAGMA user_version = {SCHEMA + 1}")
    before = file.read_bytes()
    warning = add_run(file, night(2, {"a": 1.0}))
    assert warning is not None
    assert f"schema {SCHEMA + 1}" in warning
    assert "it waits in" in warning
    assert file.read_bytes() == before
    with pytest.raises(UsageError, match="newer version"):
        read_runs(file)


@pytest.mark.parametrize("content", [b"not a database at all, but long enough to be looked at" * 40, b"\x00" * 5000])
def test_a_file_that_is_no_database_is_a_warning(tmp_path: Path, content: bytes) -> None:
    """Damaged or foreign content never becomes an exception of a run."""
    file = tmp_path / "h"
    file.write_bytes(content)
    warning = add_run(file, night(1, {"a": 1.0}))
    assert warning is not None
    assert file.read_bytes() == content
    with pytest.raises(UsageError, match="cannot be read"):
        read_runs(file)


def test_another_program_s_database_is_not_touched(tmp_path: Path) -> None:
    """--history pointed at the wrong file does not add tables to it."""
    file = tmp_path / "browser.sqlite"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE bookmarks(a)")
    warning = add_run(file, night(1, {"a": 1.0}))
    assert warning is not None
    assert "another program" in warning
    assert not waiting_folder(file).exists()
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("bookmarks",)]
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)


@pytest.mark.parametrize("where", ["folder", "below a file"])
def test_a_path_that_can_be_no_file_is_a_warning(tmp_path: Path, where: str) -> None:
    """A folder, or a path through a file, is told in one sentence."""
    (tmp_path / "plain").write_text("")
    file = tmp_path if where == "folder" else tmp_path / "plain" / "history.sqlite"
    warning = add_run(file, night(1, {"a": 1.0}))
    assert warning is not None
    assert "not in the history" in warning


@needs_modes
def test_a_read_only_file_is_a_warning_and_still_readable(file: Path) -> None:
    """Without the right to write, the run goes on and the history can be looked at."""
    add_run(file, night(1, {"a": 1.0}))
    file.chmod(0o400)
    file.parent.chmod(0o500)
    try:
        assert "readonly" in (add_run(file, night(2, {"a": 1.0})) or "").replace("-", "")
        assert len(read_runs(file)) == 1
    finally:
        file.parent.chmod(0o700)


def test_a_file_that_sqlite_may_only_read_is_a_warning(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same, also where the tests run as root: the connection itself refuses to write."""
    add_run(file, night(1, {"a": 1.0}))
    connect = sqlite3.connect

    def read_only(path: Path, **options: object) -> sqlite3.Connection:
        connection = connect(f"{path.as_uri()}?mode=ro", uri=True, isolation_level=None)
        connection.execute("PRAGMA query_only = ON")
        return connection

    monkeypatch.setattr(database.sqlite3, "connect", read_only)
    warning = add_run(file, night(2, {"a": 1.0}))
    monkeypatch.undo()
    assert "readonly" in (warning or "")
    assert stored(file) == ["night-001"]


def test_a_run_that_cannot_be_written_whole_leaves_no_part(file: Path) -> None:
    """A figure that SQLite cannot hold takes its whole run back."""
    bad = HistoryRun(
        "bad", "2026", "f", "q", True, "1", (HistoryEntry("m", "a", "v", "i", False, 1, 1, {"x": (float("nan"), 1)}),)
    )
    add_run(file, night(1, {"a": 1.0}))
    assert add_run(file, bad) is not None
    assert [run.run for run in read_runs(file)] == ["night-001"]


def test_writers_of_several_processes_lose_nothing(file: Path) -> None:
    """Four processes that create the file at the same time and add ten runs each: forty runs."""
    code = (
        "import sys; sys.path.insert(0, 'tests/support'); from pathlib import Path; from histories import night;"
        "from vendor_verifier.features.history.database import add_run;"
        "p = int(sys.argv[2]);"
        "added = [add_run(Path(sys.argv[1]), night(10 * p + i, {'a': 1.0}), wait_s=30) for i in range(10)];"
        "sys.exit(sum(warning is not None for warning in added))"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    writers = [
        subprocess.Popen([sys.executable, "-c", code, str(file), str(number)], cwd=ROOT, env=environment)
        for number in range(4)
    ]
    assert [writer.wait(timeout=60) for writer in writers] == [0, 0, 0, 0]
    assert len(read_runs(file)) == 40


def test_names_of_answers_are_kept_also_in_a_history_that_was_begun_without_them(file: Path) -> None:
    """An older program's file has no such table: it is read as it is, and gets the table with the next run."""
    told = night(1, {"a": 1.0})
    add_run(file, told)
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("DROP TABLE served")
    assert read_runs(file) == (told,)
    served = ServedNames(("model-1",), ("fp_1", "fp_2"))
    later = replace(night(2, {"a": 1.0}), entries=(replace(told.entries[0], served=served),))
    assert add_run(file, later) is None
    assert read_runs(file) == (told, later)
