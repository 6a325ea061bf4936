"""A bounded, order-independent sample of a run for reports: points in time, histograms, examples; no score.

One pass over the records. Only a digest is kept of every record, and the decision of the baseline's; everything else is
bounded (:mod:`vendor_verifier.records.details`). Where two records share a key, ``supersedes`` decides which stands, as
in scoring.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import structs

from vendor_verifier.metrics import RECORD_METRICS
from vendor_verifier.metrics.answer import too_many_spoilt
from vendor_verifier.records.details import (
    MAX_CASES,
    MAX_EXAMPLES,
    MAX_POINTS,
    Case,
    Example,
    ExampleKind,
    Point,
    ReportDetails,
    VendorDetails,
)
from vendor_verifier.records.manifest import EntryInfo
from vendor_verifier.records.record import Attempt, Failure, Record
from vendor_verifier.records.sample import Sample
from vendor_verifier.records.score import CallVerdict, Decision, Score
from vendor_verifier.scoring.draws import Draw, LogCounts, key_digest
from vendor_verifier.scoring.observation import Observation
from vendor_verifier.scoring.observation_table import Standing
from vendor_verifier.scoring.side_by_side import SideBySide
from vendor_verifier.suites import TRIGGER, suite_kind

PROMPT_CAP, REPLY_CAP, EXPECTED_CAP, MESSAGE_CAP = 280, 400, 240, 240


def example(
    kind: ExampleKind,
    reason: str,
    record: Record,
    sample: Sample,
    *,
    expected: str | None = None,
    message: str | None = None,
    pointer: str | None = None,
) -> Example:
    """The record as an example; ``expected`` and ``message`` are cut like the rest."""
    source = sample.source
    return Example(
        kind=kind,
        reason=cut(reason, 120),
        suite=record.suite,
        sample=record.sample,
        repetition=record.repetition,
        prompt=prompt(sample),
        reply=reply(record),
        expected=None if expected is None else cut(expected, EXPECTED_CAP),
        message=None if message is None else cut(message, MESSAGE_CAP),
        pointer=None if pointer is None else cut(pointer, 120),
        source=None if source is None else f"{source.dataset}:{source.line}",
        attempts=sum(len(turn.attempts) for turn in record.turns),
    )


def case(record: Record, failure: Failure | None) -> Case:
    """The record as one line of a test report."""
    spent = [attempt.timing.end_ns for attempt in _attempts(record) if attempt.timing is not None]
    return Case(
        suite=record.suite,
        sample=record.sample,
        repetition=record.repetition,
        seconds=sum(spent) / 1e9 if spent else None,
        failure=None if record.succeeded else failure.kind if failure is not None else "harness",
        message=cut(failure.message, MESSAGE_CAP) if failure is not None and not record.succeeded else None,
    )


def first_failure(record: Record) -> Failure | None:
    """The failure of the first failed turn; None for a success or a recording that states no reason."""
    finals = (turn.attempts[-1] for turn in record.turns if turn.attempts)
    return next((attempt.failure for attempt in finals if attempt.failure is not None), None)


def prompt(sample: Sample) -> str:
    """The last user message as text, or the last message where no user speaks."""
    messages = sample.turn.messages
    spoken = [message for message in messages if message.get("role") == "user"] or messages[-1:]
    return cut(_content(spoken[-1].get("content")) if spoken else "", PROMPT_CAP)


def reply(record: Record) -> str:
    """Calls as ``name(arguments)``, then text, of the last answer; "" when there was none."""
    final = record.final
    if final is None or final.response is None:
        return ""
    answer = final.response
    calls = [f"{call.name}({call.arguments[:REPLY_CAP]})" for call in answer.tool_calls[:10]]
    return cut("; ".join([*calls, answer.text[:REPLY_CAP]] if answer.text.strip() else calls), REPLY_CAP)


def schema_text(sample: Sample, call: CallVerdict) -> str | None:
    """The parameters that the sample declares for the call's tool, as JSON; None for a tool it does not declare."""
    for tool in sample.turn.tools:
        function = tool.get("function")
        if isinstance(function, Mapping) and function.get("name") == call.tool:
            return compact(function.get("parameters"))
    return None


