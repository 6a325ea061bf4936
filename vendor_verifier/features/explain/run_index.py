"""An index of stored runs: where every answer's line lies and how the answer stands, so that a page can be browsed.

A line is decoded once to make the index and once more when somebody looks at it; between, only this is in memory.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, get_args

import msgspec

from vendor_verifier.features.explain.find_problems import Answers, expected_decisions, quiet_suite, reasons
from vendor_verifier.pipeline.manifest import stored_manifest
from vendor_verifier.record_files import line_at, lines_in
from vendor_verifier.records.manifest import Manifest
from vendor_verifier.records.record import Record, supersedes
from vendor_verifier.records.sample import Samples, sample_in
from vendor_verifier.scoring.observation import Observation, observe
from vendor_verifier.scoring.row_keys import Key
from vendor_verifier.store import RunFolder, UnreadableLine, decode_record
from vendor_verifier.suites.judging import judged
from vendor_verifier.suites.trigger import KeptCheckers

Standing = Literal["fine", "failed", "call", "decision", "score"]
STANDINGS: tuple[Standing, ...] = get_args(Standing)
_OF_REASON: Mapping[str, Standing] = {
    "wrong_failed": "failed", "wrong_call": "call", "wrong_decision": "decision", "wrong_score": "score",
}  # fmt: skip


class Question(msgspec.Struct, frozen=True, order=True):
    """One sample of one evaluation, asked of the vendors of one model."""

    model: str
    suite: str
    sample: str


class Cell(msgspec.Struct, frozen=True):
    """One answer: its run (by number), vendor and repetition, the place of its line in the records, how it stands."""

    run: int
    label: str
    repetition: int
    begin: int
    length: int
    ttft_ms: float | None
    standing: Standing


class StoredRun(msgspec.Struct, frozen=True):
    """A run with what its records are read with."""

    folder: RunFolder
    file: Path
    manifest: Manifest
    samples: Mapping[str, Samples]


class RunIndex(msgspec.Struct, frozen=True):
    """The questions of all runs in the order asked, with the answers to each."""

    runs: tuple[StoredRun, ...]
    cells: Mapping[Question, tuple[Cell, ...]] = msgspec.field(default_factory=dict)

    @property
    def answers(self) -> int:
        return sum(map(len, self.cells.values()))

    @property
    def columns(self) -> list[tuple[int, str]]:
        """(run, label) of every entry, each once, baselines first within a run."""
        found = [
            (number, info.label)
            for number, run in enumerate(self.runs)
            for info in sorted(run.manifest.infos, key=lambda info: not info.is_baseline)
        ]
        return list(dict.fromkeys(found))

    def records(self, question: Question) -> Iterator[tuple[int, Record]]:
        """(run, record) of every answer to a question."""
        for cell in self.cells.get(question, ()):
            yield cell.run, decode_record(line_at(self.runs[cell.run].file, cell.begin, cell.length))

    def holding(self, text: str) -> set[Question]:
        """The questions in whose messages, tools or answers the text stands, letters of either case."""
        wanted = [each.encode() for each in _stored_forms(text.lower())]
        found = {question for question in self.cells if text.lower() in question.sample.lower()}
        for number, run in enumerate(self.runs):
            by_place = {
                cell.begin: question
                for question, cells in self.cells.items()
                for cell in cells
                if cell.run == number and question not in found
            }
            found |= {
                by_place[line.begin]
                for line in lines_in(run.file)
                if line.begin in by_place and _has(line.text, wanted)
            }
            asked = {
                (suite, sample.id)
                for suite, samples in run.samples.items()
                for sample in samples
                if _has(msgspec.json.encode(sample.turn.messages), wanted)
            }
            found |= {question for question in self.cells if (question.suite, question.sample) in asked}
        return found


def build_index(folders: Sequence[RunFolder]) -> RunIndex:
    """The index of these runs; unreadable lines are left out, as scoring leaves them.

    Raises:
        RunFolderError: one of them is no readable run folder.
    """
    runs = tuple(_stored(folder) for folder in folders)
    cells: dict[Question, list[Cell]] = {}
    for number, run in enumerate(runs):
        for question, cell in _cells(number, run):
            cells.setdefault(question, []).append(cell)
    return RunIndex(runs, {question: tuple(found) for question, found in cells.items()})


def _stored(folder: RunFolder) -> StoredRun:
    manifest = stored_manifest(folder)
    return StoredRun(
        folder,
        folder.records_file,
        manifest,
        {task.suite: folder.read_samples(task.suite) for task in manifest.tasks},
    )


def _cells(number: int, run: StoredRun) -> Iterator[tuple[Question, Cell]]:
    """By vendor, in the order of the file; an answer that was asked again stands once."""
    suites = {task.suite: quiet_suite(task) for task in run.manifest.tasks}
    infos, checkers = run.manifest.infos, KeptCheckers()
    answers: Answers = {(info.model, info.label): {} for info in infos}
    places: dict[tuple[str, str, Key], tuple[int, int, float | None]] = {}
    for line in lines_in(run.file):
        try:
            record = decode_record(line.text)
        except UnreadableLine:
            continue
        own = answers.get((record.model, record.label))
        sample = sample_in(run.samples, record.suite, record.sample)
        if own is None or sample is None:
            continue
        seen = observe(record, judged(record, suites[record.suite], sample, checkers), sample)
        if seen.key not in own or supersedes(seen.traits, own[seen.key].traits):
            # The traits alone tell how it stands.
            own[seen.key] = Observation(seen.sample, seen.repetition, seen.traits)
            places[record.model, record.label, seen.key] = (line.begin, len(line.text), _ttft_ms(record))
    for info in infos:
        decided = expected_decisions(infos, info, answers)
        for (suite, name, repetition), answer in answers[info.model, info.label].items():
            wrong = reasons(answer.traits, decided.get((suite, name), frozenset()))
            standing: Standing = _OF_REASON[wrong[0].name] if wrong else "fine"
            place = places[info.model, info.label, (suite, name, repetition)]
            yield Question(info.model, suite, name), Cell(number, info.label, repetition, *place, standing)


def _ttft_ms(record: Record) -> float | None:
    final = record.final
    first_ns = None if final is None or final.timing is None else final.timing.first_token_ns
    return None if first_ns is None else first_ns / 1e6


def _stored_forms(text: str) -> list[str]:
    """The text as it stands in a line of JSON, and within JSON in a string of one, as arguments of calls do."""
    once = json.dumps(text, ensure_ascii=False)[1:-1]
    return list(dict.fromkeys([once, json.dumps(once, ensure_ascii=False)[1:-1]]))


def _has(line: bytes, wanted: Iterable[bytes]) -> bool:
    lowered = line.lower()
    return any(each in lowered for each in wanted)
