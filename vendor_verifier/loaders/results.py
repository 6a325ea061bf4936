"""Result files of other verifiers → samples and records that score like our own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
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
from vendor_verifier.records.sample import Sample, Source
from vendor_verifier.suites import TRIGGER
from vendor_verifier.text import counted

Content = str
Place = tuple[Content, int | None, int]
"""(content digest, data_index or None, line in the result file)."""


class Occurrences:
    """Numbers occurrences. ``sample_lines``: content → lines in the test file, if there is one."""

    def __init__(self, places: Iterable[Place], sample_lines: Mapping[Content, Sequence[int]] | None = None) -> None:
        seen: dict[Content, set[int]] = {}
        for content, index, _ in places:
            if index is not None:
                seen.setdefault(content, set()).add(index)
        self._order = {content: sorted(indices) for content, indices in seen.items()}
        for content, lines in (sample_lines or {}).items():
            # Another count (from 0, or of a filtered file) only gives the order; the same count gives the line.
            if set(self._order.get(content, ())) <= set(lines):
                self._order[content] = sorted(lines)
        self._number = {
            (content, index): number
            for content, indices in self._order.items()
            for number, index in enumerate(indices, 1)
        }

    def of_file(self, places: Sequence[Place]) -> list[int]:
        """The occurrence number of each place of one file; rows without an index count in the order they stand."""
        unnumbered: dict[Content, int] = {}
        numbers: list[int] = []
        for content, index, _ in places:
            if index is None:
                number = unnumbered[content] = unnumbered.get(content, 0) + 1
            else:
                number = self._number[content, index]
            numbers.append(number)
        return numbers


_Key = tuple[str, int]
_Run = tuple[str, int]
"""(label, repetition): one file of results."""


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

    Rows join by content and occurrence, never by position; of two rows of one file for the same sample the success
    counts, else the first. Planned is what ``samples`` hold, or the union of what the files asked.

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
    placed = _placed(rows, samples)
    planned = _known(samples) if samples is not None else _union(placed.values())
    records: list[Record] = []
    for each in runs:
        made, remarks = _records(placed[each], planned, model=model, source=each, run=run, file=named[each])
        records += made
        warnings += remarks
    entries = tuple(
        _entry([row for number in range(len(every)) for row in rows[label, number]], model, label, len(every), baseline)
        for label, every in files.items()
    )
    warnings.append("Imported times include retries that the other tool hid; its streams have no token times.")
    return Imported(tuple(planned.values()), tuple(records), entries, tuple(warnings))


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


def _placed(
    rows: Mapping[_Run, Sequence[ResultRow]], samples: LoadedSamples | None
) -> dict[_Run, list[tuple[_Key, ResultRow]]]:
    """Every row with the (content, occurrence) it answers, file by file."""
    places: dict[_Run, list[Place]] = {
        run: [(row.digest, row.index, row.line) for row in of_run] for run, of_run in rows.items()
    }
    numbering = Occurrences((place for of_run in places.values() for place in of_run), _sample_lines(samples))
    return {
        run: [((row.digest, number), row) for row, number in zip(of_run, numbering.of_file(places[run]), strict=True)]
        for run, of_run in rows.items()
    }


def _sample_lines(samples: LoadedSamples | None) -> dict[str, list[int]]:
    lines: dict[str, list[int]] = {}
    for sample in samples.samples if samples is not None else ():
        if sample.source is not None:
            lines.setdefault(sample.id.rpartition("-")[0], []).append(sample.source.line)
    return lines


def _key_of(sample: Sample) -> _Key:
    content, _, number = sample.id.rpartition("-")
    return content, int(number)


def _known(samples: LoadedSamples) -> dict[_Key, Sample]:
    return {_key_of(sample): sample for sample in samples.samples}


def _union(files: Iterable[Sequence[tuple[_Key, ResultRow]]]) -> dict[_Key, Sample]:
    """Everything that any file asked, in the order of the lines it came from."""
    asked: dict[_Key, ResultRow] = {}
    for placed in files:
        for key, row in placed:
            asked.setdefault(key, row)
    in_order = sorted(asked, key=lambda key: (_place(asked[key]), key))
    return {key: _sample(key, asked[key]) for key in in_order}


def _sample(key: _Key, row: ResultRow) -> Sample:
    source = Source("imported results", _place(row))
    return Sample(f"{key[0]}-{key[1]}", row.turn, expected_in(row.tags), row.tags, source)


def _place(row: ResultRow) -> int:
    """The line of its sample in the test file, where any file states it."""
    return row.line if row.index is None else row.index


def _records(
    placed: Sequence[tuple[_Key, ResultRow]],
    planned: Mapping[_Key, Sample],
    *,
    model: str,
    source: _Run,
    run: str,
    file: Path,
) -> tuple[list[Record], list[str]]:
    label, repetition = source
    kept: dict[_Key, Record] = {}
    unplanned: list[int] = []
    repeated = 0
    for key, row in placed:
        sample = planned.get(key)
        if sample is None:
            unplanned.append(row.line)
            continue
        turns = (TurnRecord((row.attempt,)),)
        record = Record(run, model, label, label, TRIGGER, sample.id, repetition, turns)
        repeated += key in kept
        if key not in kept or supersedes(record, kept[key]):
            kept[key] = record
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
    return [kept[key] for key in planned if key in kept], remarks


def _entry(rows: Sequence[ResultRow], model: str, label: str, runs: int, baseline: str | None) -> EntryInfo:
    model_ids = Counter(row.model_id for row in rows if row.model_id)
    providers = Counter(row.provider for row in rows if row.provider)
    return EntryInfo(
        model=model,
        label=label,
        vendor=label,
        model_id=model_ids.most_common(1)[0][0] if model_ids else model,
        provider=providers.most_common(1)[0][0] if providers else None,
        is_baseline=label == baseline,
        repeat=runs if runs > 1 else None,
    )


def _different_files(rows: Mapping[_Run, Sequence[ResultRow]]) -> list[str]:
    """Warnings about files that seem to come from different samples or settings."""
    warnings: list[str] = []
    content_of: dict[int, str] = {}
    conflicts: dict[int, None] = {}
    for (label, _), of_label in rows.items():
        for row in of_label:
            if row.index is not None and content_of.setdefault(row.index, row.digest) != row.digest:
                conflicts[row.index] = None
        model_ids = sorted({row.model_id for row in of_label if row.model_id})
        if len(model_ids) > 1:
            warnings.append(
                f"{label}: asked for several models: {', '.join(shortened(name) for name in model_ids[:5])}"
            )
    if conflicts:
        warnings.append(
            f"{len(conflicts)} values of data_index stand for different questions (first: {min(conflicts)}); "
            "the files were made from different samples and join only where the questions agree"
        )
    return warnings