def compact(value: Any) -> str:
    """The value as JSON in one line."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def cut(text: str, most: int) -> str:
    """The text shortened to at most ``most`` characters, with a mark where it was cut."""
    return text if len(text) <= most else text[: most - 1] + "…"


def _content(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, (list, tuple)) else ()
    texts = (part.get("text") for part in parts if isinstance(part, Mapping))
    return " ".join(text for text in texts if isinstance(text, str))


def _attempts(record: Record) -> Iterator[Attempt]:
    for turn in record.turns:
        yield from turn.attempts


_TTFT, _TPS = ([metric.name for metric in RECORD_METRICS].index(name) for name in ("ttft_ms", "tps"))
_MAX_PENDING = 300
_MAX_GROUPS = 40
_GOOD_ARGUMENTS = frozenset({"valid", "empty_arguments", "schema_unusable", "valid_in_dialect", "not_judged"})
_Question = tuple[str, int]
_BaselineAnswer = tuple[Decision, str]


class _Entry(msgspec.Struct):
    """The bounded sample of one entry's records."""

    points: Draw[Point] = msgspec.field(default_factory=lambda: Draw(MAX_POINTS))
    failed: Draw[Case] = msgspec.field(default_factory=lambda: Draw(MAX_CASES))
    passed: Draw[Case] = msgspec.field(default_factory=lambda: Draw(MAX_CASES))
    ttft: LogCounts = msgspec.field(default_factory=LogCounts)
    tps: LogCounts = msgspec.field(default_factory=LogCounts)
    spoilt: Counter[str] = msgspec.field(default_factory=Counter)
    examples: dict[tuple[str, str], Draw[Example]] = msgspec.field(default_factory=dict)
    found: Counter[tuple[str, str]] = msgspec.field(default_factory=Counter)
    pending: Draw[tuple[_Question, Decision, Example]] = msgspec.field(default_factory=lambda: Draw(_MAX_PENDING))
    records: int = 0

    def admit(self, digest: int, standing: Standing) -> None:
        """Count a record that stands; where it replaces a failure, that one is removed."""
        if standing == "first":
            self.records += 1
            return
        self.failed.discard(digest)
        for group, draw in self.examples.items():
            if digest in draw.kept:
                draw.discard(digest)
                self.found[group] -= 1

    def note(self, digest: int, found: Example) -> None:
        """Count an example and keep it if its group has room."""
        group = (found.kind, found.reason)
        if group not in self.examples and len(self.examples) >= _MAX_GROUPS:
            group = (found.kind, "")
        self.found[group] += 1
        self.examples.setdefault(group, Draw(MAX_EXAMPLES)).add(digest, found)

    def chosen(self) -> tuple[Example, ...]:
        """Examples taken from the groups in turn, the most frequent group first, up to the limit."""
        groups = sorted(self.examples, key=lambda group: (-self.found[group], group))
        queues = [self.examples[group].items() for group in groups]
        turns = (queue[turn] for turn in range(MAX_EXAMPLES) for queue in queues if turn < len(queue))
        picked = [found for found, _ in zip(turns, range(MAX_EXAMPLES), strict=False)]
        order = {group: place for place, group in enumerate(groups)}
        return tuple(sorted(picked, key=lambda found: order.get((found.kind, found.reason), len(order))))

    def finished(self, start: float) -> VendorDetails:
        """The entry's details, times counted from ``start``."""
        cases = [*self.failed.items(), *self.passed.items()][:MAX_CASES]
        histograms = {
            name: None if too_many_spoilt(self.spoilt[name], drawn.bins.total()) else drawn.histogram()
            for name, drawn in (("ttft_ms", self.ttft), ("tps", self.tps))
        }
        points = sorted(self.points.items(), key=lambda point: (point.t_s, point.ttft_ms or 0.0, point.tps or 0.0))
        return VendorDetails(
            points=tuple(structs.replace(point, t_s=point.t_s - start) for point in points),
            histograms={name: histogram for name, histogram in histograms.items() if histogram is not None},
            examples=self.chosen(),
            cases=tuple(sorted(cases, key=lambda item: (item.suite, item.sample, item.repetition))),
            records=self.records,
            examples_found=sum(self.found.values()),
        )


