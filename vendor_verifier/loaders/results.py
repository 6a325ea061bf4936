"""Result files of other verifiers → samples and records that score like our own."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path

import msgspec
from msgspec import structs

from vendor_verifier.errors import DataError, Problem
from vendor_verifier.loaders.base import LoadedSamples, UnusableRequest, data_error, read_rows, shortened
from vendor_verifier.loaders.building import expected_in
from vendor_verifier.loaders.result_rows import ResultRow, read_result
from vendor_verifier.records.manifest import EntryInfo
from vendor_verifier.records.record import Record, TurnRecord, supersedes
from vendor_verifier.records.request import Turn
from vendor_verifier.records.sample import Sample, Source, numbered
from vendor_verifier.suites import TRIGGER
from vendor_verifier.text import counted

_Run = tuple[str, int]
"""(label, repetition): one file of results."""
_Answers = list[tuple[str, ResultRow]]
"""The rows of one file, each with the id of the sample that it answers."""


class Imported(msgspec.Struct, frozen=True):
    """A run made of other people's files. ``samples`` are all that should have been asked of everybody."""

    samples: tuple[Sample, ...]
    records: tuple[Record, ...]
    entries: tuple[EntryInfo, ...]
    warnings: tuple[str, ...]


def import_results(
    files: Mapping[str, Sequence[Iterable[bytes]]],
    *,
    model: str,
    baseline: str | None,
    run: str,
    samples: LoadedSamples | None = None,
    paths: Mapping[str, Sequence[Path]] | None = None,
    skip_bad: bool = False,
) -> Imported:
    """Join result files into one run.

    Rows join by content and its how-manieth asking, never by position; of two rows of one file for the same sample the
    success counts, else the first. Planned is what ``samples`` hold, or the union of what the files asked.

    Args:
        files: label → for each run of it the physical lines of its result file; the n-th run is repetition n.
        model: the unified model name under which the labels compete.
        baseline: one of the labels, or None.
        run: the run's name in every record.
        samples: the test file the results were made from, if at hand.
        paths: label → what messages call its files; the label itself by default.
        skip_bad: turn unusable rows into warnings.

    Raises:
        DataError: unusable rows (all of them, over all files), an unknown baseline, a file without rows, or one that
            shares no question with ``samples``.
    """
    if baseline is not None and baseline not in files:
        raise DataError([Problem(f"the baseline {baseline!r} is none of the files: {', '.join(files)}")])
    runs = {(label, number): lines for label, every in files.items() for number, lines in enumerate(every)}
    named = {(label, number): paths[label][number] if paths else Path(label) for label, number in runs}
    # The baseline goes first: where files word a question with other parameters, its wording is kept.
    first = sorted(runs, key=lambda run: run[0] != baseline)
    rows, problems = _read_files({run: runs[run] for run in first}, named)
    if problems and not skip_bad:
        raise data_error(problems)
    empty = [Problem("no usable row of results in this file", named[each]) for each in runs if not rows[each]]
    if empty:
        raise data_error([*empty, *problems])
    warnings = [f"left out: {problem}" for problem in problems] + _different_files(rows)
    order = _lines_by_content(rows, samples)
    answers = {each: _answers(of_run, order) for each, of_run in rows.items()}
    planned = {sample.id: sample for sample in samples.samples} if samples else _union(answers.values())
    records: list[Record] = []
    for each in runs:
        made, remarks = _records(answers[each], planned, model=model, source=each, run=run, file=named[each])
        records += made
        warnings += remarks
    entries = [_entry([rows[run] for run in runs if run[0] == label], model, label, baseline) for label in files]
    warnings.append("Imported times include retries that the other tool hid; its streams have no token times.")
    return Imported(tuple(planned.values()), tuple(records), tuple(entries), tuple(warnings))


def _read_files(
    files: Mapping[_Run, Iterable[bytes]], named: Mapping[_Run, Path]
) -> tuple[dict[_Run, list[ResultRow]], list[Problem]]:
    rows: dict[_Run, list[ResultRow]] = {}
    problems: list[Problem] = []
    turns: dict[str, Turn] = {}
    for run, lines in files.items():
        kept = rows[run] = []
        for row in read_rows(lines, named[run]):
            if isinstance(row, Problem):
                problems.append(row)
                continue
            try:
                result = read_result(row.fields, row.line)
            except UnusableRequest as reason:
                problems.append(Problem(str(reason), named[run], row.line, reason.key))
            else:
                # One copy of a question, however many rows answer it: prompts are most of a file.
                kept.append(structs.replace(result, turn=turns.setdefault(result.digest, result.turn)))
    return rows, problems


