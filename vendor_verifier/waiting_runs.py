"""Runs that a history could not take, each a file in a folder beside it until it can. It knows no SQL.

The folder of ``history.sqlite`` is ``history.sqlite.waiting``. A file in it is newer than what the history holds of its
run, and goes when the history has it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import msgspec

from vendor_verifier.store import RunFolder
from vendor_verifier.values.trend import HistoryRun

_decode = msgspec.json.Decoder(HistoryRun).decode


def waiting_folder(history: Path) -> Path:
    """Where the runs wait that ``history`` has not."""
    return history.with_name(f"{history.name}.waiting")


def keep_waiting(history: Path, run: HistoryRun) -> None:
    """Write ``run`` beside ``history``, in place of an older judgement of it.

    Raises:
        StorageError: that cannot be written either.
    """
    folder = RunFolder(waiting_folder(history))
    folder.create()
    # A stranger's run may be called anything, so no name of a file is made of it.
    name = hashlib.sha256(run.run.encode(errors="surrogatepass")).hexdigest()[:32]
    folder.write(f"{name}.json", msgspec.json.encode(run))


def waiting_runs(history: Path) -> list[tuple[Path, HistoryRun]]:
    """Every run that waits, with its file; a file that cannot be read stays where it is and is none."""
    found = []
    for path in sorted(waiting_folder(history).glob("*.json")):
        # Another process may have brought it into the history just now.
        with suppress(OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            found.append((path, _decode(path.read_bytes())))
    return found


def waits_no_more(paths: Iterable[Path]) -> None:
    """Take away the files of runs that the history has now; what cannot be taken away is only added once more."""
    for path in paths:
        with suppress(OSError):
            path.unlink()
