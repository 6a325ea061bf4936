"""Runs by other names than their folder's: the last one, to which ``runs/latest`` points (a link, or where there are
none a file with its name), and the one of an id."""

from __future__ import annotations

import os
import re
import secrets
from contextlib import suppress
from pathlib import Path

from vendor_verifier.errors import RunFolderError
from vendor_verifier.store import RunFolder
from vendor_verifier.text import listed

RUNS = Path("runs")
_LATEST = "latest"
_RUN_ID = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]+")


def latest_run(runs: Path) -> Path:
    """The run folder that was started last.

    Raises:
        RunFolderError: there is none.
    """
    folders = [path.parent for path in _manifests(runs)]
    if not folders:
        raise RunFolderError(f"there is no run under {runs}/; name a run folder, or make one with `run` or `demo`")
    return max(folders, key=lambda path: path.stat().st_ctime)


def point_to(folder: Path) -> None:
    """Let ``latest`` next to ``folder`` point to it, in one step, so that two runs that end together leave one of them.

    A folder of that name, which somebody else made, is left alone.

    Raises:
        StorageError: neither a link nor a file can be written there.
    """
    link = folder.parent / _LATEST
    if link.is_dir() and not link.is_symlink():
        return
    draft = link.with_name(f".{_LATEST}.{os.getpid()}.{secrets.token_hex(3)}.draft")
    try:
        draft.symlink_to(folder.name, target_is_directory=True)
        draft.replace(link)
    except OSError:
        draft.unlink(missing_ok=True)
        RunFolder(link.parent).write(_LATEST, folder.name + "\n")


def pointed_to(runs: Path) -> Path:
    """The run folder that ``latest`` points to, or where that is gone the one that was started last.

    Raises:
        RunFolderError: there is no run.
    """
    link = runs / _LATEST
    with suppress(OSError, ValueError):
        name = link.readlink().name if link.is_symlink() else link.read_text(encoding="utf-8").strip()
        found = runs / Path(name).name
        if name and (found / "manifest.json").is_file():
            return found
    return latest_run(runs)


def run_named(path: Path | None = None) -> Path:
    """The run folder that a path names: the folder, a file in it, or a run's id; without a path the last run.

    Reports name a run by ``runs/`` and its id wherever it is, because they are mailed and moved with it.

    Raises:
        RunFolderError: there is none; the message names those that are there.
    """
    if path is None:
        return pointed_to(RUNS)
    folder = path.parent if path.is_file() else path
    if (folder / "manifest.json").is_file():
        return folder
    if _RUN_ID.fullmatch(path.name):
        beside = [each.parent for place in (path.parent, RUNS, Path()) for each in _manifests(place)]
        if (found := next((each for each in beside if _id_of(each) == path.name), None)) is not None:
            return found
    runs = [str(each.parent) for each in _manifests(path) or _manifests(RUNS)]
    there = f"runs are {listed(runs)}" if runs else "there is no run here"
    raise RunFolderError(f"{path} is not a run folder; {there}")


def _manifests(runs: Path) -> list[Path]:
    return [path for path in sorted(runs.glob("*/manifest.json")) if not path.parent.is_symlink()]


def _id_of(folder: Path) -> str | None:
    """The id of the run in a folder; None where its manifest cannot be read."""
    try:
        return RunFolder(folder).read_manifest().run
    except RunFolderError:
        return None
