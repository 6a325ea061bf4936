"""The command ``bundle``: packs a stored run into one archive, and verifies one by its hashes and by scoring it again.

The archive holds one folder with the run's records, samples, manifest and reports, and ``SHA256SUMS`` over them in the
format of ``sha256sum -c``. Members are sorted and carry no owner, no time and one mode: the same run, the same bytes.

A bundle is a stranger's file: nothing is unpacked outside a temporary folder, links and unexpected names are refused,
sizes are bounded, and paths that its manifest names are not followed.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import math
import os
import re
import sys
import tarfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, BinaryIO

import msgspec
from cyclopts import Parameter

from vendor_verifier import __version__
from vendor_verifier.console.output import EXIT_OK
from vendor_verifier.errors import DataError, Problem, ProblemsError, RunFolderError, StorageError, VerifierError
from vendor_verifier.pipeline.latest_run import run_named
from vendor_verifier.pipeline.manifest import package_versions
from vendor_verifier.pipeline.options import OUTPUT, option
from vendor_verifier.pipeline.prices import STORED
from vendor_verifier.pipeline.score import score_folder
from vendor_verifier.record_files import RECORDS, file_number
from vendor_verifier.reports import REPORTS, failed_samples, scores_json
from vendor_verifier.reports.escape import plain
from vendor_verifier.store import FILE_MODE, NO_LINK, RunFolder
from vendor_verifier.values.labels import shown_labels
from vendor_verifier.values.manifest import Manifest
from vendor_verifier.wire.payload import parse_json
from vendor_verifier.words import counted

HASHES = "SHA256SUMS"
MANIFEST, SCORES, FAILED = "manifest.json", "scores.json", "failed_samples.jsonl"
_EVIDENCE = (MANIFEST, "duplicates.jsonl")
_CORRUPT = ".corrupt"
_NAMED = frozenset({HASHES, *_EVIDENCE, *(form.file_name for form in REPORTS)})
_PAGES = "bfcl"
MERGED = "merged"
_TOP = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
# No separators of any system, no control characters, nothing hidden.
_PART = re.compile(r'[^./\\:*?"<>|\x00-\x1f\x7f][^/\\:*?"<>|\x00-\x1f\x7f]{0,199}')


def top_folder(run: object) -> str:
    """The name of the archive's one folder."""
    return run if isinstance(run, str) and _TOP.fullmatch(run) else "run"


def is_bundled(name: str) -> bool:
    """Whether a path inside the run folder (``/`` between its parts) may stand in a bundle."""
    if name in _NAMED or file_number(name.removesuffix(_CORRUPT)) is not None:
        return True
    parts = name.split("/")
    if not all(_PART.fullmatch(part) for part in parts):
        return False
    if parts[0] == "samples":
        return len(parts) == 2 and name.endswith(".jsonl")
    if parts[0] == MERGED:
        return len(parts) == 2 and name.endswith(".json")
    return parts[0] == _PAGES and len(parts) in (2, 3)


def split_member(name: str) -> tuple[str, str] | None:
    """(top folder, path inside the run folder) of a member's name; ``None`` for one that has no place in a bundle."""
    top, slash, inner = name.partition("/")
    return (top, inner) if slash and _TOP.fullmatch(top) and is_bundled(inner) else None


def bundled_files(folder: RunFolder) -> dict[str, Path]:
    """Path inside the run folder → the file, in name order; links are left out, they would lead elsewhere."""
    candidates = [
        *folder.path.glob("*"),
        *folder.path.glob("samples/*"),
        *folder.path.glob(f"{MERGED}/*"),
        *folder.path.glob(f"{_PAGES}/**/*"),
    ]
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
    with folder.at_rest():
        files = bundled_files(folder)
        missing = [name for name in (RECORDS, SCORES) if not _holds(files, name)]
        if missing:
            raise RunFolderError(f"{folder.path} has no {' and no '.join(missing)}; score it first")
        _write(path, top, files)
    return path


def _holds(names: Iterable[str], name: str) -> bool:
    """Whether the file is there; records may be in files of several names."""
    return any(file_number(each) if name == RECORDS else each == name for each in names)


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


MAX_BYTES = 8 * 1024**3
MAX_FILES = 10_000
_MAX_READ = 16 * 1024**2
_PIECE = 1024**2
_LINE = re.compile(r"([0-9a-f]{64})  (.+)")
_COMPARED = ("run", "models", "settings", "dataset", "complete")
_MOST_SHOWN = 10
# The keys that depend on prices: sums, price lists, break-evens, and figures per request or call.
_MONEY = re.compile(r"/judgement/(money|prices|break_evens)\b|_usd\b|/choice/cheapest\b")
# Bundles of before there were verdicts state none.
_SINCE = frozenset({"verdict", "choice"})
_PLACES_FOR_CODE = ("shipped", "installed")


