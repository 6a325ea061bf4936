"""Whatever a crash or a disk leaves in a journal, opening it loses nothing whole and hides nothing broken."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vendor_verifier.errors import StorageError
from vendor_verifier.records.record import Record
from vendor_verifier.run import journal as journal_module
from vendor_verifier.run.journal import Journal
from vendor_verifier.store import RunFolder, encode_record


def record(number: int) -> Record:
    return Record("run", "model", "label", "vendor", "trigger", f"{number:03}-1", 0)


def line(number: int) -> bytes:
    return encode_record(record(number))


GARBAGE = st.binary(max_size=60).filter(lambda data: b"\n" not in data)
LINES = st.lists(st.integers(0, 99).map(line) | GARBAGE.map(lambda data: data + b"\n"), max_size=6).map(b"".join)


@settings(max_examples=60, deadline=None)
@given(LINES, GARBAGE)
def test_repair_keeps_whole_lines_and_drops_the_tail(lines: bytes, tail: bytes) -> None:
    """For any whole lines and any torn tail: the lines stay byte for byte, the tail is dropped, the next record is on a
    line of its own, and repairing again changes nothing."""
    with tempfile.TemporaryDirectory() as place:
        folder = RunFolder(Path(place))
        folder.records_file.write_bytes(lines + tail)
        with Journal(folder) as journal:
            assert journal.torn == bool(tail)
            assert folder.records_file.read_bytes() == lines
            journal.append([record(7)])
        assert folder.records_file.read_bytes() == lines + line(7)
        with Journal(folder) as journal:
            assert not journal.torn
        bad: list[str] = []
        good = list(folder.read_records(lambda line, _reason: bad.append(line)))
        assert len(good) + len(bad) == lines.count(b"\n") + 1
        assert good[-1] == record(7)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 6), st.data())
def test_cut_anywhere_loses_at_most_the_line_that_was_cut(count: int, data: st.DataObject) -> None:
    """A file cut at any byte gives back every record before the cut."""
    content = b"".join(map(line, range(count)))
    cut = data.draw(st.integers(0, len(content)))
    with tempfile.TemporaryDirectory() as place:
        folder = RunFolder(Path(place))
        folder.records_file.write_bytes(content[:cut])
        with Journal(folder):
            pass
        unreadable: list[str] = []
        kept = list(folder.read_records(lambda line, _reason: unreadable.append(line)))
    assert kept == [record(number) for number in range(content[:cut].count(b"\n"))]
    assert unreadable == []


def test_a_device_that_is_always_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system's own full disk: the first write is refused as such, and says how many records are safe."""
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    opened = os.open

    def full(path: str | Path, flags: int, mode: int = 0o777) -> int:
        return opened("/dev/full", os.O_WRONLY) if Path(path).name == "records.jsonl" else opened(path, flags, mode)

    folder = RunFolder(tmp_path)

    def fill() -> None:
        with Journal(folder) as journal:
            journal.append([record(1)])

    monkeypatch.setattr(journal_module.os, "open", full)
    with pytest.raises(StorageError, match="No space left on device; 0 records just written are safe"):
        fill()
    monkeypatch.undo()
    with Journal(folder) as journal:
        journal.append([record(2)])
    assert folder.records_file.read_bytes() == line(2)


@pytest.mark.parametrize("target", ["elsewhere.txt", "/dev/null"])
def test_records_go_through_no_link(tmp_path: Path, target: str) -> None:
    """A link in place of the records is refused: records would land where nobody looks, or overwrite what is there."""
    folder = RunFolder(tmp_path / "run")
    folder.create()
    (tmp_path / "elsewhere.txt").write_text("mine")
    folder.records_file.symlink_to(tmp_path / target)
    with pytest.raises(StorageError, match=r"records\.jsonl"), Journal(folder):
        pass
    assert (tmp_path / "elsewhere.txt").read_text() == "mine"
