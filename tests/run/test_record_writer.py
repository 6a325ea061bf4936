"""Records in files of every form: rows written are rows read, wherever the writing stopped."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vendor_verifier import record_files
from vendor_verifier.errors import RunFolderError, StorageError
from vendor_verifier.record_files import line_at, lines_in, zstd_module
from vendor_verifier.redaction import Scrubber
from vendor_verifier.run import record_writer
from vendor_verifier.run.journal import Journal
from vendor_verifier.run.record_writer import RecordForm
from vendor_verifier.store import RunFolder, encode_record
from vendor_verifier.values.record import Record
from vendor_verifier.values.steps import at_once

PLAIN, PACKED = RecordForm(), RecordForm(compressed=True)
FORMS = st.builds(RecordForm, st.booleans(), st.none() | st.integers(1, 1500))
BATCHES = st.lists(st.integers(0, 4), max_size=6)


@pytest.fixture(autouse=True)
def small_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    """Frames of a few records, so that some begin and end."""
    monkeypatch.setattr(record_writer, "_FRAME_BYTES", 600)


def rows(first: int, count: int) -> list[Record]:
    """Records of a number each."""
    return [
        Record("run", "m", "label", "v", "trigger", f"{number}-{'x' * number}", 0)
        for number in range(first, first + count)
    ]


def write(folder: RunFolder, form: RecordForm, batches: list[int], first: int = 0) -> list[int]:
    """Write batches of so many records; the bytes in all files after each."""
    sizes = []
    with Journal(folder, Scrubber(), form) as journal:
        for size in batches:
            journal.append(rows(first, size))
            first += size
            sizes.append(sum(file.stat().st_size for file in folder.records_files()))
    return sizes


def read(folder: RunFolder) -> tuple[list[Record], list[str]]:
    """The records of a folder, and the lines that are none."""
    bad: list[str] = []
    return list(folder.read_records(lambda line, _reason: bad.append(line))), bad


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(FORMS, BATCHES), min_size=1, max_size=4))
def test_rows_written_are_rows_read(sessions: list[tuple[RecordForm, list[int]]]) -> None:
    """Whatever the form, and however it changed from session to session: the same records in the same order, and each
    line is found again by its place."""
    with tempfile.TemporaryDirectory() as place:
        folder, count = RunFolder(Path(place)), 0
        for form, batches in sessions:
            write(folder, form, batches, count)
            count += sum(batches)
        assert read(folder) == (rows(0, count), [])
        for file in folder.records_files():
            for line in lines_in(file):
                assert line_at(file, line.begin, line.skip, len(line.text)) == line.text


@settings(max_examples=100, deadline=None)
@given(st.sampled_from([PLAIN, PACKED]), BATCHES, st.data())
def test_torn_at_any_byte_loses_only_what_was_being_written(
    form: RecordForm, batches: list[int], data: st.DataObject
) -> None:
    """Cut anywhere, as by a kill: every batch that was said to be written is read, nothing is read that was not, and
    after the next session stands all of it and what that one wrote."""
    with tempfile.TemporaryDirectory() as place:
        folder = RunFolder(Path(place))
        sizes = write(folder, form, batches)
        (file,) = folder.records_files()
        cut = data.draw(st.integers(0, file.stat().st_size))
        file.write_bytes(file.read_bytes()[:cut])
        safe = sum(count for count, size in zip(batches, sizes, strict=True) if size <= cut)
        kept, _ = read(folder)
        assert len(kept) >= safe
        assert kept == rows(0, len(kept))
        write(folder, PLAIN, [2], 100)
        assert [each for each in read(folder)[0] if each not in rows(100, 2)][:safe] == rows(0, safe)
        assert read(folder)[0][-2:] == rows(100, 2)


@pytest.mark.parametrize("form", [PLAIN, PACKED])
def test_what_is_written_can_be_read_at_once(tmp_path: Path, form: RecordForm) -> None:
    """A reader beside the writer sees every batch the moment it was appended, as after a kill."""
    folder = RunFolder(tmp_path)
    with Journal(folder, Scrubber(), form) as journal:
        for number in range(20):
            journal.append(rows(number, 1))
            assert read(folder) == (rows(0, number + 1), [])


def test_a_torn_compressed_file_is_left_as_it_is(tmp_path: Path) -> None:
    """The next session says where it broke off and goes on in another file."""
    folder = RunFolder(tmp_path)
    sizes = write(folder, PACKED, [1, 1])
    (file,) = folder.records_files()
    torn = file.read_bytes()[: sizes[0] + 3]
    file.write_bytes(torn)
    with Journal(folder, Scrubber()) as journal:
        assert journal.torn == ("records.jsonl.zst", 2)
        journal.append(rows(7, 1))
    assert [each.name for each in folder.records_files()] == ["records.jsonl.zst", "records-0002.jsonl.zst"]
    assert file.read_bytes() == torn
    assert read(folder) == ([*rows(0, 1), *rows(7, 1)], [])


def test_files_are_bounded(tmp_path: Path) -> None:
    """Each file but the last is full, and no larger than a batch beyond its bound; the next session fills the last."""
    folder, form = RunFolder(tmp_path), RecordForm(most_bytes=1000)
    write(folder, form, [1] * 20)
    write(folder, form, [1] * 20, 20)
    sizes = [file.stat().st_size for file in folder.records_files()]
    assert len(sizes) > 4
    assert all(size >= 1000 for size in sizes[:-1])
    assert max(sizes) < 1000 + len(encode_record(rows(40, 1)[0]))
    assert [file.name for file in folder.records_files()][:3] == [
        "records.jsonl", "records-0002.jsonl", "records-0003.jsonl",
    ]  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_damage_costs_its_frame_only(data: st.DataObject) -> None:
    """A byte that another one replaced: it changes nothing or is told, and no frame before or behind it is lost."""
    with tempfile.TemporaryDirectory() as place:
        folder = RunFolder(Path(place))
        write(folder, PACKED, [1] * 60)
        (file,) = folder.records_files()
        frames = sorted({line.begin for line in lines_in(file)})
        hit, bits = data.draw(st.integers(frames[2], frames[3] - 1)), data.draw(st.integers(1, 255))
        content = bytearray(file.read_bytes())
        content[hit] ^= bits
        own = [line.number - 1 for line in lines_in(file) if line.begin == frames[2]]
        file.write_bytes(content)
        kept, bad = read(folder)
        others = [each for number, each in enumerate(rows(0, 60)) if number not in own]
        assert [each for each in kept if each in others] == others
        assert bad or kept == rows(0, 60)


@pytest.mark.parametrize("pieces", [1, 3, 1000])
def test_files_that_others_packed_are_read(tmp_path: Path, pieces: int) -> None:
    """One frame, or frames that end in the middle of lines, as other tools write them."""
    folder, zstd = RunFolder(tmp_path), zstd_module()
    content = b"".join(map(encode_record, rows(0, 30)))
    step = -(-len(content) // pieces)
    (tmp_path / "records.jsonl.zst").write_bytes(
        b"".join(zstd.compress(content[begin : begin + step]) for begin in range(0, len(content), step))
    )
    assert read(folder) == (rows(0, 30), [])
    (file,) = folder.records_files()
    assert all(line_at(file, line.begin, line.skip, len(line.text)) == line.text for line in lines_in(file))


def test_a_file_made_to_fill_memory_is_refused(tmp_path: Path) -> None:
    """What unpacks to hundreds of times its size holds no records; it is refused before it is all unpacked."""
    (tmp_path / "records.jsonl.zst").write_bytes(zstd_module().compress(bytes(200 * 1024**2)))
    with pytest.raises(RunFolderError, match="unpacks to more than records do"):
        read(RunFolder(tmp_path))


def test_a_line_without_an_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However much a file may unpack to in all, one line of it cannot fill the memory."""
    monkeypatch.setattr(record_files, "_MOST_LINE_BYTES", 10 * 1024**2)
    (tmp_path / "records.jsonl.zst").write_bytes(zstd_module().compress(b"x" * 20 * 1024**2))
    with pytest.raises(RunFolderError, match="unpacks to more than records do"):
        read(RunFolder(tmp_path))


