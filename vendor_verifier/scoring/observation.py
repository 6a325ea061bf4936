"""Observations: one compact row per record, taken in one pass, so that the record itself need not be kept."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from operator import attrgetter
from typing import cast, get_args

import msgspec

from vendor_verifier.metrics.answer import Answer, Ratio, buffered, reported_usage, zero_usage
from vendor_verifier.metrics.inter_chunk_latency import gaps_of
from vendor_verifier.metrics.measure import measured
from vendor_verifier.records.event import FinishReason, Usage
from vendor_verifier.records.failures import KINDS, NOT_CHARGED, QUESTION_REFUSED
from vendor_verifier.records.record import Attempt, FailureKind, Phase, Record, TurnRecord
from vendor_verifier.records.sample import Sample
from vendor_verifier.records.score import CallClass, Decision, FeatureStatus, Score
from vendor_verifier.scoring.row_keys import Key

_RESENT, _VERDICT, _REWRITTEN = attrgetter("resent"), attrgetter("verdict"), attrgetter("rewritten")
# The anomaly of an answer that bills more output tokens than it shows.
TOKENS_NOT_SHOWN = "tokens_not_shown"
# Two models may well say "Paris." alike; from this many characters on equal bytes mean something.
LEAST_CHARACTERS = 40


class Traits(msgspec.Struct, frozen=True):
    """The part of an observation that many observations share.

    ``failure`` is the cause of a failed record and ``phase`` how far it had come; ``troubles`` are the kinds of all
    failed attempts, those that a later attempt made good as well; ``resent`` of the ``attempts`` were sent twice,
    because a kept connection ended under them. ``classes`` are one per judged call; ``scores`` what the suite measured,
    and ``problem`` why it scored badly, in the suite's words. ``is_answered``: there is a final answer, whole or cut.
    ``is_offered_tools``: one to a request that declared tools, whose calls, if any, were judged.
    ``max_tokens`` is what the sample asks for. ``status`` and ``evidence`` are a feature check's finding. ``spoilt``
    names what would have been measured if we had not been late ourselves. ``turns`` were asked.
    ``calls_whole``: nothing but calls in one piece, see :class:`vendor_verifier.records.record.Response`; ``reworded``
    are the wire's notes of what it asked in other words than the sample. ``is_excused``: it is charged to
    nobody.
    """

    suite: str = "trigger"
    succeeded: bool = False
    succeeded_first_try: bool = False
    attempts: int = 0
    resent: int = 0
    decision: Decision = "undecided"
    classes: tuple[CallClass, ...] = ()
    scores: tuple[tuple[str, float | None], ...] = ()
    problem: str | None = None
    category: str | None = None
    difficulty: str | None = None
    call_type: str | None = None
    failure: str | None = None
    phase: Phase | None = None
    is_rate_limited: bool = False
    troubles: tuple[FailureKind, ...] = ()
    anomalies: tuple[str, ...] = ()
    is_answered: bool = False
    is_offered_tools: bool = False
    finish_reason: FinishReason | None = None
    shows_reasoning: bool = False
    served_model: str | None = None
    served_provider: str | None = None
    fingerprint: str | None = None
    max_tokens: int | None = None
    region: str | None = None
    spoilt: tuple[str, ...] = ()
    status: FeatureStatus | None = None
    evidence: str = ""
    providers: frozenset[str] = frozenset()
    turns: int = 1
    calls_whole: bool = False
    reworded: tuple[str, ...] = ()
    is_excused: bool = False

    @property
    def charged(self) -> bool:
        """Whether the outcome is charged to the vendor."""
        return not self.is_excused and self.failure not in NOT_CHARGED

    @property
    def ending(self) -> str | None:
        """The finish reason of a success."""
        return self.finish_reason or "none" if self.is_answered and self.succeeded else None

    @property
    def settles(self) -> bool:
        """Whether it is conclusive, so that it replaces an inconclusive one under the same key."""
        return self.succeeded if self.status is None else self.status != "not_measurable"


class Try(msgspec.Struct, frozen=True):
    """One attempt: when it was sent (seconds since the epoch; ``None``: never), how long it took, what it reports.

    ``useful``: it gave the final answer of a turn of a successful record; ``retried``: a later attempt of it did.
    ``is_billed``: it reached the model or may have; refusals (4xx, 5xx, no connection) cost nothing. ``resent``: its
    first sending may have been billed, too: the side that closed the connection may have read it before.
    """

    usage: Usage = Usage()
    useful: bool = False
    retried: bool = False
    is_billed: bool = True
    resent: bool = False
    answered: bool = False
    begin_s: float | None = None
    seconds: float | None = None


class FakedStream(msgspec.Struct, frozen=True):
    """The signs that answers were finished before they were streamed: the rank correlation of first token and length
    over so many ``answers``, its p-value, and the median speed that no model has."""

    correlation: float
    p_value: float
    answers: int
    tps: float


class Observation(msgspec.Struct, frozen=True):
    """One record as a row. ``values`` and ``pooled`` are in the order of ``RECORD_METRICS`` and ``POOLED``.

    ``sent_s`` is when the first attempt was sent, in seconds since the epoch; ``digest`` is of text and calls of a
    success, ``None`` when they are short; ``gaps`` are those of a success's pieces, ns.
    """

    sample: str
    repetition: int
    traits: Traits
    values: tuple[float | None, ...] = ()
    pooled: tuple[Ratio | None, ...] = ()
    sent_s: float | None = None
    response_id: str | None = None
    digest: int | None = None
    tries: tuple[Try, ...] = ()
    gaps: tuple[int, ...] = ()

    @property
    def key(self) -> Key:
        return (self.traits.suite, self.sample, self.repetition)


def observe(record: Record, score: Score, sample: Sample, *, defective: bool = False) -> Observation:
    """The observation of a record, given its score and its sample.

    ``defective``: a schema of the sample's own tools, or a parameter, is unusable, which explains a refusal.
    """
    # Read once, because it goes through all turns each time.
    turns, succeeded = record.turns, record.succeeded
    finals = [turn.attempts[-1] for turn in turns if turn.attempts]
    answers = list(map(Answer, finals)) if succeeded else []
    known, final = measured(record, answers), finals[-1] if turns and turns[-1].attempts else None
    failure = None if succeeded else next((each.failure for each in finals if each.failure is not None), None)
    kind = None if succeeded else "harness" if failure is None else failure.kind
    answer = None if final is None else final.response
    explained = ("refused_defective_sample",) if defective and kind in QUESTION_REFUSED else ()
    anomalies = [*score.anomalies, *_anomalies(finals, answers), *explained]
    tries = _tries(record, answers)
    is_first_try = succeeded and len(tries) == len(finals)
    max_tokens = sample.turn.parameters.get("max_tokens")
    category, difficulty, call_type = map(_word, map(sample.tags.get, _TAGS)) if sample.tags else _NO_TAGS
    traits = Traits(
        # One text for all keys of a run: a record that is read brings its own.
        suite=sys.intern(record.suite),
        succeeded=succeeded,
        succeeded_first_try=is_first_try,
        attempts=len(tries),
        resent=sum(map(_RESENT, tries)),
        decision=score.decision,
        classes=tuple(map(_VERDICT, score.calls)),
        scores=tuple(score.values.items()) if score.values else (),
        problem=_problem(score) if score.details else None,
        category=category,
        difficulty=difficulty,
        call_type=call_type,
        failure=kind,
        phase=None if failure is None else failure.phase,
        is_rate_limited=failure is not None and (failure.rules.charge == "rate_limit" or failure.status == 429),
        troubles=() if is_first_try else _troubles(record),
        anomalies=tuple(dict.fromkeys(anomalies)) if anomalies else (),
        is_answered=answer is not None,
        is_offered_tools=answer is not None and bool(sample.turn.tools) and bool(score.calls or not answer.tool_calls),
        finish_reason=None if answer is None else answer.finish_reason,
        shows_reasoning=answer is not None and bool(answer.reasoning.strip()),
        served_model=None if answer is None else answer.served_model,
        served_provider=None if answer is None else answer.served_provider,
        fingerprint=None if answer is None else answer.fingerprint or None,
        max_tokens=max_tokens if isinstance(max_tokens, int) else None,
        region=record.region,
        spoilt=known.spoilt,
        turns=len(turns),
        calls_whole=answer is not None and answer.calls_whole,
        reworded=_reworded(turns) if any(map(_REWRITTEN, turns)) else (),
    )
    return Observation(
        sample=sample.id,
        repetition=record.repetition,
        traits=traits,
        values=known.values,
        pooled=known.pooled,
        sent_s=tries[0].begin_s if tries else None,
        response_id=None if answer is None else answer.request_id or None,
        digest=answer_digest(final) if succeeded and final is not None else None,
        tries=tries,
        gaps=gaps_of(answers),
    )


def observe_check(record: Record, score: Score | None, sample: Sample) -> Observation:
    """The observation of a record of a suite outside the ranking, from which only the suite's own score is taken."""
    finals = [turn.attempts[-1] for turn in record.turns if turn.attempts]
    status = score.details.get("status") if score is not None else None
    if score is None or status not in get_args(FeatureStatus):
        traits = Traits(record.suite, status="not_measurable", evidence="the recording ends before the check does")
    else:
        served = (attempt.response.served_provider for attempt in finals if attempt.response is not None)
        answer = None if not finals else finals[-1].response
        traits = Traits(
            record.suite,
            status=cast("FeatureStatus", status),
            evidence=str(score.details.get("evidence", "")),
            finish_reason=None if answer is None else answer.finish_reason,
            providers=frozenset(filter(None, served)),
        )
    return Observation(sample.id, record.repetition, traits, tries=tries_of(record))


