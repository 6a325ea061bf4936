"""Runs by other names than their folder's: the last one, to which ``runs/latest`` points, and the one of an id."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from vendor_verifier.errors import RunFolderError
from vendor_verifier.store import RunFolder
from vendor_verifier.text import listed

RUNS = Path("runs")


def latest_run(runs: Path) -> Path:
    """The run folder that was written last.

    Raises:
        RunFolderError: there is none.
    """
    folders = _folders(runs)
    if not folders:
        raise RunFolderError(f"there is no run under {runs}/; name a run folder, or make one with `run` or `demo`")
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
        return latest_run(RUNS)
    folder = path.parent if path.is_file() else path
    if (folder / "manifest.json").is_file():
        return folder
    for near in (each for place in (path.parent, RUNS, Path()) for each in _folders(place)):
        with suppress(RunFolderError):
            if RunFolder(near).read_manifest().run == path.name:
                return near
    runs = [str(each) for each in _folders(path) or _folders(RUNS)]
    there = f"runs are {listed(runs)}" if runs else "there is no run here"
    raise RunFolderError(f"{path} is not a run folder; {there}")


def _folders(runs: Path) -> list[Path]:
    found = (path.parent for path in sorted(runs.glob("*/manifest.json")))
    return [folder for folder in found if not folder.is_symlink()]