def test_a_full_disk_spoils_no_compressed_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was said to be safe is read, half a batch is cut off, and the next session goes on."""
    folder, write_bytes = RunFolder(tmp_path), os.write

    def half(fd: int, data: bytes) -> int:
        if len(data) < 20:
            raise OSError(28, "No space left on device")
        return write_bytes(fd, data[:10])

    with Journal(folder, Scrubber(), PACKED) as journal:
        journal.append(rows(0, 3))
        monkeypatch.setattr(os, "write", half)
        with pytest.raises(StorageError, match="No space left on device; 3 records just written are safe"):
            journal.append(rows(3, 1))
        monkeypatch.undo()
    assert read(folder) == (rows(0, 3), [])
    write_after = [*rows(0, 3), *rows(9, 1)]
    with Journal(folder, Scrubber()) as journal:
        journal.append(rows(9, 1))
    assert read(folder) == (write_after, [])


def test_one_part_in_two_forms_is_refused(tmp_path: Path) -> None:
    """Whoever unpacked a file beside the packed one is asked which of them counts: both would count twice."""
    write(RunFolder(tmp_path), PACKED, [1])
    (tmp_path / "records.jsonl").write_bytes(b"")
    with pytest.raises(RunFolderError, match=r"holds records\.jsonl and records\.jsonl\.zst; move one of them away"):
        read(RunFolder(tmp_path))


@settings(max_examples=60, deadline=None)
@given(st.booleans(), BATCHES, st.randoms(use_true_random=False))
def test_whoever_writes_between_the_steps_of_another_tears_nothing(
    compressed: bool, batches: list[int], dice: Random
) -> None:
    """Several write at one time, in any order of their steps; what one has written to its end can be read."""
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(record_writer, "_STEP_BYTES", 100)
        folder = RunFolder(Path(name))
        numbers = [sum(batches[:place]) for place in range(len(batches))]
        told: set[str] = set()
        with Journal(folder, Scrubber(), RecordForm(compressed, dice.choice([None, 700]))) as journal:
            parts = [rows(first, size) for first, size in zip(numbers, batches, strict=True)]
            under_way = [(journal.appending(part), part) for part in parts]
            while under_way:
                steps, part = dice.choice(under_way)
                if next(steps, "over") == "over":
                    under_way.remove((steps, part))
                    told |= {record.sample for record in part}
                    found, _torn = read(folder)
                    assert told <= {record.sample for record in found}
        found, bad = read(folder)
        assert sorted(found, key=lambda record: len(record.sample)) == rows(0, sum(batches))
        assert bad == []


def test_what_is_left_of_a_line_is_written_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever was writing it may have gone."""
    monkeypatch.setattr(record_writer, "_STEP_BYTES", 100)
    folder = RunFolder(tmp_path)
    with Journal(folder, Scrubber(), PLAIN) as journal:
        next(journal.appending(rows(0, 5)))
    assert read(folder) == (rows(0, 5), [])


def test_a_disk_that_refuses_the_middle_of_a_line_keeps_what_was_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody's half line stays, and whoever waits behind it is told as well."""
    monkeypatch.setattr(record_writer, "_STEP_BYTES", 100)
    folder = RunFolder(tmp_path)

    def full(_descriptor: int, _data: bytes) -> int:
        raise OSError(28, "no space left on device")

    with Journal(folder, Scrubber(), PLAIN) as journal:
        journal.append(rows(0, 1))
        first, second = journal.appending(rows(1, 2)), journal.appending(rows(3, 1))
        next(first)
        next(second)
        monkeypatch.setattr(os, "write", full)
        for steps in (second, first):
            with pytest.raises(StorageError):
                at_once(steps)
    assert read(folder) == (rows(0, 1), [])
