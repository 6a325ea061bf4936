"""``results.json``: every answer of a run as its evaluation judges it, with the fields that the evaluation's page has.

Its rows are written to a temporary file while records are scored, so that a long run is never held as a whole.
"""

from __future__ import annotations

import json
import tempfile
from array import array
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import IO, Any

import msgspec

from vendor_verifier.records.record import Record
from vendor_verifier.records.sample import Sample
from vendor_verifier.records.score import Report, Score
from vendor_verifier.scoring.observation import Observation
from vendor_verifier.scoring.report_samples import first_failure
from vendor_verifier.scoring.row_keys import RowKeys
from vendor_verifier.store import RunFolder
from vendor_verifier.suites import suite_kind

NAME = "results.json"
_GROUPS = ("category", "difficulty", "call_type")


def results_file(output: Path | None) -> Path | None:
    """The file of results that ``-o`` names: one that ends in ``.json`` and is no folder; else None."""
    return output if output is not None and output.suffix == ".json" and not output.is_dir() else None


def run_folder(output: Path | None) -> Path | None:
    """The run folder that ``-o`` names, if it names one and no file of results."""
    return output if results_file(output) is None else None


class TaskResults(msgspec.Struct):
    """The rows of a run, taken one by one; of several records under one key the one that stands.

    Of each there is its place in the temporary file, in the order in which keys came, and by entry the number of each.
    They are written by row and vendor.
    """

    _file: IO[bytes] = msgspec.field(default_factory=tempfile.TemporaryFile)
    _begins: array[int] = msgspec.field(default_factory=lambda: array("q"))
    _lengths: array[int] = msgspec.field(default_factory=lambda: array("q"))
    _succeeded: bytearray = msgspec.field(default_factory=bytearray)
    _numbers: dict[tuple[str, str], tuple[RowKeys, array[int]]] = msgspec.field(default_factory=dict)
    # By suite and sample, the line of the data set.
    _lines: dict[tuple[str, str], int] = msgspec.field(default_factory=dict)

    @classmethod
    def wanted(cls, suites: Collection[str], *, always: bool = False) -> TaskResults | None:
        """An empty one where some evaluation gives every answer a score of its own, or where one is asked for."""
        kinds = [suite_kind(name) for name in suites]
        scored = any(kind is not None and kind.ranks_by is not None and not kind.apart for kind in kinds)
        return cls() if scored or always else None

    def take(self, record: Record, sample: Sample, score: Score, row: Observation) -> None:
        """Add one record of the plan."""
        keys, numbers = self._numbers.setdefault((record.model, record.label), (RowKeys(), array("q")))
        self._lines.setdefault((record.suite, record.sample), sample.source.line if sample.source else 0)
        place = keys.add(row.key)
        if place == len(numbers):
            numbers.append(len(self._begins))
            self._begins.append(0)
            self._lengths.append(0)
            self._succeeded.append(False)
        elif self._succeeded[numbers[place]] or not record.succeeded:
            return
        number, line = numbers[place], json.dumps(_row(record, sample, score), default=str).encode()
        self._begins[number], self._succeeded[number] = self._file.seek(0, 2), record.succeeded
        self._lengths[number] = self._file.write(line)

    def write(self, folder: RunFolder, report: Report, also: Path | None = None) -> None:
        """Write the file into the folder, and the same to another file if one is named; nothing is taken any more.

        Raises:
            StorageError: the disk refused.
        """
        with self._file:
            folder.write_pieces(NAME, self._pieces(report))
            if also is not None:
                other = RunFolder(also.absolute().parent)
                other.create()
                other.write_pieces(also.name, self._pieces(report))

    def _pieces(self, report: Report) -> Iterator[bytes]:
        head = {"run": report.run, "complete": report.complete, "summary": _summary(report)}
        yield json.dumps(head, indent=1).encode().removesuffix(b"\n}") + b',\n "tasks": ['
        for at, number in enumerate(self._in_order()):
            self._file.seek(self._begins[number])
            yield (b",\n  " if at else b"\n  ") + self._file.read(self._lengths[number])
        yield b"\n ]\n}\n"

    def _in_order(self) -> list[int]:
        """The numbers of the rows by suite, line of the data set, repetition and vendor."""
        found = sorted(
            (suite, self._lines[suite, sample], sample, repetition, entry, number)
            for entry, (keys, numbers) in self._numbers.items()
            for (suite, sample, repetition), number in zip(keys, numbers, strict=True)
        )
        return [number for *_, number in found]


def _row(record: Record, sample: Sample, score: Score) -> dict[str, Any]:
    failure = first_failure(record)
    own = sample.tags.get("id")
    return {
        "task_id": record.sample if own is None else str(own),
        "sample": record.sample,
        "repetition": record.repetition,
        "model": record.model,
        "vendor": record.label,
        "suite": record.suite,
        **{name: sample.tags[name] for name in _GROUPS if isinstance(sample.tags.get(name), str)},
        "succeeded": record.succeeded,
        **({} if failure is None else {"failure": failure.kind}),
        "decision": score.decision,
        **({"calls": [[call.tool, call.verdict] for call in score.calls]} if score.calls else {}),
        **score.values,
        **score.details,
    }


def _summary(report: Report) -> list[dict[str, Any]]:
    return [
        {
            "model": model.model,
            "vendor": vendor.label,
            "suite": suite,
            "tasks": score.planned,
            "judged": score.judged,
            **score.values,
            "groups": score.groups,
        }
        for model in report.models
        for vendor in model.vendors
        for suite, score in vendor.suites.items()
    ]
