"""The loaders of data sets into samples, and the detection of a data set's format by its rows.

A new format is a module and a line in ``FILES``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from vendor_verifier.errors import Problem, UsageError
from vendor_verifier.loaders.base import (
    BOM,
    MAX_ARRAY_BYTES,
    LoadedSamples,
    Loader,
    Row,
    data_error,
    place_in,
    read_array,
    read_rows,
    shortened,
)
from vendor_verifier.loaders.building import build_samples

# Modules with ``FORMATS``, in the order in which those are tried on a file's first row.
FILES = ("tool_rows", "toolbench")
_AS_LINES = (
    "a Parquet file, which is not read; write it as JSON lines, for example: python -c "
    "\"import pandas; pandas.read_parquet('{file}').to_json('{target}', orient='records', lines=True)\""
)


@cache
def loaders() -> tuple[Loader, ...]:
    """Every loader, in that order; their modules, and what they check schemas with, are imported by the first call."""
    return tuple(loader for name in FILES for loader in resolve_name(f"vendor_verifier.loaders.{name}:FORMATS"))


def read_dataset_file(
    content: bytes | Iterable[bytes],
    *,
    dataset: str,
    file: Path,
    format: str | None = None,
    skip_bad: bool = False,
) -> LoadedSamples:
    """Read a data set of any format in :func:`loaders`, as JSON lines or one JSON array.

    ``content`` is the whole file or its physical lines, ``dataset`` the name that samples carry as their source,
    ``file`` what messages call it, ``format`` a loader's name (by default that of the first row that looks like one).
    With ``skip_bad`` unusable rows are left out and listed in ``skipped``.

    Raises:
        UsageError: there is no such format.
        DataError: no row looks like any format, unusable rows (all of them), or no usable row at all.
    """
    chosen = None if format is None else loader_named(format)
    lines = iter(content.splitlines(keepends=True) if isinstance(content, bytes) else content)
    rows, place = _rows(lines, file)
    passed: list[Row | Problem] = []
    while chosen is None:
        row = next(rows, None)
        if row is None:
            raise data_error(_of_no_format(passed, file, place))
        passed.append(row)
        chosen = recognise(row.fields) if isinstance(row, Row) else None
    wanted = f"format {chosen.name} ({chosen.row})"
    every = chain(passed, rows)
    return build_samples(
        every, chosen.read_row, dataset=dataset, file=file, wanted=wanted, skip_bad=skip_bad, place=place
    )


def loader_named(name: str) -> Loader:
    """The loader of that name; UsageError when there is none."""
    known = {loader.name: loader for loader in loaders()}
    if name not in known:
        raise UsageError(f"there is no data-set format {name!r}; expected one of {', '.join(known)}")
    return known[name]


def recognise(row: Mapping[str, Any]) -> Loader | None:
    """The format one row has, or None."""
    return next((loader for loader in loaders() if loader.recognises(row)), None)


def _rows(lines: Iterator[bytes], file: Path) -> tuple[Iterator[Row | Problem], str]:
    """The rows, and whether they are numbered as lines or as rows of an array."""
    head: list[bytes] = []
    text = b""
    while not text and (line := next(lines, b"")):
        head.append(line)
        text = line.removeprefix(BOM).strip()
    if text.startswith(b"PAR1"):
        raise data_error([Problem(_AS_LINES.format(file=file.name, target=f"{file.stem}.jsonl"), file)])
    # A line such as [] or [1] in the middle of JSON lines is the line reader's to refuse.
    if not text.startswith(b"["):
        return read_rows(chain(head, lines), file), "line"
    content = bytearray().join(head)
    for line in lines:
        content += line
        if len(content) > MAX_ARRAY_BYTES:
            message = f"a JSON array of more than {MAX_ARRAY_BYTES // 2**20} MB; write each object on a line"
            raise data_error([Problem(message, file)])
    return read_array(bytes(content), file), "row"


def _of_no_format(rows: Sequence[Row | Problem], file: Path, place: str) -> list[Problem]:
    """The problems of a file in which no row has a format; its first row is shown for all that are readable."""
    problems = [row for row in rows if isinstance(row, Problem)]
    for row in rows:
        if isinstance(row, Row):
            found = ", ".join(shortened(key, 30) for key in list(row.fields)[:8]) or "an empty object"
            known = "; ".join(f"{loader.name}: {loader.row}" for loader in loaders())
            words = f"the row is of no format known, read {found}; expected the keys of one of them ({known})"
            return [place_in(file, place, row.line, None, words), *problems]
    return problems or [Problem("the file is empty; expected one JSON object a line, or an array", file)]