def answer_digest(attempt: Attempt) -> int | None:
    """64 bits of text and calls (ids aside), never 0; ``None`` below ``LEAST_CHARACTERS``.

    Two of one process may be compared: equal answers have the same, and which others would nobody can foretell.
    """
    if attempt.response is None:
        return None
    calls = [f"{call.name}({call.arguments})" for call in attempt.response.tool_calls]
    answer = "\x00".join([attempt.response.text, attempt.response.reasoning, *calls])
    return hash(answer) % 2**64 or 1 if len(answer) >= LEAST_CHARACTERS else None


def sent_s(attempt: Attempt) -> float | None:
    """When an attempt was sent, in seconds since the epoch; None when it never was, or the time is unknown."""
    if attempt.timing is None:
        return None
    try:
        moment = datetime.fromisoformat(attempt.timing.sent_at)
    except ValueError:
        return None
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()


def tries_of(record: Record) -> tuple[Try, ...]:
    """All attempts of a record, in their order."""
    succeeded = record.succeeded
    return tuple(
        [
            _try(attempt, useful=succeeded and attempt is turn.attempts[-1], succeeded=succeeded)
            for turn in record.turns
            for attempt in turn.attempts
        ]
    )


def _tries(record: Record, answers: Sequence[Answer]) -> tuple[Try, ...]:
    """As :func:`tries_of`, given the answers of a success. Nearly every record is one attempt that succeeded, of which
    only times and usage have to be looked at."""
    if len(answers) != 1 or len(record.turns[0].attempts) != 1:
        return tries_of(record)
    (answer,) = answers
    begin = sent_s(answer.attempt)
    seconds = None if begin is None or answer.timing is None else answer.timing.end_ns / 1e9
    return (Try(answer.usage, True, False, True, answer.attempt.resent, True, begin, seconds),)


