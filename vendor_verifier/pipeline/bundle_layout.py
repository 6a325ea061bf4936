"""Which files make up a bundle, and by which names; everything else of a run folder stays at home. It only lists."""

from __future__ import annotations

import re
from pathlib import Path

from vendor_verifier.pipeline.recounting import FILE as RECOUNT
from vendor_verifier.reports import REPORTS
from vendor_verifier.store import RunFolder

HASHES = "SHA256SUMS"
MANIFEST, RECORDS, SCORES = "manifest.json", "records.jsonl", "scores.json"
_EVIDENCE = (MANIFEST, RECORDS, RECOUNT, "records.jsonl.corrupt", "duplicates.jsonl")
_NAMED = frozenset({HASHES, *_EVIDENCE, *(form.file_name for form in REPORTS)})
_PAGES = "bfcl"
_TOP = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
# No separators of any system, no control characters, nothing hidden.
_PART = re.compile(r'[^./\\:*?"<>|\x00-\x1f\x7f][^/\\:*?"<>|\x00-\x1f\x7f]{0,199}')


def top_folder(run: object) -> str:
    """What the one folder of the archive is called."""
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
