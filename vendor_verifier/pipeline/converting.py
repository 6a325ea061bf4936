"""Turns a data set of any known format into our own evaluation rows; it fetches nothing and asks nobody."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from vendor_verifier.errors import Problem, StorageError, UsageError
from vendor_verifier.loaders.base import Keep, LoadedSamples
from vendor_verifier.loaders.json_array import MAX_ARRAY_BYTES
from vendor_verifier.loaders.recognise import loader_named, read_dataset_file
from vendor_verifier.loaders.tool_calls_jsonl import row_of
from vendor_verifier.sample_files import open_lines


@dataclass(frozen=True, slots=True)
class Converted:
    """What became of a file. ``format`` is what it was read as; ``skipped`` and ``defects`` are as the loader found
    them."""

    format: str
    rows: int
    skipped: tuple[Problem, ...]
    defects: tuple[str, ...]


def load_dataset(
    path: Path, *, format: str | None = None, skip_bad: bool = False, keep: Keep | None = None
) -> LoadedSamples:
    """Read a data set from disk, plain or gzip, JSON lines or one JSON array. ``keep`` takes its samples, if given.

    Raises:
        UsageError: there is no such format.
        DataError: missing, unreadable, or not usable as a data set.
    """
    if format is not None:
        loader_named(format)
    # An array may well stand on one line; the reader of JSON lines has its own, smaller limit.
    lines = open_lines(path, max_line=MAX_ARRAY_BYTES)
    return read_dataset_file(lines, dataset=path.name, file=path, format=format, skip_bad=skip_bad, keep=keep)


def convert_file(
    source: Path, target: Path, *, format: str | None = None, skip_bad: bool = False, force: bool = False
) -> Converted:
    """Read ``source`` and write its samples to ``target``, one row a line. The target appears whole or not at all.

    Raises:
        UsageError: the target exists and ``force`` is not given, it is the source, or there is no such format.
        DataError: the source cannot be used.
        StorageError: the target cannot be written.
    """
    if target.exists() and source.exists() and target.samefile(source):
        raise UsageError(f"{target} is the file to convert; name another one to write")
    if target.exists() and not force:
        raise UsageError(f"{target} exists; name another file, or give --force to replace it")
    loaded = load_dataset(source, format=format, skip_bad=skip_bad)
    unfinished = target.with_name(target.name + ".part")
    try:
        with unfinished.open("w", encoding="utf-8", newline="\n") as file:
            for sample in loaded.samples:
                file.write(json.dumps(row_of(sample), ensure_ascii=False, separators=(",", ":")) + "\n")
        unfinished.replace(target)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise StorageError(f"{target} cannot be written: {error.strerror or error}") from None
    return Converted(loaded.format or "", len(loaded.samples), loaded.skipped, loaded.defects)
