"""A stored run as pandas DataFrames, each made when it is first asked for; nothing is sent or written."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import chain, islice
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from vendor_verifier.errors import UsageError
from vendor_verifier.features.data.columns import FRAMES
from vendor_verifier.features.data.frame import frame_of
from vendor_verifier.features.data.rows import (
    AttemptRow,
    CallRow,
    FindingRow,
    RankingRow,
    RecordRow,
    SampleRow,
    VerdictRow,
    chunks_of,
)
from vendor_verifier.pipeline.manifest import stored_manifest
from vendor_verifier.pipeline.score import score_folder
from vendor_verifier.pipeline.suites import ready_suite
from vendor_verifier.records.manifest import Manifest
from vendor_verifier.records.record import Record, supersedes
from vendor_verifier.records.sample import Sample, Samples, sample_in
from vendor_verifier.records.score import Report
from vendor_verifier.reports.notebook import report_html
from vendor_verifier.scoring.observation import observe
from vendor_verifier.scoring.row_keys import RowKeys
from vendor_verifier.store import RunFolder
from vendor_verifier.suites import Suite, suite_kind
from vendor_verifier.suites.judging import judged, judged_calls
from vendor_verifier.suites.trigger import KeptCheckers

if TYPE_CHECKING:
    from pandas import DataFrame

ROWS = 50_000


class _Outcome(msgspec.Struct, frozen=True):
    """All of a record that decides whether another one replaces it."""

    succeeded: bool


# By what is kept of a record: 0 for one that does not count.
_OUTCOMES = (_Outcome(succeeded=False), _Outcome(succeeded=False), _Outcome(succeeded=True))


def load_run(run: str | PathLike[str]) -> RunData:
    """The stored run in a folder, whose frames are read when they are asked for.

    Raises:
        RunFolderError: not a readable run folder.
    """
    return RunData(Path(run))


class RunData:
    """The frames of a stored run (docs/data.md has their columns); each is read once and kept.

    A missing value is missing, never 0. Of records under one key the one that figures count is there.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._folder = RunFolder(path)
        self.manifest: Manifest = stored_manifest(self._folder)
        self._frames: dict[str, DataFrame] = {}

    def __repr__(self) -> str:
        return f"RunData({str(self.path)!r}: {', '.join(FRAMES)})"

    def _repr_html_(self) -> str:
        """The verdict and a small table, as a notebook shows them."""
        return report_html(self.report)

    @property
    def samples(self) -> DataFrame:
        """A row a sample."""
        return self._frame("samples")

    @property
    def records(self) -> DataFrame:
        """A row an answer that counts, with its score and every metric of single requests."""
        return self._frame("records")

    @property
    def attempts(self) -> DataFrame:
        """A row an HTTP request."""
        return self._frame("attempts")

    @property
    def calls(self) -> DataFrame:
        """A row a tool call, with the verdict on its arguments and the reason."""
        return self._frame("calls")

    @property
    def ranking(self) -> DataFrame:
        """A row a vendor of a model, best first."""
        return self._frame("ranking")

    @property
    def verdicts(self) -> DataFrame:
        """A row a vendor of a model: the verdict, its reason, and that of each facet."""
        return self._frame("verdicts")

    @property
    def findings(self) -> DataFrame:
        """A row a finding about a vendor."""
        return self._frame("findings")

    @property
    def chunks(self) -> DataFrame:
        """A row a piece of a streamed answer."""
        return self._frame("chunks")

    @cached_property
    def report(self) -> Report:
        """The run scored as its manifest says."""
        return score_folder(self._folder)

    def in_parts(self, name: str, rows: int = ROWS) -> Iterator[DataFrame]:
        """The frame of that name in parts of at most ``rows`` rows, none of which is kept; at least one.

        Raises:
            UsageError: there is no such frame, or ``rows`` is below 1.
        """
        if name not in FRAMES or rows < 1:
            raise UsageError(
                f"read {name!r} in parts of {rows}; expected one of {', '.join(FRAMES)}, and 1 row or more"
            )
        left = iter(self._rows(name))
        first = list(islice(left, 1))
        while True:
            # A record is let go as soon as its row is read.
            yield frame_of(FRAMES[name], chain(first, islice(left, rows - 1)))
            if not (first := list(islice(left, 1))):
                return

    def _frame(self, name: str) -> DataFrame:
        if name not in self._frames:
            self._frames[name] = frame_of(FRAMES[name], self._rows(name))
        return self._frames[name]

    def _rows(self, name: str) -> Iterable[Any]:
        readers: Mapping[str, Callable[[], Iterable[Any]]] = {
            "samples": self._sample_rows,
            "records": self._record_rows,
            "attempts": self._attempt_rows,
            "calls": self._call_rows,
            "ranking": self._ranking_rows,
            "verdicts": self._verdict_rows,
            "findings": self._finding_rows,
            "chunks": lambda: (chunk for row in self._attempt_rows() for chunk in chunks_of(row)),
        }
        return readers[name]()

    @cached_property
    def _samples(self) -> Mapping[str, Samples]:
        return {task.suite: self._folder.read_samples(task.suite) for task in self.manifest.tasks}

    @cached_property
    def _suites(self) -> Mapping[str, Suite]:
        return {
            task.suite: ready_suite(task.suite, task.options, self._samples[task.suite], self._folder)
            for task in self.manifest.tasks
        }

    @cached_property
    def _counted(self) -> bytearray:
        """Of every readable line of the files of records, whether figures count its record: a byte each, 0 for no."""
        entries = {entry.key for entry in self.manifest.entries}
        kept: dict[tuple[str, str, str], tuple[RowKeys, array[int]]] = {}
        found = bytearray()
        for place, record in enumerate(self._lines()):
            found.append(0)
            if (record.model, record.label) not in entries:
                continue
            keys, places = kept.setdefault((record.run, record.model, record.label), (RowKeys(), array("q")))
            row = keys.add((record.suite, record.sample, record.repetition))
            if row == len(places):
                places.append(place)
            elif supersedes(record, _OUTCOMES[found[places[row]]]):
                found[places[row]], places[row] = 0, place
            else:
                continue
            found[place] = 1 + record.succeeded
        return found

    def _lines(self) -> Iterable[Record]:
        return self._folder.read_records(lambda _line, _reason: None)

    def _records(self) -> Iterator[tuple[Record, Sample]]:
        """The records that count, each with its sample."""
        # A run that goes on may have more lines by now.
        for counts, record in zip(self._counted, self._lines(), strict=False):
            sample = sample_in(self._samples, record.suite, record.sample) if counts else None
            if sample is not None:
                yield record, sample

    def _sample_rows(self) -> Iterator[SampleRow]:
        return (SampleRow(suite, sample) for suite, samples in self._samples.items() for sample in samples)

    def _record_rows(self) -> Iterator[RecordRow]:
        checkers = KeptCheckers()
        for record, sample in self._records():
            score = judged(record, self._suites[record.suite], sample, checkers)
            yield RecordRow(record, sample, score, observe(record, score, sample))

    def _attempt_rows(self) -> Iterator[AttemptRow]:
        for record, _ in self._records():
            for number, turn in enumerate(record.turns):
                yield from (AttemptRow(record, number, attempt) for attempt in turn.attempts)

    def _call_rows(self) -> Iterator[CallRow]:
        checkers = KeptCheckers()
        for record, sample in self._records():
            kind = suite_kind(record.suite)
            if kind is not None and kind.apart:
                continue
            if record.score is not None:
                for position, verdict in enumerate(record.score.calls):
                    yield CallRow(record, None, position, None, verdict)
                continue
            found = judged_calls(record, self._suites[record.suite], sample, checkers)
            for position, each in enumerate(found):
                yield CallRow(record, each.turn, position, each.call, each.verdict)

    def _ranking_rows(self) -> Iterator[RankingRow]:
        for model in self.report.models:
            advice = self.report.advice.get(model.model)
            for place, vendor in enumerate(model.vendors, 1):
                yield RankingRow(model, place, vendor, None if advice is None else advice.vendors.get(vendor.label))

    def _verdict_rows(self) -> Iterator[VerdictRow]:
        for model, advice in self.report.advice.items():
            yield from (VerdictRow(model, verdict) for verdict in advice.vendors.values())

    def _finding_rows(self) -> Iterator[FindingRow]:
        for model, verdict in self.report.verdicts.items():
            yield from (FindingRow(model, finding) for finding in verdict.findings)