class VerifiedBundle(msgspec.Struct, frozen=True):
    """A verified bundle: the run's name, the number of files, their size, and the number of vendors scored again.

    ``notes`` are differences with harmless causes, a sentence each.
    """

    run: str
    files: int
    size_bytes: int
    vendors: int
    notes: tuple[str, ...] = ()


def verify_bundle(file: Path, *, max_bytes: int = MAX_BYTES) -> VerifiedBundle:
    """Check every hash, then score again and compare.

    Raises:
        DataError: no bundle, a damaged one, a hash or a score that is another; all that was found, at once.
    """
    with TemporaryDirectory(prefix="bundle-") as place:
        folder, digests, size = _unpack(file, Path(place), max_bytes)
        problems = list(_hash_problems(folder, digests))
        if problems:
            raise DataError([Problem(words, file) for words in problems])
        run, vendors, notes = _rescored(file, RunFolder(folder))
        return VerifiedBundle(run, len(digests), size, vendors, notes)


class _Bounded:
    """A stream with a limit on all its bytes and on each read, because a small archive can unpack to any size."""

    def __init__(self, source: gzip.GzipFile, most: int) -> None:
        self._source, self._most = source, most

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= _MAX_READ or self._source.tell() + size > self._most + _PIECE:
            raise tarfile.ReadError("it unpacks to more than is allowed")
        return self._source.read(size)

    def seek(self, offset: int, whence: int = 0) -> int:
        if whence != 0 or offset > self._most + _PIECE:
            raise tarfile.ReadError("it unpacks to more than is allowed")
        return self._source.seek(offset)

    def tell(self) -> int:
        return self._source.tell()


def _unpack(file: Path, place: Path, max_bytes: int) -> tuple[Path, dict[str, str], int]:
    """The top folder, the digest of each file by name, and the bytes in all."""
    digests: dict[str, str] = {}
    tops: set[str] = set()
    size = 0
    try:
        with (
            gzip.open(file, "rb") as packed,
            tarfile.open(fileobj=_Bounded(packed, max_bytes), mode="r:") as archive,  # type: ignore[call-overload]
        ):
            for member in archive:
                found = split_member(member.name)
                size += member.size
                is_plain = member.type in (tarfile.REGTYPE, tarfile.AREGTYPE) and not member.issparse()
                if found is None or not is_plain or found[1] in digests:
                    raise _refused(file, f"member {member.name!r} has no place in a bundle")
                tops.add(found[0])
                if len(tops) > 1 or len(digests) >= MAX_FILES or size > max_bytes:
                    raise _refused(file, "more folders, files or bytes than a bundle may have")
                source = archive.extractfile(member)
                assert source is not None
                digests[found[1]] = _save(source, place / "run" / found[1])
    except (tarfile.TarError, EOFError, zlib.error, OSError) as error:
        raise _refused(file, f"cannot be read as a bundle: {error}") from None
    return place / "run", digests, size


def _save(source: Any, target: Path) -> str:
    target.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    with target.open("xb") as out:
        while piece := source.read(_PIECE):
            digest.update(piece)
            out.write(piece)
    return digest.hexdigest()


def _hash_problems(folder: Path, digests: Mapping[str, str]) -> Iterator[str]:
    for name in (HASHES, MANIFEST, RECORDS, SCORES):
        if not _holds(digests, name):
            yield f"holds no {name}"
    if HASHES not in digests:
        return
    stated: dict[str, str] = {}
    for line in (folder / HASHES).read_text(encoding="utf-8", errors="replace").splitlines():
        found = _LINE.fullmatch(line)
        if found is None:
            yield f"{HASHES}: a line is no hash and name"
            return
        stated[found[2]] = found[1]
    own = {name: digest for name, digest in digests.items() if name != HASHES}
    yield from (f"{name} is missing" for name in stated if name not in own)
    yield from (f"{name} has no hash" for name in own if name not in stated)
    yield from (
        f"{name} is not what was bundled: its SHA-256 differs"
        for name in own
        if stated.get(name, own[name]) != own[name]
    )


