"""The run folder on disk, the conversion of records into JSON and back, and the names of runs::

runs/<timestamp>/
├── manifest.json    entries, tasks, settings and versions; no secret
├── samples/         one <suite>.jsonl each: the samples as sent, so that the run can be scored anywhere
├── records.jsonl    one line per finished sample, append-only: the hand-over between run and score; with
│                    `compress` records.jsonl.zst once the run has ended
├── scores.json      the reports, written by score
├── ranking.csv
├── report.md
└── report.html
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from vendor_verifier.errors import DataError, RunFolderError, StorageError
from vendor_verifier.records.manifest import Manifest
from vendor_verifier.records.record import RECORD_SCHEMA, Record
from vendor_verifier.records.sample import Sample, Samples
from vendor_verifier.sample_store import open_lines, zstd_module
from vendor_verifier.text import listed
from vendor_verifier.wire.payload import well_formed

FOLDER_MODE = 0o700
FILE_MODE = 0o600
# Never through a link, which would redirect records to another place; they hold texts of vendors and users.
NO_LINK = getattr(os, "O_NOFOLLOW", 0)
# Where runs are kept by default.
RUNS = Path("runs")
# In place of a file of the history.
NO_HISTORY = Path("none")
_SAMPLES = "samples"
RECORDS = "records.jsonl"
PACKED = ".zst"
_MOST_LINE_BYTES = 256 * 1024**2

_decode_record = msgspec.json.Decoder(Record).decode
_decode_sample = msgspec.json.Decoder(Sample).decode
_decode_manifest = msgspec.json.Decoder(Manifest).decode
# Called with the place of a line that is not a record (``records.jsonl:17``) and the reason.
OnBadLine = Callable[[str, str], None]


def lines_in(file: Path, on_bad_line: OnBadLine = lambda _line, _reason: None) -> Iterator[tuple[int, bytes]]:
    """The lines of a file of records with their numbers from 1, read lazily, as far as a packed file can be unpacked.

    Raises:
        RunFolderError: it cannot be opened.
    """
    number = 0
    try:
        lines = open_lines(file, max_line=_MOST_LINE_BYTES, max_file=sys.maxsize)
    except DataError as error:
        raise RunFolderError(f"{file} cannot be read: {error}") from None
    try:
        for number, line in enumerate(lines, 1):
            yield number, line
    except DataError as error:
        on_bad_line(f"{file.name}:{number + 1}", f"{error.problems[0].message}; the rest of the file is lost")


def _compressed(file: Path) -> Iterator[bytes]:
    zstd = zstd_module()
    compressor = zstd.ZstdCompressor(options={zstd.CompressionParameter.checksum_flag: 1})
    with file.open("rb") as source:
        while piece := source.read(2**20):
            yield compressor.compress(piece)
    yield compressor.flush()


class UnreadableLine(ValueError):
    """A stored line is not a record; the message states the reason."""


def encode_record(record: Record) -> bytes:
    """One line, newline included, UTF-8. A lone surrogate in it, which UTF-8 cannot write, becomes U+FFFD."""
    return _encoded(record) + b"\n"


def _encoded(value: Record | Manifest) -> bytes:
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return well_formed(json.dumps(msgspec.to_builtins(value), ensure_ascii=False)).encode()


def decode_record(line: bytes) -> Record:
    """Read one stored line.

    Raises:
        UnreadableLine: not JSON, not a record, or of a schema version this program does not know.
    """
    try:
        record = _decode_record(line)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise UnreadableLine(str(error)) from None
    except RecursionError:
        raise UnreadableLine("nested too deeply to be a record") from None
    if record.schema != RECORD_SCHEMA:
        raise UnreadableLine(f"record schema {record.schema} is not that of this program, {RECORD_SCHEMA}")
    return record


class RunFolder(msgspec.Struct, frozen=True):
    """Paths and small files of one run."""

    path: Path

    @property
    def manifest_file(self) -> Path:
        return self.path / "manifest.json"

    def samples_file(self, suite: str) -> Path:
        return self.path / _SAMPLES / f"{suite}.jsonl"

    @property
    def records_file(self) -> Path:
        """The file of records. A plain one counts: it is removed only when the compressed one is whole."""
        plain, packed = self.path / RECORDS, self.path / (RECORDS + PACKED)
        return packed if packed.exists() and not plain.exists() else plain

    def create(self) -> bool:
        """Create the folder; whether there was none."""
        try:
            self.path.mkdir(mode=FOLDER_MODE, parents=True)
        except OSError as error:
            if self.path.is_dir():
                return False
            if self.path.is_file():
                raise RunFolderError(f"{self.path} is a file; name a folder") from None
            raise StorageError(f"cannot create the run folder {self.path}: {error.strerror}") from error
        return True

    def withdraw(self, suites: Iterable[str]) -> None:
        """Remove what a run of ``suites`` that never began wrote, and the folder if nothing else is in it; where there
        is a record, all stays."""
        records = self.records_file
        if records.exists() and records.stat().st_size:
            return
        own = (records, self.manifest_file, self.path / ".lock", self.path / ".lock-owner")
        for file in (*own, *map(self.samples_file, suites)):
            file.unlink(missing_ok=True)
        for place in (self.path / _SAMPLES, self.path):
            if place.is_dir() and not any(place.iterdir()):
                place.rmdir()

    def create_inside(self, name: str) -> None:
        """Create a folder of the folder; ``/`` between its parts.

        Raises:
            StorageError: the disk refused, or a part leads out of the folder.
        """
        self._keep_inside(self.path / name)
        place = self.path
        for part in name.split("/"):
            place = place / part
            RunFolder(place).create()

    def _keep_inside(self, place: Path) -> None:
        if not place.resolve().is_relative_to(self.path.resolve()):
            raise StorageError(f"cannot write into {place}: it leads out of {self.path}")

    def write_manifest(self, manifest: Manifest) -> None:
        self.write(self.manifest_file.name, msgspec.json.format(_encoded(manifest), indent=2) + b"\n")

    def read_manifest(self) -> Manifest:
        """The manifest.

        Raises:
            RunFolderError: there is none, or it cannot be read.
        """
        try:
            return _decode_manifest(self.manifest_file.read_bytes())
        except FileNotFoundError:
            is_sweep = (self.path / "capacity.json").exists()
            hint = "; it holds a capacity sweep, whose runs are in its folders" if is_sweep else ""
            raise RunFolderError(f"{self.path} is not a run folder: it holds no manifest.json{hint}") from None
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise RunFolderError(f"{self.manifest_file} is damaged, or no run of this tool: {error}") from None
        except OSError as error:
            raise RunFolderError(f"{self.manifest_file} cannot be read: {error}") from None

    def write_samples(self, suite: str, samples: Iterable[Sample]) -> None:
        self.create_inside(_SAMPLES)
        self.write(f"{_SAMPLES}/{suite}.jsonl", map(_sample_line, samples))

    def read_samples(self, suite: str) -> Samples:
        """The samples of one suite.

        Raises:
            RunFolderError: there are none, or they cannot be read.
        """
        file = self.samples_file(suite)
        try:
            with file.open("rb") as lines:
                return Samples(map(_sample_of, lines))
        except (OSError, ValueError, RecursionError) as error:
            raise RunFolderError(f"{file} cannot be read: {error}") from None

    def read_records(self, on_bad_line: OnBadLine) -> Iterator[Record]:
        """Every readable record in the order written; unreadable lines are reported by place and reason."""
        file = self.records_file
        for number, line in lines_in(file, on_bad_line) if file.exists() else ():
            try:
                record = decode_record(line)
            except UnreadableLine as error:
                on_bad_line(f"{file.name}:{number}", str(error))
                continue
            yield record

    def pack(self) -> None:
        """Replace the plain file of records by a compressed one; where the disk refuses the plain one stays."""
        plain = self.path / RECORDS
        self.write(RECORDS + PACKED, _compressed(plain))
        plain.unlink()

    def unpack(self) -> None:
        """Replace the compressed file of records by a plain one, as far as it can be read."""
        packed = self.path / (RECORDS + PACKED)
        self.write(RECORDS, (line for _, line in lines_in(packed)))
        packed.unlink()

    def write(self, name: str, content: str | bytes | Iterable[bytes]) -> Path:
        """Replace a file of the folder in one step: readers see the old content or the new, never half of it.

        Raises:
            StorageError: the disk refused, or a name or a link leads out of the folder.
        """
        if isinstance(content, str):
            content = content.encode("utf-8", errors="backslashreplace")
        target = self.path / name
        self._keep_inside(target.parent)
        draft = target.with_name(f".{target.name}.{os.getpid()}.draft")
        try:
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | NO_LINK, FILE_MODE)
            with os.fdopen(descriptor, "wb") as out:
                out.writelines((content,) if isinstance(content, bytes) else content)
                out.flush()
                os.fsync(descriptor)
            draft.replace(target)
        except OSError as error:
            draft.unlink(missing_ok=True)
            raise StorageError(f"cannot write {target}: {error}") from error
        return target


def _sample_line(sample: Sample) -> bytes:
    """The line of a sample. A lone surrogate, which UTF-8 cannot write, stays the escape it was."""
    try:
        return msgspec.json.encode(sample) + b"\n"
    except UnicodeEncodeError:
        return json.dumps(msgspec.to_builtins(sample), separators=(",", ":")).encode() + b"\n"


def _sample_of(line: bytes) -> Sample:
    try:
        return _decode_sample(line)
    except msgspec.DecodeError:
        # The fast reader refuses lone surrogates; any other error is raised here again.
        return msgspec.convert(json.loads(line), Sample)


def latest_run() -> Path:
    """The folder under ``runs`` that was written last.

    Raises:
        RunFolderError: there is none.
    """
    folders = _folders(RUNS)
    if not folders:
        raise RunFolderError(f"there is no run under {RUNS}/; name a run folder, or make one with `run` or `demo`")
    return max(folders, key=lambda path: path.stat().st_ctime)


def point_to(folder: Path) -> None:
    """Let ``latest`` next to ``folder`` point to it, where links are possible and nothing else has that name."""
    link = folder.parent / "latest"
    if link.exists() and not link.is_symlink():
        return
    draft = link.with_name(f".latest.{os.getpid()}.draft")
    with suppress(OSError):
        draft.symlink_to(folder.name, target_is_directory=True)
        draft.replace(link)


def run_named(path: Path | None = None) -> Path:
    """The run folder that a path names: the folder, a file in it, or a run's id; without a path the last run.

    Reports name a run by ``runs/`` and its id wherever it is, because they are mailed and moved with it.

    Raises:
        RunFolderError: there is none; the message names those that are there.
    """
    if path is None or (path.name == "latest" and not path.exists()):
        return latest_run()
    folder = path.parent if path.is_file() else path
    if (folder / "manifest.json").is_file():
        return folder
    for near in (each for place in (path.parent, RUNS, Path()) for each in _folders(place)):
        with suppress(RunFolderError):
            if RunFolder(near).read_manifest().run == path.name:
                return near
    runs = [str(each) for each in _folders(path) or _folders(RUNS)]
    there = f"runs are {listed(runs)}" if runs else "there is no run here"
    raise RunFolderError(f"{path} is not a run folder, nor the id of a run under {RUNS}/; give its folder ({there})")


def _folders(runs: Path) -> list[Path]:
    found = (path.parent for path in sorted(runs.glob("*/manifest.json")))
    return [folder for folder in found if not folder.is_symlink()]
