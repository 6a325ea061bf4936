"""A file of chat-completions requests, one a line → samples with identities; it opens no file and judges no schema."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from vendor_verifier.errors import Problem
from vendor_verifier.loaders.base import LoadedSamples, data_error
from vendor_verifier.loaders.json_lines import Row, read_rows
from vendor_verifier.loaders.request_row import Question, UnusableRequest, read_question
from vendor_verifier.values.sample import Sample, Source, sample_id

_MAX_DEFECTS = 50


def read_samples(lines: Iterable[bytes], *, dataset: str, file: Path, skip_bad: bool = False) -> LoadedSamples:
    """Read samples.

    Args:
        lines: physical lines of the file, from the first.
        dataset: the name samples carry as their source.
        file: what error messages call the file.
        skip_bad: leave unusable lines out and list them in ``skipped``, instead of refusing the file.

    Raises:
        DataError: unusable lines (all of them, the first in full), or no usable line at all.
    """
    samples: list[Sample] = []
    problems: list[Problem] = []
    defects: list[str] = []
    lines_of: dict[str, list[int]] = {}
    for row in read_rows(lines, file):
        question = row if isinstance(row, Problem) else _question(row, file)
        if isinstance(question, Problem):
            problems.append(question)
            continue
        assert isinstance(row, Row)
        samples.append(_sample(question, row, dataset, lines_of))
        defects += _row_defects(question, row)
    if problems and not skip_bad:
        raise data_error(problems)
    if not samples:
        nothing = Problem("no usable sample: expected one chat-completions request a line", file)
        raise data_error([nothing, *problems])
    return LoadedSamples(tuple(samples), tuple(problems), (*_capped(defects), *_repetitions(lines_of)))


def _question(row: Row, file: Path) -> Question | Problem:
    try:
        return read_question(row.fields)
    except UnusableRequest as reason:
        return Problem(str(reason), file, row.line, reason.key)


def _sample(question: Question, row: Row, dataset: str, lines_of: dict[str, list[int]]) -> Sample:
    first = sample_id(question.turn, 1)
    known = lines_of.setdefault(first, [])
    known.append(row.line)
    return Sample(
        id=first if len(known) == 1 else sample_id(question.turn, len(known)),
        turn=question.turn,
        expected=question.expected,
        tags=question.tags,
        source=Source(dataset, row.line),
    )


def _row_defects(question: Question, row: Row) -> list[str]:
    repeated = [f"key {key!r} occurs twice in one object; the last one counts" for key in row.repeated]
    return [f"line {row.line}: {defect}" for defect in (*question.defects, *repeated)]


def _capped(defects: Sequence[str]) -> list[str]:
    hidden = len(defects) - _MAX_DEFECTS
    return list(defects) if hidden <= 0 else [*defects[:_MAX_DEFECTS], f"and {hidden} more defects of tools and keys"]


def _repetitions(lines_of: Mapping[str, Sequence[int]]) -> list[str]:
    repeats = sorted(line for lines in lines_of.values() for line in lines[1:])
    if not repeats:
        return []
    shown = ", ".join(map(str, repeats[:20])) + (", …" if len(repeats) > 20 else "")
    count = "1 sample repeats" if len(repeats) == 1 else f"{len(repeats)} samples repeat"
    return [f"{count} an earlier one word for word; equal ones are told apart by number (line {shown})"]