def _lines_by_content(rows: Mapping[_Run, Sequence[ResultRow]], samples: LoadedSamples | None) -> dict[str, list[int]]:
    """By content the lines of the test file that ask it, as far as files state them, in order."""
    stated: dict[str, set[int]] = {}
    for row in chain.from_iterable(rows.values()):
        if row.index is not None:
            stated.setdefault(row.digest, set()).add(row.index)
    lines: dict[str, set[int]] = {}
    for sample in samples.samples if samples else ():
        if sample.source is not None:
            lines.setdefault(sample.id.rpartition("-")[0], set()).add(sample.source.line)
    # Another count (from 0, or of a filtered file) only gives the order; the same count gives the line.
    lines = {content: known for content, known in lines.items() if stated.get(content, set()) <= known}
    return {content: sorted(found) for content, found in {**stated, **lines}.items()}


def _answers(rows: Sequence[ResultRow], order: Mapping[str, Sequence[int]]) -> _Answers:
    """Rows without an index count in the order they stand."""
    unnumbered: Counter[str] = Counter()
    found: _Answers = []
    for row in rows:
        if row.index is None:
            unnumbered[row.digest] += 1
            number = unnumbered[row.digest]
        else:
            number = bisect_left(order[row.digest], row.index) + 1
        found.append((numbered(row.digest, number), row))
    return found


def _union(files: Iterable[_Answers]) -> dict[str, Sample]:
    """Everything that any file asked, in the order of the lines it came from."""
    asked: dict[str, ResultRow] = {}
    for sample_id, row in chain.from_iterable(files):
        asked.setdefault(sample_id, row)
    made = [
        Sample(sample_id, row.turn, expected_in(row.tags), row.tags, Source("imported results", _line(row)))
        for sample_id, row in sorted(asked.items(), key=lambda one: (_line(one[1]), one[0]))
    ]
    return {sample.id: sample for sample in made}


def _line(row: ResultRow) -> int:
    """The line of its sample in the test file, where the row states it."""
    return row.line if row.index is None else row.index


def _records(
    answers: _Answers,
    planned: Mapping[str, Sample],
    *,
    model: str,
    source: _Run,
    run: str,
    file: Path,
) -> tuple[list[Record], list[str]]:
    label, repetition = source
    kept: dict[str, Record] = {}
    unplanned: list[int] = []
    repeated = 0
    for sample_id, row in answers:
        if sample_id not in planned:
            unplanned.append(row.line)
            continue
        record = Record(run, model, label, label, TRIGGER, sample_id, repetition, (TurnRecord((row.attempt,)),))
        repeated += sample_id in kept
        if sample_id not in kept or supersedes(record, kept[sample_id]):
            kept[sample_id] = record
    if not kept:
        raise DataError([Problem("not one of its questions is in the test file; is it the file that was used?", file)])
    remarks = []
    if unplanned:
        remarks.append(
            f"{label}: {counted(len(unplanned), 'row')} left out, not in the test file (first: line {unplanned[0]})"
        )
    if repeated:
        remarks.append(
            f"{label}: {counted(repeated, 'row')} for a sample that already had one; a success counts, else the first"
        )
    return [kept[sample_id] for sample_id in planned if sample_id in kept], remarks


def _entry(rows: Sequence[Sequence[ResultRow]], model: str, label: str, baseline: str | None) -> EntryInfo:
    every = [row for of_run in rows for row in of_run]
    return EntryInfo(
        model=model,
        label=label,
        vendor=label,
        model_id=_most_common(row.model_id for row in every) or model,
        provider=_most_common(row.provider for row in every),
        is_baseline=label == baseline,
        repeat=len(rows) if len(rows) > 1 else None,
    )


def _most_common(names: Iterable[str | None]) -> str | None:
    counts = Counter(name for name in names if name)
    return counts.most_common(1)[0][0] if counts else None


def _different_files(rows: Mapping[_Run, Sequence[ResultRow]]) -> list[str]:
    """Warnings about files that seem to come from different samples or settings."""
    warnings: list[str] = []
    content_of: dict[int, str] = {}
    conflicts: set[int] = set()
    for (label, _), of_label in rows.items():
        for row in of_label:
            if row.index is not None and content_of.setdefault(row.index, row.digest) != row.digest:
                conflicts.add(row.index)
        model_ids = sorted({row.model_id for row in of_label if row.model_id})
        if len(model_ids) > 1:
            warnings.append(
                f"{label}: asked for several models: {', '.join(shortened(name) for name in model_ids[:5])}"
            )
    if conflicts:
        warnings.append(
            f"{len(conflicts)} values of data_index belong to different questions (first: {min(conflicts)}); "
            "the files were made from different samples and join only where the questions agree"
        )
    return warnings
