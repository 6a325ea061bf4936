"""The facts of one record that scoring needs, found once while it passes, so that records can be let go."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass

from vendor_verifier.metrics.base import answers
from vendor_verifier.metrics.measure import Measured, measured
from vendor_verifier.metrics.throughput import Decoding, buffered
from vendor_verifier.metrics.tokens import zero_usage
from vendor_verifier.scoring.under_way import sent_s
from vendor_verifier.suites.base import Suite, judged
from vendor_verifier.values.failure_kinds import NOT_CHARGED, QUESTION_REFUSED
from vendor_verifier.values.record import Attempt, Failure, FailureKind, Phase, Record
from vendor_verifier.values.sample import Sample
from vendor_verifier.values.score import CallClass, Decision, Score


class Look:
    """Shared by those who look at every record of one pass, one record at a time."""

    def __init__(self) -> None:
        self._record: Record | None = None
        self._score: Score | None = None
        self._measured: Measured | None = None

    def score(self, record: Record, suite: Suite, sample: Sample) -> Score:
        """As :func:`vendor_verifier.suites.base.judged`; ``suite`` and ``sample`` are those of the record."""
        self._turn_to(record)
        if self._score is None:
            self._score = judged(record, suite, sample)
        return self._score

    def measured(self, record: Record) -> Measured:
        """As :func:`vendor_verifier.metrics.measure.measured`."""
        self._turn_to(record)
        if self._measured is None:
            self._measured = measured(record)
        return self._measured

    def _turn_to(self, record: Record) -> None:
        if record is not self._record:
            self._record, self._score, self._measured = record, None, None


@dataclass(frozen=True, slots=True)
class Facts:
    """One record as a row of columns.

    ``failure`` is why the record failed and ``phase`` how far it had come; ``troubles`` are the kinds of all failures
    on the way, those that a later try made good as well; ``resent`` of the ``attempts`` were sent twice, because a kept
    connection ended under them. ``values`` are in the order of ``METRICS``; ``classes`` one per judged call; ``scores``
    what the suite measured, and ``problem`` why it scored badly, in the suite's words.
    ``sent_s`` is when the first attempt was sent, in seconds since the epoch.
    ``spoilt`` names what would have been measured if we had not been late ourselves.
    """

    suite: str
    succeeded: bool
    succeeded_first_try: bool
    attempts: int
    decision: Decision
    classes: tuple[CallClass, ...]
    values: tuple[float | None, ...]
    decoding: Decoding | None
    delivery: Decoding | None
    failure: str | None
    finish_reason: str | None
    served_model: str | None
    served_provider: str | None
    anomalies: tuple[str, ...]
    scores: tuple[tuple[str, float | None], ...] = ()
    category: str | None = None
    difficulty: str | None = None
    problem: str | None = None
    phase: Phase | None = None
    troubles: tuple[FailureKind, ...] = ()
    region: str | None = None
    resent: int = 0
    sent_s: float | None = None
    spoilt: tuple[str, ...] = ()

    @property
    def charged(self) -> bool:
        """Whether the outcome says anything about the vendor."""
        return self.failure not in NOT_CHARGED


def facts_of(
    record: Record, suite: Suite, sample: Sample, *, defective: bool = False, look: Look | None = None
) -> Facts:
    """Re-play ``sample`` with the recorded answers and keep the outcome.

    ``defective``: a schema of the sample's own tools is unusable, which explains a refusal. ``look`` is shared with
    others who look at the same record.
    """
    look = look or Look()
    score = look.score(record, suite, sample)
    # Asked once: it looks through the turns each time.
    succeeded = record.succeeded
    final, known = record.final, look.measured(record)
    failure = None if succeeded else _failure(record)
    kind = None if succeeded else "harness" if failure is None else failure.kind
    answered = None if final is None else final.response
    anomalies = dict.fromkeys([*score.anomalies, *_anomalies(record)])
    if defective and kind in QUESTION_REFUSED:
        anomalies["refused_defective_sample"] = None
    return Facts(
        suite=record.suite,
        succeeded=succeeded,
        succeeded_first_try=succeeded and record.succeeded_first_try,
        attempts=sum(len(turn.attempts) for turn in record.turns),
        decision=score.decision,
        classes=tuple(call.verdict for call in score.calls),
        values=known.values,
        decoding=known.decoding,
        delivery=known.delivery,
        failure=kind,
        finish_reason=answered.finish_reason or "none" if answered is not None and succeeded else None,
        served_model=None if answered is None else answered.served_model,
        served_provider=None if answered is None else answered.served_provider,
        anomalies=tuple(anomalies),
        scores=tuple(score.values.items()),
        category=_tag(sample, "category"),
        difficulty=_tag(sample, "difficulty"),
        problem=_problem(score),
        phase=None if failure is None else failure.phase,
        troubles=_troubles(record),
        region=None if record.region is None else sys.intern(record.region),
        resent=record.resent,
        sent_s=_sent_s(record),
        spoilt=known.spoilt,
    )


def _sent_s(record: Record) -> float | None:
    first = next((attempt for turn in record.turns for attempt in turn.attempts), None)
    return None if first is None else sent_s(first)


def _tag(sample: Sample, name: str) -> str | None:
    value = sample.tags.get(name)
    return value if isinstance(value, str) else None


def _problem(score: Score) -> str | None:
    """A short reason that many samples can share; whole sentences stay in the score's details."""
    problem = score.details.get("error")
    if isinstance(problem, list):
        # The sentences are of this sample only; what kind of error they describe is shared.
        problem = score.details.get("error_type")
    return problem[:120] if isinstance(problem, str) else None


def _failure(record: Record) -> Failure | None:
    """Why the first turn that failed did; a recording without any reason is our own fault."""
    return next((attempt.failure for attempt in _finals(record) if attempt.failure is not None), None)


def _troubles(record: Record) -> tuple[FailureKind, ...]:
    """The kinds of all failures of all attempts, each once, in order."""
    found = [each.failure.kind for turn in record.turns for each in turn.attempts if each.failure is not None]
    return tuple(dict.fromkeys(found)) if found else ()


def _anomalies(record: Record) -> Iterator[str]:
    for attempt in _finals(record):
        if attempt.response is not None:
            yield from attempt.response.anomalies
            for call in attempt.response.tool_calls:
                yield from call.anomalies
    for attempt in answers(record):
        if buffered(attempt):
            yield "buffered"
        if zero_usage(attempt):
            yield "usage_zero"


def _finals(record: Record) -> list[Attempt]:
    return [turn.attempts[-1] for turn in record.turns if turn.attempts]
