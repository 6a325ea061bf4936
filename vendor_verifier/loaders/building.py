"""Rows of any format → samples with identities, and everything wrong with them at once; it knows no format."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from vendor_verifier.errors import Problem
from vendor_verifier.loaders.base import Keep, LoadedSamples, data_error
from vendor_verifier.loaders.json_lines import Row
from vendor_verifier.loaders.request_row import Question, UnusableRequest
from vendor_verifier.values.request import Turn
from vendor_verifier.values.sample import Digests, Sample, Source, numbered
from vendor_verifier.wire.tool_sets import ToolSets

_MAX_DEFECTS = 50


def build_samples(
    rows: Iterable[Row | Problem],
    read_row: Callable[[Mapping[str, Any]], Question],
    *,
    dataset: str,
    file: Path,
    skip_bad: bool = False,
    place: str = "line",
    holds: str = "one chat-completions request a line",
    keep: Keep | None = None,
) -> LoadedSamples:
    """Build samples.

    Args:
        rows: rows as read, or the problems they have.
        read_row: what a row asks; raises UnusableRequest.
        dataset: the name samples carry as their source.
        file: what error messages call the file.
        skip_bad: leave unusable rows out and list them in ``skipped``, instead of refusing the file.
        place: what ``Row.line`` counts: ``line``, or ``row`` inside a JSON array.
        holds: what such a file holds, for the message about an empty one.
        keep: takes the samples, instead of the result.

    Raises:
        DataError: unusable rows (all of them, the first in full), or no usable row at all.
    """
    samples: list[Sample] = []
    take = samples.append if keep is None else keep
    problems: list[Problem] = []
    defects = _Defects()
    seen = _Seen()
    tool_sets = ToolSets()
    for row in rows:
        question = row if isinstance(row, Problem) else _question(row, read_row, file, place)
        if isinstance(question, Problem):
            problems.append(question)
            continue
        assert isinstance(row, Row)
        take(_sample(question, tool_sets.shared(question.turn), row, dataset, seen))
        for defect in _row_defects(question, row, place):
            defects.add(defect)
    if problems and not skip_bad:
        raise data_error(problems)
    if not seen.occurrences:
        raise data_error([Problem(f"no usable sample: expected {holds}", file), *problems])
    return LoadedSamples(tuple(samples), tuple(problems), (*defects.told(), *seen.told(place)))


def place_in(file: Path, place: str, number: int, key: str | None, message: str) -> Problem:
    """A problem of a row that stands on a line, or in a row of an array."""
    if place == "line":
        return Problem(message, file, number, key)
    return Problem(message, file, None, f"{place} {number}" + (f", {key}" if key else ""))


def _question(
    row: Row, read_row: Callable[[Mapping[str, Any]], Question], file: Path, place: str
) -> Question | Problem:
    try:
        return read_row(row.fields)
    except UnusableRequest as reason:
        return place_in(file, place, row.line, reason.key, str(reason))


def _sample(question: Question, turn: Turn, row: Row, dataset: str, seen: _Seen) -> Sample:
    return Sample(
        id=seen.named(turn, row.line),
        turn=turn,
        expected=question.expected,
        tags=question.tags,
        source=Source(dataset, row.line),
    )


def _row_defects(question: Question, row: Row, place: str) -> list[str]:
    repeated = [f"key {key!r} occurs twice in one object; the last one counts" for key in row.repeated]
    return [f"{place} {row.line}: {defect}" for defect in (*question.defects, *repeated)]


class _Defects:
    """The first ``_MAX_DEFECTS`` in full, the others counted."""

    def __init__(self) -> None:
        self._shown: list[str] = []
        self._hidden = 0

    def add(self, defect: str) -> None:
        if len(self._shown) < _MAX_DEFECTS:
            self._shown.append(defect)
        else:
            self._hidden += 1

    def told(self) -> list[str]:
        if not self._hidden:
            return self._shown
        return [*self._shown, f"and {self._hidden} more defect{'s' if self._hidden > 1 else ''} like these"]


class _Seen:
    """How often each content occurred, and on which lines it was not for the first time."""

    def __init__(self) -> None:
        self.occurrences: dict[str, int] = {}
        self._digests = Digests()
        self._repeated = array("Q")

    def named(self, turn: Turn, line: int) -> str:
        """The id of the next sample with this content."""
        digest = self._digests.of(turn)
        number = self.occurrences[digest] = self.occurrences.get(digest, 0) + 1
        if number > 1:
            self._repeated.append(line)
        return numbered(digest, number)

    def told(self, place: str) -> list[str]:
        repeats = sorted(self._repeated)
        if not repeats:
            return []
        shown = ", ".join(map(str, repeats[:20])) + (", …" if len(repeats) > 20 else "")
        count = "1 sample repeats" if len(repeats) == 1 else f"{len(repeats)} samples repeat"
        return [f"{count} an earlier one word for word; equal ones are told apart by number ({place} {shown})"]