class Gathering(msgspec.Struct):
    """The samples of all entries, gathered in one pass over the records."""

    entries: Mapping[tuple[str, str], _Entry]
    baselines: Mapping[str, str]
    suites: frozenset[str]
    compared: SideBySide = msgspec.field(default_factory=SideBySide)
    baseline_answers: dict[str, dict[_Question, _BaselineAnswer]] = msgspec.field(default_factory=dict)
    start: float | None = None

    def take(self, record: Record, sample: Sample, score: Score, row: Observation, standing: Standing) -> None:
        """Add one record of the plan, given its sample, score and observation, and how that stands."""
        entry = self.entries.get((record.model, record.label))
        if entry is None or standing == "void" or record.suite not in self.suites:
            return
        digest = key_digest(*row.key)
        entry.admit(digest, standing)
        self.compared.take(record, score, row)
        self._measure(entry, digest, record, row)
        if row.traits.succeeded:
            self._judge(entry, digest, record, sample, score)
        else:
            _note_failure(entry, digest, record, sample)

    def _measure(self, entry: _Entry, digest: int, record: Record, row: Observation) -> None:
        if row.traits.spoilt:
            entry.spoilt.update(row.traits.spoilt)
        first, speed, sent = row.values[_TTFT], row.values[_TPS], row.sent_s
        if first is not None:
            entry.ttft.add(first)
        if speed is not None:
            entry.tps.add(speed)
        if sent is not None:
            if self.start is None or sent < self.start:
                self.start = sent
            if entry.points.wants(digest):
                entry.points.add(digest, Point(sent, first, speed, row.traits.succeeded))
        cases = entry.passed if row.traits.succeeded else entry.failed
        if cases.wants(digest):
            cases.add(digest, case(record, first_failure(record)))

    def _judge(self, entry: _Entry, digest: int, record: Record, sample: Sample, score: Score) -> None:
        bad = _bad_call(score)
        if bad is not None:
            shape = schema_text(sample, bad)
            entry.note(
                digest,
                example(
                    "arguments", bad.verdict, record, sample, expected=shape, message=bad.message, pointer=bad.pointer
                ),
            )
        elif score.details and (reason := score.reason) is not None and _is_short(record.suite, score):
            entry.note(digest, example("evaluation", reason, record, sample, expected=compact(dict(sample.expected))))
        if record.suite == TRIGGER:
            self._compare(entry, digest, record, sample, score.decision)

    def _compare(self, entry: _Entry, digest: int, record: Record, sample: Sample, decision: Decision) -> None:
        """Compare a decision with the baseline's, now or once that has been read."""
        if decision == "undecided" or record.model not in self.baselines:
            return
        question = (record.sample, record.repetition)
        answers = self.baseline_answers.setdefault(record.model, {})
        if self.baselines[record.model] == record.label:
            answers[question] = (decision, reply(record)[:160])
            return
        found = example("called" if decision == "called" else "not_called", decision, record, sample)
        if question in answers:
            _note_disagreement(entry, digest, found, decision, answers[question])
        else:
            entry.pending.add(digest, (question, decision, found))

    def finished(self) -> ReportDetails:
        """The details of all records taken so far."""
        self._settle()
        models: dict[str, dict[str, VendorDetails]] = {}
        answers = self.compared.finished(self.baselines)
        for (model, label), kept in self.entries.items():
            details = structs.replace(kept.finished(self.start or 0.0), answers=answers.get((model, label), ()))
            models.setdefault(model, {})[label] = details
        start = self.start
        return ReportDetails(
            models, None if start is None else datetime.fromtimestamp(start, UTC).isoformat(timespec="seconds")
        )

    def _settle(self) -> None:
        """Compare the decisions that were read before the baseline's."""
        for (model, _), entry in self.entries.items():
            answers = self.baseline_answers.get(model, {})
            for digest, (question, decision, found) in entry.pending.kept.items():
                if question in answers:
                    _note_disagreement(entry, digest, found, decision, answers[question])


def gather_details(entries: Sequence[EntryInfo], suites: Collection[str]) -> Gathering:
    """A gathering that ``take`` feeds with records one by one and whose ``finished`` gives the details.

    Records of suites outside ``suites`` are ignored.
    """
    baselines: dict[str, str] = {}
    for entry in entries:
        if entry.is_baseline:
            baselines.setdefault(entry.model, entry.label)
    return Gathering({(entry.model, entry.label): _Entry() for entry in entries}, baselines, frozenset(suites))


def _note_failure(entry: _Entry, digest: int, record: Record, sample: Sample) -> None:
    failure = first_failure(record)
    kind, message = (failure.kind, failure.message) if failure is not None else ("harness", None)
    entry.note(digest, example("failure", kind, record, sample, message=message))


def _note_disagreement(entry: _Entry, digest: int, found: Example, decision: Decision, answer: _BaselineAnswer) -> None:
    theirs, excerpt = answer
    if decision != theirs:
        entry.note(digest, structs.replace(found, expected=excerpt))


def _is_short(suite: str, score: Score) -> bool:
    """Whether the evaluation gives the answer less than full marks, or names a problem of it."""
    kind = suite_kind(suite)
    value = None if kind is None or kind.ranks_by is None else score.values.get(kind.ranks_by)
    return "error" in score.details or (value is not None and value < 1)


def _bad_call(score: Score) -> CallVerdict | None:
    for call in score.calls:
        if call.verdict not in _GOOD_ARGUMENTS:
            return call
    return None