def _try(attempt: Attempt, *, useful: bool, succeeded: bool) -> Try:
    begin = sent_s(attempt)
    return Try(
        usage=reported_usage(attempt),
        useful=useful,
        retried=succeeded and not useful,
        is_billed=_may_be_billed(attempt),
        resent=attempt.resent,
        answered=attempt.succeeded,
        begin_s=begin,
        seconds=None if begin is None or attempt.timing is None else attempt.timing.end_ns / 1e9,
    )


def _may_be_billed(attempt: Attempt) -> bool:
    if attempt.response is not None:
        return True
    return attempt.failure is not None and KINDS[attempt.failure.kind].maybe_billed


_TAGS = ("category", "difficulty", "call_type")
_NO_TAGS = (None, None, None)


def _word(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _problem(score: Score) -> str | None:
    """A short reason that many samples can share; whole sentences stay in the score's details."""
    problem = score.details.get("error")
    if isinstance(problem, list):
        # A detail sentence names this sample only; the kind of error is common to many.
        problem = score.details.get("error_type")
    return problem[:120] if isinstance(problem, str) else None


def _troubles(record: Record) -> tuple[FailureKind, ...]:
    """The kinds of all failures of all attempts, each once, in order."""
    found = [each.failure.kind for turn in record.turns for each in turn.attempts if each.failure is not None]
    return tuple(dict.fromkeys(found)) if found else ()


# Notes of a wire on what is no part of the prompt: the settings of the answer.
_SETTINGS = ("added:", "raised:", "dropped:")
# Of what is dropped, these are in the prompt.
_IN_THE_PROMPT = frozenset({
    "dropped:reasoning", "dropped:empty_message", "dropped:name", "dropped:repeated_tool", "dropped:strict",
})  # fmt: skip


def _reworded(turns: Iterable[TurnRecord]) -> tuple[str, ...]:
    """The notes, in order, on tools or messages that were sent in other words; the same notes mean the same words."""
    notes = {note for turn in turns for note in turn.rewritten}
    return tuple(sorted(note for note in notes if note in _IN_THE_PROMPT or not note.startswith(_SETTINGS)))


def _anomalies(finals: Iterable[Attempt], answers: Iterable[Answer]) -> list[str]:
    """The anomalies of every turn's last attempt, and those that show in the answers of a success."""
    found: list[str] = []
    for attempt in finals:
        if attempt.response is not None:
            found += attempt.response.anomalies
            for call in attempt.response.tool_calls:
                found += call.anomalies
    for answer in answers:
        if buffered(answer):
            found.append("buffered")
        if zero_usage(answer):
            found.append("usage_zero")
        if answer.hides_tokens:
            found.append(TOKENS_NOT_SHOWN)
    return found


# Display names of OpenRouter that are not just another spelling of the slug.
_DISPLAY_NAMES: Mapping[str, Collection[str]] = {
    "googlevertex": ("google", "vertex"),
    "moonshotai": ("moonshot",),
    "zai": ("zhipu",),
    "amazonbedrock": ("amazon", "bedrock", "aws"),
}
_NOT_ALPHANUMERIC = re.compile(r"[^a-z0-9]")


def same_provider(pin: str, served: str) -> bool:
    """Whether a router's name of a provider (``Google``, ``Novita AI``) can be the pinned slug (``google-vertex``).

    Spelling, a region or quantisation behind a slash, and a longer or shorter form of one name do not matter.
    """
    wanted, got = _bare(pin.partition("/")[0]), _bare(served.partition("/")[0])
    if not wanted or not got:
        return True
    return wanted.startswith(got) or got.startswith(wanted) or got in _DISPLAY_NAMES.get(wanted, ())


def _bare(name: str) -> str:
    return _NOT_ALPHANUMERIC.sub("", name.casefold())
