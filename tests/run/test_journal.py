"""The journal never loses or spoils a record that was written, and lets nobody else write."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vendor_verifier.errors import RunFolderError, StorageError
from vendor_verifier.records.record import Attempt, Record, Response, TurnRecord
from vendor_verifier.run.journal import Journal, locked
from vendor_verifier.sample_store import zstd_module
from vendor_verifier.store import RunFolder, encode_record


def record(number: int, text: str = "hello") -> Record:
    turns = (TurnRecord((Attempt(1, response=Response(text)),)),)
    return Record("run", "model", "label", "vendor", "trigger", f"{number:03}-1", 0, turns)


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    made = RunFolder(tmp_path / "runs" / "one")
    made.create()
    return made


def readable(folder: RunFolder) -> list[str]:
    """The samples of all records; fails on any line that is none."""
    return [one.sample for one in folder.read_records(pytest.fail)]


def test_a_second_writer_is_refused_by_name(folder: RunFolder) -> None:
    """Whoever opens the same run hears who holds it; the lock is free again afterwards."""
    with locked(folder):
        words = f"{folder.path} is being written by process {os.getpid()} on"
        with pytest.raises(RunFolderError, match=re.escape(words)), locked(folder):
            pass
    with locked(folder):
        pass


@pytest.mark.parametrize("target", ["elsewhere.txt", "new.txt"])
def test_records_go_through_no_link(folder: RunFolder, target: str) -> None:
    """A link laid in place of the records leads nowhere, whether it points to a file or would make one."""
    (folder.path / "elsewhere.txt").write_text("mine")
    folder.records_file.symlink_to(folder.path / target)
    with pytest.raises(StorageError, match=r"records\.jsonl"), Journal(folder):
        pass
    assert (folder.path / "elsewhere.txt").read_text() == "mine"


# Lines that are whole, of records or of anything else, and a last one that is not.
LINES = st.lists(st.integers(0, 99).map(lambda number: encode_record(record(number))) | st.just(b"x\n"), max_size=4)
TAIL = st.binary(max_size=40).map(lambda data: data.replace(b"\n", b"."))


@given(lines=LINES.map(b"".join), tail=TAIL)
@example(lines=b"", tail=b"x" * 200_000)
def test_repair_keeps_whole_lines_and_drops_the_tail(lines: bytes, tail: bytes) -> None:
    """Whatever a crash left: lines that end are kept to the byte, and one that does not is dropped."""
    with tempfile.TemporaryDirectory() as place:
        made = RunFolder(Path(place))
        made.records_file.write_bytes(lines + tail)
        with Journal(made) as journal:
            assert journal.torn == bool(tail)
            assert made.records_file.read_bytes() == lines
            journal.append([record(7)])
        assert made.records_file.read_bytes() == lines + encode_record(record(7))


def test_a_run_is_compressed_at_its_end_and_resumed_plain(folder: RunFolder) -> None:
    """While it is written the records are plain lines; a resumed run unpacks them first and compresses them again."""
    packed = folder.path / "records.jsonl.zst"
    with Journal(folder, compress=True) as journal:
        journal.append([record(1)])
        assert folder.records_file.name == "records.jsonl"
    assert folder.records_file == packed
    assert readable(folder) == ["001-1"]
    with Journal(folder) as journal:
        assert not packed.exists()
        journal.append([record(2)])
    assert folder.records_file == packed
    assert readable(folder) == ["001-1", "002-1"]


def test_damaged_zstd_data_costs_the_rest(folder: RunFolder) -> None:
    """What can be read counts, and the reader hears of the rest; a file made to fill a disk is refused."""
    with Journal(folder, compress=True) as journal:
        journal.append([record(number, os.urandom(300).hex()) for number in range(1_000)])
    content = folder.records_file.read_bytes()
    folder.records_file.write_bytes(content[: len(content) // 2])
    bad: list[str] = []
    kept = list(folder.read_records(lambda line, reason: bad.append(f"{line}: {reason}")))
    assert 0 < len(kept) < 1_000
    assert "the rest of the file is lost" in bad[-1]
    folder.records_file.write_bytes(zstd_module().compress(bytes(66 * 1024**2)))
    assert list(folder.read_records(lambda line, reason: bad.append(f"{line}: {reason}"))) == []
    assert "as no data set does" in bad[-1]
