"""Packs the files of a stored run into one archive that re-scores elsewhere.

The archive holds one folder with the run's records, samples, manifest and reports, and ``SHA256SUMS`` over them in the
format of ``sha256sum -c``. Members are sorted and carry no owner, no time and one mode: the same run, the same bytes.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import re
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import filelock

from vendor_verifier.errors import RunFolderError, StorageError
from vendor_verifier.pipeline.audit import FILE as RECOUNT
from vendor_verifier.reports import REPORTS
from vendor_verifier.store import FILE_MODE, NO_LINK, RunFolder

HASHES = "SHA256SUMS"
MANIFEST, RECORDS, SCORES = "manifest.json", "records.jsonl", "scores.json"
_EVIDENCE = (MANIFEST, RECORDS, RECOUNT, "records.jsonl.corrupt", "duplicates.jsonl")
_NAMED = frozenset({HASHES, *_EVIDENCE, *(form.file_name for form in REPORTS)})
_PAGES = "bfcl"
_TOP = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
# No separators of any system, no control characters, nothing hidden.
_PART = re.compile(r'[^./\\:*?"<>|\x00-\x1f\x7f][^/\\:*?"<>|\x00-\x1f\x7f]{0,199}')


def top_folder(run: object) -> str:
    """The name of the archive's one folder."""
    return run if isinstance(run, str) and _TOP.fullmatch(run) else "run"


def is_bundled(name: str) -> bool:
    """Whether a path inside the run folder (``/`` between its parts) may stand in a bundle."""
    if name in _NAMED:
        return True
    parts = name.split("/")
    if not all(_PART.fullmatch(part) for part in parts):
        return False
    if parts[0] == "samples":
        return len(parts) == 2 and name.endswith(".jsonl")
    return parts[0] == _PAGES and len(parts) in (2, 3)


def split_member(name: str) -> tuple[str, str] | None:
    """(top folder, path inside the run folder) of a member's name; ``None`` for one that has no place in a bundle."""
    top, slash, inner = name.partition("/")
    return (top, inner) if slash and _TOP.fullmatch(top) and is_bundled(inner) else None


def bundled_files(folder: RunFolder) -> dict[str, Path]:
    """Path inside the run folder → the file, in name order; links are left out, they would lead elsewhere."""
    candidates = [*folder.path.glob("*"), *folder.path.glob("samples/*"), *folder.path.glob(f"{_PAGES}/**/*")]
    found = {path.relative_to(folder.path).as_posix(): path for path in candidates}
    return {
        name: path
        for name, path in sorted(found.items())
        if name != HASHES and is_bundled(name) and path.is_file() and not _has_link(folder.path, path)
    }


def _has_link(base: Path, path: Path) -> bool:
    return any(each.is_symlink() for each in (path, *path.parents) if base in each.parents)


def make_bundle(folder: RunFolder, target: Path | None) -> Path:
    """Write the archive and return its path; by default ``<run>.tar.gz`` in the working directory.

    Raises:
        RunFolderError: no readable or no scored run, one that is being written, or the archive is already there.
        StorageError: the disk refused.
    """
    manifest = folder.read_manifest()
    if not manifest.entries or not manifest.tasks:
        raise RunFolderError(f"{folder.manifest_file} names no evaluation; it is damaged, or no run of this tool")
    top = top_folder(manifest.run)
    path = target if target is not None else Path(f"{top}.tar.gz")
    if path.exists():
        raise RunFolderError(f"{path} is already there; name another file with -o")
    with _at_rest(folder):
        files = bundled_files(folder)
        missing = [name for name in (RECORDS, SCORES) if name not in files]
        if missing:
            raise RunFolderError(f"{folder.path} has no {' and no '.join(missing)}; score it first")
        _write(path, top, files)
    return path


@contextmanager
def _at_rest(folder: RunFolder) -> Iterator[None]:
    """Lock the run folder while its files are read; a folder that cannot be written needs no lock."""
    lock = filelock.FileLock(folder.path / ".lock", timeout=0, mode=FILE_MODE)
    try:
        lock.acquire()
    except filelock.Timeout:
        raise RunFolderError(f"{folder.path} is being written; bundle it when the run is over") from None
    except OSError:
        yield
        return
    try:
        yield
    finally:
        lock.release()


def _write(path: Path, top: str, files: Mapping[str, Path]) -> None:
    draft = path.with_name(f".{path.name}.{os.getpid()}.draft")
    try:
        sums = "".join(f"{_digest(file)}  {name}\n" for name, file in files.items()).encode()
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | NO_LINK, FILE_MODE)
        with os.fdopen(descriptor, "wb") as out:
            with (
                gzip.GzipFile(filename="", mode="wb", fileobj=out, mtime=0) as packed,
                tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
            ):
                _add(archive, f"{top}/{HASHES}", len(sums), io.BytesIO(sums))
                for name, file in files.items():
                    with file.open("rb") as source:
                        _add(archive, f"{top}/{name}", os.fstat(source.fileno()).st_size, source)
            out.flush()
            os.fsync(descriptor)
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise StorageError(f"cannot write {path}: {error}") from error


def _add(archive: tarfile.TarFile, name: str, size: int, source: BinaryIO) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode, member.mtime = size, FILE_MODE, 0
    archive.addfile(member, source)


def _digest(file: Path) -> str:
    with file.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()