def _rescored(file: Path, folder: RunFolder) -> tuple[str, int, tuple[str, ...]]:
    """The run's name, the number of vendors with the same scores again, and the differences from another price list."""
    try:
        stated = parse_json(shown_labels((folder.path / SCORES).read_text(encoding="utf-8")))
        manifest = _without_paths(folder.read_manifest())
        folder.write_manifest(manifest)
        report = score_folder(folder)
    except (VerifierError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise _refused(file, f"cannot be scored: {error}") from None
    now = scores_json.scores(report)
    before = {key: stated.get(key) for key in _COMPARED} if isinstance(stated, dict) else {}
    found = list(_differences("", before, {key: now[key] for key in _COMPARED}))
    by_price = [each for each in found if _MONEY.search(each[0])] if _keeps_no_prices(manifest) else []
    different = [each for each in found if each not in by_price]
    rows = folder.path / FAILED
    others = rows.exists() and rows.read_text(encoding="utf-8") != failed_samples.render(report)
    if different or others:
        words = [
            f"scores.json{pointer} is {old!r}, scored again {new!r}" for pointer, old, new in different[:_MOST_SHOWN]
        ]
        words += [f"{FAILED} names other answers than fail here"] if others else []
        words += [f"… {len(different)} differences in all"] if len(different) > _MOST_SHOWN else []
        known = stated.get("warnings", ()) if isinstance(stated, dict) else ()
        words += [f"here: {warning}" for warning in now["warnings"] if warning not in known]
        words += _other_versions(manifest)
        raise DataError([Problem(each[:500], file) for each in words])
    notes = (f"{len(by_price)} figures of money differ: the run kept no list prices, and today's are others",)
    return report.run, sum(len(model.vendors) for model in report.models), notes if by_price else ()


def _keeps_no_prices(manifest: Manifest) -> bool:
    """Whether a list price had to be looked up anew: runs of earlier versions did not keep theirs."""
    return any(not entry.get("price") and STORED not in entry for entry in manifest.raw["entries"])


def _other_versions(manifest: Manifest) -> Iterator[str]:
    """One sentence for each package whose version here differs from the one that made the bundle."""
    made = {"agent-vendor-verifier": manifest.tool and manifest.tool.version, **(manifest.packages or {})}
    here = {"agent-vendor-verifier": __version__, **package_versions()}
    for name, version in made.items():
        if name in here and version and version != here[name]:
            yield f"made with {name} {version}, here is {here[name]}"


def _without_paths(manifest: Manifest) -> Manifest:
    """The manifest without folders to look for an evaluation's code in: a stranger's manifest must not choose them."""
    tasks = [dict(task) for task in manifest.raw["tasks"]]
    for task in tasks:
        options = task["options"]
        if options.get("data", "installed") not in _PLACES_FOR_CODE:
            task["options"] = {key: value for key, value in options.items() if key != "data"}
    return manifest.changed(tasks=tasks)


def _differences(pointer: str, old: Any, new: Any) -> Iterator[tuple[str, Any, Any]]:
    """(JSON pointer, stated, scored again) wherever they differ; what only the stated document has is not held."""
    if isinstance(new, dict) and isinstance(old, dict):
        for key, value in new.items():
            if key in _SINCE and key not in old:
                continue
            yield from _differences(f"{pointer}/{key}", old.get(key), value)
    elif isinstance(new, list) and isinstance(old, list) and len(new) == len(old):
        for position, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from _differences(f"{pointer}/{position}", one, other)
    elif not _same(old, new):
        yield pointer, old, new


def _same(old: Any, new: Any) -> bool:
    """Whether two values are equal, up to the last digits of floats, which may differ on another machine."""
    if isinstance(old, float | int) and isinstance(new, float | int) and isinstance(old, bool) == isinstance(new, bool):
        return math.isclose(old, new, rel_tol=1e-9, abs_tol=1e-12)
    return bool(old == new)


def _refused(file: Path, words: str) -> DataError:
    return DataError([Problem(words, file)])


def bundle_command(
    run: Annotated[Path | None, Parameter(help="A run folder.")] = None,
    /,
    *,
    output: Annotated[
        Path | None, option("Write this archive. [default: <run>.tar.gz]", OUTPUT, "--output", "-o")
    ] = None,
    verify: Annotated[Path | None, option("Check this archive instead, and score it again.", OUTPUT)] = None,
) -> int:
    """Pack records, samples, manifest and reports of a run with their SHA-256 hashes, or verify such an archive.

    Unpacked, it is a run folder for score, report and explain. Exit codes: 0 done or verified, 2 not what it says.
    """
    if (run is None) == (verify is None):
        raise ProblemsError([Problem("name a run folder, or an archive with --verify", key="bundle")])
    if run is not None:
        sys.stdout.write(f"{make_bundle(RunFolder(run_named(run)), output)}\n")
        return EXIT_OK
    assert verify is not None
    found = verify_bundle(verify)
    words = f"{found.run}: {counted(found.files, 'file')}, {found.size_bytes:,} bytes, every hash right"
    sys.stdout.write(plain(f"{words}; {counted(found.vendors, 'vendor')} scored again to the same numbers") + "\n")
    sys.stdout.write("".join(f"note: {plain(note)}\n" for note in found.notes))
    return EXIT_OK
