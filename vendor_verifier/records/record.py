"""The results of a run: attempts with their own timing, and the record that holds all turns of one sample.

The bounds of numbers hold for records that are read: a damaged or forged line must not spoil a whole report.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec

from vendor_verifier.records.failures import KINDS, Kind, kind_of_status
from vendor_verifier.records.failures import FailureKind as FailureKind
from vendor_verifier.records.failures import Phase as Phase
from vendor_verifier.records.request import MAX_NUMBER, Amount, Count, ToolResult

RECORD_SCHEMA = 1

MAX_MESSAGE = 2_000

# Before the request was sent they are negative.
Moment = Annotated[int, msgspec.Meta(ge=-MAX_NUMBER, le=MAX_NUMBER)]
Seconds = Annotated[float, msgspec.Meta(ge=-MAX_NUMBER, le=MAX_NUMBER)]

FinishReason = Literal["tool_calls", "stop", "length", "content_filter", "error", "unknown"]


class Usage(msgspec.Struct, frozen=True):
    """Tokens as the vendor reports them; ``None`` is "not reported", never zero. ``input`` includes cached tokens and
    ``output`` reasoning tokens, whatever the wire's own convention. ``cost_usd`` is the vendor's own statement of its
    charge."""

    input: Count | None = None
    output: Count | None = None
    cached: Count | None = None
    reasoning: Count | None = None
    cost_usd: Amount | None = None

    @property
    def total(self) -> int | None:
        """Input plus output tokens, or ``None`` unless both were reported."""
        return None if self.input is None or self.output is None else self.input + self.output


class ToolCall(msgspec.Struct, frozen=True):
    """A finished tool call. ``arguments`` is the JSON text exactly as received ("" when none was sent)."""

    name: str
    arguments: str
    id: str | None = None
    anomalies: tuple[str, ...] = ()


class Timing(msgspec.Struct, frozen=True):
    """The moments of one attempt, in nanoseconds from when the request was handed to a connected socket.

    ``scheduled_ns`` is negative by the wait for its turn, or in an open loop by the time since it was due.
    ``connect_ns`` is what a new connection took before zero, ``dns_ns``, ``tcp_ns`` and ``tls_ns`` its parts.
    ``first_token_ns`` is the first non-empty text, reasoning or tool-call delta, ``first_answer_ns`` the first that is
    not reasoning. ``gaps_ns`` are the pauses between deltas; their sum is last − first token. ``first_chunk_share`` is
    the share (0..1) of all characters that came with the first token. ``sent_at`` is UTC, ISO 8601. ``our_lateness_ns``
    is how late we may have stamped, at most; ``begun_late_ns`` our part, at most, of the time from due to sent.
    """

    sent_at: str
    end_ns: Moment
    scheduled_ns: Moment | None = None
    connect_ns: Moment | None = None
    headers_ns: Moment | None = None
    first_token_ns: Moment | None = None
    first_answer_ns: Moment | None = None
    last_token_ns: Moment | None = None
    gaps_ns: tuple[Count, ...] = ()
    first_chunk_share: Amount | None = None
    dns_ns: Count | None = None
    tcp_ns: Count | None = None
    tls_ns: Count | None = None
    connection_reused: bool | None = None
    our_lateness_ns: int | None = None
    begun_late_ns: int | None = None


class Response(msgspec.Struct, frozen=True):
    """The vendor's answer, normalised; ``finish_raw`` keeps its own word.

    ``calls_whole``: it is only calls, which the protocol gives in one piece: the first token came with the last.
    """

    text: str = ""
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: FinishReason | None = None
    finish_raw: str | None = None
    usage: Usage | None = None
    served_model: str | None = None
    served_provider: str | None = None
    native_finish_reason: str | None = None
    fingerprint: str | None = None
    request_id: str | None = None
    streamed: bool = True
    anomalies: tuple[str, ...] = ()
    calls_whole: bool = False

    @property
    def characters(self) -> int:
        """The characters of its text, its reasoning and its calls' arguments."""
        return len(self.text) + len(self.reasoning) + sum(len(call.arguments) for call in self.tool_calls)


class Failure(msgspec.Struct, frozen=True):
    """The reason why an attempt did not succeed. ``message`` is capped and scrubbed of secrets.

    Raises:
        ValueError: ``KINDS`` knows no such kind.
    """

    kind: FailureKind
    phase: Phase
    message: str
    status: Count | None = None
    code: str | None = None
    retry_after_s: Amount | None = None
    request_id: str | None = None

    def __post_init__(self) -> None:
        known = KINDS.get(self.kind)
        if known is None:
            raise ValueError(f"{self.kind!r} is no kind of failure; the kinds are in records/failures.py")
        # One string for all failures of a kind, however many records are read.
        msgspec.structs.force_setattr(self, "kind", known.name)

    @classmethod
    def of(
        cls,
        kind: FailureKind,
        message: str,
        status: int | None = None,
        *,
        phase: Phase | None = None,
        code: str | None = None,
        retry_after_s: float | None = None,
    ) -> Failure:
        """A failure in the phase that is usual for its kind unless ``phase`` is given, its message capped."""
        return cls(kind, phase or KINDS[kind].phase, message[:MAX_MESSAGE], status, code, retry_after_s)

    @classmethod
    def truncated(cls, why: str, status: int | None) -> Failure:
        """The failure of an answer that ended before its end; ``why`` is what showed it."""
        return cls.of("truncated", f"the answer broke off: {why}", status)

    @property
    def rules(self) -> Kind:
        """The row of the table of kinds for this failure; an error inside a 200 counts as what it says."""
        if self.kind == "api_error_in_200":
            return KINDS[kind_of_status(self.status, f"{self.code} {self.message}")]
        return KINDS[self.kind]


class Attempt(msgspec.Struct, frozen=True):
    """One HTTP try. A cut stream has both a (partial) response and a failure.

    ``resent``: a kept connection ended before any byte came back, and this is the second sending, on a new one.
    """

    number: Count
    timing: Timing | None = None
    response: Response | None = None
    failure: Failure | None = None
    resent: bool = False

    @property
    def succeeded(self) -> bool:
        return self.failure is None and self.response is not None


class TurnRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """All tries of one turn, in order; the last one is the turn's outcome.

    ``rewritten`` names what the wire sent in other words than the sample. ``tool_results`` are those of real tools.
    """

    attempts: tuple[Attempt, ...]
    rewritten: tuple[str, ...] = ()
    tool_results: tuple[ToolResult, ...] = ()


Decision = Literal["called", "not_called", "undecided"]
CallClass = Literal[
    "valid", "invalid_json", "unknown_tool", "schema_mismatch", "empty_arguments", "schema_unusable",
    "valid_in_dialect", "not_judged",
]  # fmt: skip
FeatureStatus = Literal["kept", "broken", "not_offered", "not_measurable"]


class CallVerdict(msgspec.Struct, frozen=True):
    """The verdict on one tool call's arguments. ``empty_arguments`` (``""`` to a tool that requires none) and
    ``valid_in_dialect`` are valid when lenient, invalid when strict. ``not_judged``: judging would have cost too much.
    ``pointer`` is that of the first violation."""

    tool: str
    verdict: CallClass
    message: str | None = None
    pointer: str | None = None


class Score(msgspec.Struct, frozen=True):
    """One suite's judgement of one record. ``values`` are numbers in [0, 1] or ``None`` (not measurable)."""

    suite: str
    decision: Decision = "undecided"
    calls: tuple[CallVerdict, ...] = ()
    values: Mapping[str, Amount | None] = {}
    details: Mapping[str, Any] = {}
    anomalies: tuple[str, ...] = ()

    @property
    def reason(self) -> str | None:
        """The words of the evaluation on why it scores as it does; None where it has none."""
        if not self.details:
            return None
        told = (self.details.get(key) for key in ("error", "reason", "details"))
        texts = ("; ".join(map(str, each)) if isinstance(each, (list, tuple)) else each for each in told)
        return next((text for text in texts if isinstance(text, str) and text), None)


RecordKey = tuple[str, str, str, str, str, int]


class Record(msgspec.Struct, frozen=True):
    """Everything that happened to one (run, model, label, suite, sample, repetition); one line of records.jsonl.

    ``block`` numbers 25 samples in the order common to all vendors. ``worker`` and ``region`` say where it was sent
    from, in a run on several machines. ``offered_s`` is when it was due, in seconds after the vendor's schedule began.
    ``sample_name`` is the id that the sample's own row gives.
    """

    run: str
    model: str
    label: str
    vendor: str
    suite: str
    sample: str
    repetition: Count
    turns: tuple[TurnRecord, ...] = ()
    schema: int = RECORD_SCHEMA
    score: Score | None = None
    worker: str | None = None
    block: Count | None = None
    region: str | None = None
    offered_s: Seconds | None = None
    sample_name: str | None = None

    @property
    def key(self) -> RecordKey:
        return (self.run, self.model, self.label, self.suite, self.sample, self.repetition)

    @property
    def finals(self) -> list[Attempt]:
        """The last attempt of each turn."""
        return [turn.attempts[-1] for turn in self.turns if turn.attempts]

    @property
    def final(self) -> Attempt | None:
        """The last attempt of the last turn: how the sample ended."""
        return self.turns[-1].attempts[-1] if self.turns and self.turns[-1].attempts else None

    @property
    def succeeded(self) -> bool:
        """Whether every turn ended in a success."""
        # Read several times a record when scoring, so that no function is called here, not even ``Attempt.succeeded``.
        for turn in self.turns:
            final = turn.attempts[-1] if turn.attempts else None
            if final is None or final.failure is not None or final.response is None:
                return False
        return bool(self.turns)

    @property
    def resent(self) -> int:
        """The number of its attempts that were sent twice."""
        return sum(attempt.resent for turn in self.turns for attempt in turn.attempts)


def supersedes(new: Record, old: Record) -> bool:
    """Whether ``new`` replaces ``old`` under the same key: a success replaces a failure, else the first stays."""
    return new.succeeded and not old.succeeded


def standing(records: Iterable[Record]) -> list[Record]:
    """The record that counts under each key, in the order in which the keys first came."""
    kept: dict[RecordKey, Record] = {}
    for record in records:
        if record.key not in kept or supersedes(record, kept[record.key]):
            kept[record.key] = record
    return list(kept.values())


class Exchange(msgspec.Struct, frozen=True):
    """One attempt as the transport saw it; times as in :class:`Timing`. ``headers`` have lower-case names. ``failure``
    is what stopped it; ``chunks`` then hold what had arrived. ``lost``: a kept connection ended before any byte of an
    answer. ``has_surplus``: bytes came after the end of the answer; they are in no chunk."""

    sent_at: str
    end_ns: int
    status: int | None = None
    headers: Mapping[str, str] = {}
    chunks: Sequence[tuple[int, bytes]] = ()
    headers_ns: int | None = None
    scheduled_ns: int | None = None
    connect_ns: int | None = None
    failure: Failure | None = None
    dns_ns: int | None = None
    tcp_ns: int | None = None
    tls_ns: int | None = None
    connection_reused: bool | None = None
    lost: bool = False
    has_surplus: bool = False

    @property
    def body(self) -> bytes:
        return b"".join(chunk for _, chunk in self.chunks)

    @property
    def is_event_stream(self) -> bool:
        return self.headers.get("content-type", "").lower().lstrip().startswith("text/event-stream")
