"""The columns of every frame of a run, each defined once: name, dtype, unit, meaning, and its value of a row."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, Literal, TypeVar

import msgspec

from vendor_verifier.features.data.rows import (
    AttemptRow,
    CallRow,
    ChunkRow,
    FindingRow,
    RankingRow,
    RecordRow,
    SampleRow,
    VerdictRow,
)
from vendor_verifier.metrics import RANKED, RECORD_METRICS
from vendor_verifier.records.record import Record
from vendor_verifier.records.verdict import FACETS
from vendor_verifier.suites import suite_kind

Dtype = Literal["string", "Int64", "Float64", "boolean", "datetime64[ns, UTC]"]
"""A pandas dtype in which a missing value is missing, and never 0."""
Row = TypeVar("Row")
# Verdicts by which a call is right when lenient; what was not judged, or cannot be, is neither right nor wrong.
_LENIENT = ("valid", "empty_arguments", "valid_in_dialect")
_OPEN = ("not_judged", "schema_unusable")


class Column(msgspec.Struct, Generic[Row], frozen=True):
    """A column: its pandas ``dtype``, its ``unit`` where it has one, what it says, and its value of a row."""

    name: str
    dtype: Dtype
    words: str
    value: Callable[[Row], Any]
    unit: str = ""


class FrameKind(msgspec.Struct, Generic[Row], frozen=True):
    """A frame by the name under which ``load_run(path)`` has it; ``words`` say what a row is.

    ``short`` names the columns that an export for people has; empty for all.
    """

    name: str
    words: str
    columns: tuple[Column[Row], ...]
    short: tuple[str, ...] = ()

    @property
    def shown(self) -> tuple[str, ...]:
        """The columns that an export for people has."""
        return self.short or tuple(column.name for column in self.columns)


def _key(record_of: Callable[[Any], Record]) -> tuple[Column[Any], ...]:
    """The columns by which the rows of one record are found in every frame."""
    return (
        Column("model", "string", "unified model name", lambda row: record_of(row).model),
        Column("label", "string", "the vendor's entry, as in every table", lambda row: record_of(row).label),
        Column("vendor", "string", "the vendor", lambda row: record_of(row).vendor),
        Column("suite", "string", "the evaluation", lambda row: record_of(row).suite),
        Column("sample", "string", "id of the sample, which says what was asked", lambda row: record_of(row).sample),
        Column("repetition", "Int64", "from 0 on", lambda row: record_of(row).repetition),
    )


def _json(value: Any) -> str | None:
    return json.dumps(value, ensure_ascii=False, default=str) if value else None


def _question(row: SampleRow) -> str | None:
    """The last thing a user said in the question; None where that is no text."""
    said = [each.get("content") for each in row.sample.turn.messages if each.get("role") == "user"]
    return said[-1] if said and isinstance(said[-1], str) else None


SAMPLES: FrameKind[SampleRow] = FrameKind(
    "samples",
    "a sample of an evaluation, as it was sent",
    (
        Column("suite", "string", "the evaluation", lambda row: row.suite),
        Column("sample", "string", "a digest of its content, and which occurrence", lambda row: row.sample.id),
        Column("question", "string", "the last text of a user in it", _question),
        Column("messages", "Int64", "messages in it", lambda row: len(row.sample.turn.messages), "messages"),
        Column("tools", "Int64", "tools it declares", lambda row: len(row.sample.turn.tools), "tools"),
        Column("category", "string", "its category", lambda row: _text(row.sample.tags.get("category"))),
        Column("difficulty", "string", "its difficulty", lambda row: _text(row.sample.tags.get("difficulty"))),
        Column("expected", "string", "what a right answer is, in JSON", lambda row: _json(dict(row.sample.expected))),
        Column("dataset", "string", "file it comes from", lambda row: row.sample.source and row.sample.source.dataset),
        Column("line", "Int64", "its line there", lambda row: row.sample.source and row.sample.source.line),
    ),
    ("suite", "sample", "question", "tools", "category"),
)  # fmt: skip


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _final(row: RecordRow, name: str) -> Any:
    """A field of the last answer; None where there is none."""
    final = row.record.final
    return None if final is None or final.response is None else getattr(final.response, name)


def _failure(row: RecordRow, name: str) -> Any:
    """A field of what made a record fail; None for a success."""
    failures = (turn.attempts[-1].failure for turn in row.record.turns if turn.attempts)
    found = next((each for each in failures if each is not None), None)
    return None if found is None or row.record.succeeded else getattr(found, name)


def _main_value(row: RecordRow) -> float | None:
    """The value by which the evaluation ranks."""
    kind = suite_kind(row.record.suite)
    return None if kind is None or kind.ranks_by is None else row.score.values.get(kind.ranks_by)


def _metric(place: int, unit: str, words: str, name: str) -> Column[RecordRow]:
    return Column(name, "Float64", words, lambda row: row.observation.values[place], unit)


RECORDS: FrameKind[RecordRow] = FrameKind(
    "records",
    "an answer that counts: one of each sample, vendor and repetition; a success replaces a failure of the same",
    (
        *_key(lambda row: row.record),
        Column("succeeded", "boolean", "a whole answer came, after retries", lambda row: row.record.succeeded),
        Column("attempts", "Int64", "HTTP requests it took", lambda row: row.observation.traits.attempts, "requests"),
        Column("failure", "string", "kind of failure", lambda row: row.observation.traits.failure),
        Column("failure_status", "Int64", "its HTTP status", lambda row: _failure(row, "status")),
        Column("failure_message", "string", "what was said of it", lambda row: _failure(row, "message")),
        Column("decision", "string", "called, not_called or undecided", lambda row: row.score.decision),
        Column("score", "Float64", "the evaluation's score, 0 to 1", _main_value, "share"),
        Column("reason", "string", "why it scored badly", lambda row: row.observation.traits.problem),
        Column("scores", "string", "all values of the evaluation, in JSON", lambda row: _json(dict(row.score.values))),
        Column("calls", "Int64", "tool calls that were judged", lambda row: len(row.score.calls), "calls"),
        Column("finish_reason", "string", "how the answer ended", lambda row: _final(row, "finish_reason")),
        Column("text", "string", "the answer's text", lambda row: _final(row, "text")),
        Column("reasoning", "string", "the reasoning shown", lambda row: _final(row, "reasoning")),
        Column("served_model", "string", "model named in the answer", lambda row: _final(row, "served_model")),
        Column("served_provider", "string", "provider named there", lambda row: _final(row, "served_provider")),
        Column("anomalies", "string", "departures from the standard, with commas",
               lambda row: ",".join(row.observation.traits.anomalies) or None),
        Column("region", "string", "region it was asked from", lambda row: row.record.region),
        *(_metric(place, each.unit, each.words or each.title, each.name)
          for place, each in enumerate(RECORD_METRICS) if each.name != "success"),
    ),
    (
        *("model", "label", "suite", "sample", "repetition", "succeeded", "attempts", "failure", "decision", "score"),
        *("reason", "calls", "ttft_ms", "tps", "e2e_ms", "input_tokens", "output_tokens"),
    ),
)  # fmt: skip


def _ms(ns: int | None) -> float | None:
    return None if ns is None else ns / 1e6


def _when(name: str, words: str) -> Column[AttemptRow]:
    """A moment of an attempt, which the record keeps in ns."""

    def value(row: AttemptRow) -> float | None:
        return None if row.attempt.timing is None else _ms(getattr(row.attempt.timing, f"{name}_ns"))

    return Column(f"{name}_ms", "Float64", words, value, "ms")


def _of_timing(name: str, dtype: Dtype, words: str) -> Column[AttemptRow]:
    def value(row: AttemptRow) -> Any:
        return None if row.attempt.timing is None else getattr(row.attempt.timing, name)

    return Column(name, dtype, words, value)


def _of_answer(name: str, dtype: Dtype, words: str) -> Column[AttemptRow]:
    def value(row: AttemptRow) -> Any:
        return None if row.attempt.response is None else getattr(row.attempt.response, name)

    return Column(name, dtype, words, value)


def _of_usage(name: str, words: str) -> Column[AttemptRow]:
    def value(row: AttemptRow) -> int | None:
        usage = None if row.attempt.response is None else row.attempt.response.usage
        found: int | None = None if usage is None else getattr(usage, name)
        return found

    return Column(f"{name}_tokens", "Int64", words, value, "tokens")


def _of_failure(field: str, name: str, dtype: Dtype, words: str) -> Column[AttemptRow]:
    def value(row: AttemptRow) -> Any:
        return None if row.attempt.failure is None else getattr(row.attempt.failure, field)

    return Column(name, dtype, words, value)


def _request_id(row: AttemptRow) -> str | None:
    told = (row.attempt.response, row.attempt.failure)
    return next((each.request_id for each in told if each is not None and each.request_id), None)


_ATTEMPT = (
    *_key(lambda row: row.record),
    Column("turn", "Int64", "turn of the conversation, from 0 on", lambda row: row.turn),
    Column("attempt", "Int64", "try of this turn, from 1 on", lambda row: row.attempt.number),
)
ATTEMPTS: FrameKind[AttemptRow] = FrameKind(
    "attempts",
    "an HTTP request of a record that counts, failed ones included",
    (
        *_ATTEMPT,
        Column("succeeded", "boolean", "a whole answer came", lambda row: row.attempt.succeeded),
        _of_failure("kind", "failure", "string", "kind of failure"),
        _of_failure("status", "status", "Int64", "HTTP status of a failure"),
        _of_failure("message", "message", "string", "what was said of it"),
        _of_timing("sent_at", "datetime64[ns, UTC]", "when it was sent, by the wall clock"),
        _when("connect", "opening the connection, before it was sent; missing on a used one"),
        _when("headers", "answer's headers − sent"),
        _when("first_token", "first non-empty piece − sent"),
        _when("first_answer", "first piece that is not reasoning − sent"),
        _when("last_token", "last piece − sent"),
        _when("end", "end of the answer − sent"),
        _when("our_lateness", "by how much we may have stamped late, at most"),
        _of_timing("connection_reused", "boolean", "the connection had served before"),
        _of_answer("streamed", "boolean", "it came as a stream"),
        _of_answer("finish_reason", "string", "how it ended"),
        _of_usage("input", "as the vendor reports, cached ones included"),
        _of_usage("output", "likewise, reasoning included"),
        _of_usage("cached", "of the input"),
        _of_usage("reasoning", "of the output"),
        _of_answer("served_model", "string", "model named in the answer"),
        Column("request_id", "string", "the vendor's id of it", _request_id),
        Column("resent", "boolean", "sent twice: a kept connection had ended", lambda row: row.attempt.resent),
    ),
    (
        *("model", "label", "suite", "sample", "repetition", "turn", "attempt", "succeeded", "failure", "status"),
        *("sent_at", "first_token_ms", "end_ms", "finish_reason", "input_tokens", "output_tokens", "request_id"),
    ),
)


def _is_valid(row: CallRow) -> bool | None:
    return None if row.verdict.verdict in _OPEN else row.verdict.verdict in _LENIENT


def _is_valid_strictly(row: CallRow) -> bool | None:
    return None if row.verdict.verdict == "not_judged" else row.verdict.verdict == "valid"


def _of_call(field: str, name: str, words: str) -> Column[CallRow]:
    def value(row: CallRow) -> str | None:
        found: str | None = None if row.call is None else getattr(row.call, field)
        return found

    return Column(name, "string", words, value)


_CLASS = "class of its arguments ([metrics](metrics.md#schema-accuracy))"
CALLS: FrameKind[CallRow] = FrameKind(
    "calls",
    "a tool call of a successful answer, held against the schema that its turn declared; a call in plain text has none",
    (
        *_key(lambda row: row.record),
        Column("turn", "Int64", "turn of the conversation, from 0 on", lambda row: row.turn),
        Column("position", "Int64", "place among the record's calls, from 0 on", lambda row: row.position),
        Column("tool", "string", "the tool called", lambda row: row.verdict.tool),
        _of_call("arguments", "arguments", "its arguments, as received"),
        Column("verdict", "string", _CLASS, lambda row: row.verdict.verdict),
        Column("valid", "boolean", "right when lenient; missing where it was not judged", _is_valid),
        Column("valid_strict", "boolean", "right when strict", _is_valid_strictly),
        Column("reason", "string", "what is wrong with it", lambda row: row.verdict.message),
        Column("pointer", "string", "where: a JSON pointer into the arguments", lambda row: row.verdict.pointer),
        _of_call("id", "call_id", "the vendor's id of it"),
    ),
    ("model", "label", "suite", "sample", "repetition", "tool", "arguments", "verdict", "reason"),
)
CHUNKS: FrameKind[ChunkRow] = FrameKind(
    "chunks",
    "a piece of a streamed answer (a non-empty text, reasoning or tool-call delta), by its moment",
    (
        *_key(lambda row: row.of.record),
        Column("turn", "Int64", "turn of the conversation, from 0 on", lambda row: row.of.turn),
        Column("attempt", "Int64", "try of this turn, from 1 on", lambda row: row.of.attempt.number),
        Column("position", "Int64", "from 0 on", lambda row: row.position),
        Column("at_ms", "Float64", "arrived − sent", lambda row: _ms(row.at_ns), "ms"),
        Column("gap_ms", "Float64", "since the piece before; missing at the first", lambda row: _ms(row.gap_ns), "ms"),
    ),
    ("model", "label", "suite", "sample", "repetition", "turn", "attempt", "position", "at_ms", "gap_ms"),
)


def _figure(name: str) -> Iterable[Column[RankingRow]]:
    metric = RANKED[name]
    assert metric.figure is not None
    yield Column(name, "Float64", metric.figure.words, lambda row: row.vendor.metrics.get(name), metric.unit)
    words = f"over how many {metric.figure.over} `{name}` was taken"
    yield Column(f"measured_{name}", "Int64", words, lambda row: row.vendor.measured.get(name, 0))


_COUNTS: Mapping[str, str] = {
    "planned": "samples × repetitions",
    "recorded": "of them with a record",
    "succeeded": "of them answered, after retries",
    "attempts": "HTTP requests",
}


def _count(name: str, words: str) -> Column[RankingRow]:
    return Column(name, "Int64", words, lambda row: getattr(row.vendor, name))


RANKING: FrameKind[RankingRow] = FrameKind(
    "ranking",
    "a vendor of a model, best first",
    (
        Column("model", "string", "unified model name", lambda row: row.model.model),
        Column("place", "Int64", "from 1 on", lambda row: row.place),
        Column("label", "string", "the vendor's entry, as in every table", lambda row: row.vendor.label),
        Column("vendor", "string", "the vendor", lambda row: row.vendor.vendor),
        Column("provider", "string", "the provider it is pinned to", lambda row: row.vendor.provider),
        Column("model_id", "string", "what the vendor calls the model", lambda row: row.vendor.model_id),
        Column("is_baseline", "boolean", "the others are compared with it", lambda row: row.vendor.is_baseline),
        Column("verdict", "string", "the verdict over all", lambda row: row.advised and row.advised.status),
        Column("irf", "Float64", "fusion score within the model", lambda row: row.vendor.irf),
        *(column for name in RANKED for column in _figure(name)),
        Column("scores", "string", "main scores of evaluations, in JSON", lambda row: _json(row.vendor.scores)),
        *(_count(name, words) for name, words in _COUNTS.items()),
    ),
    ("model", "place", "label", "verdict", "irf", *RANKED, "scores", "succeeded", "planned"),
)  # fmt: skip


def _facet(name: Any) -> Column[VerdictRow]:
    return Column(f"verdict_{name}", "string", f"of the facet {name}", lambda row: row.verdict.facet(name).status)


VERDICTS: FrameKind[VerdictRow] = FrameKind(
    "verdicts",
    "the verdict on a vendor ([judgement](judgement.md))",
    (
        Column("model", "string", "unified model name", lambda row: row.model),
        Column("label", "string", "the vendor's entry", lambda row: row.verdict.label),
        Column("status", "string", "the verdict over all", lambda row: row.verdict.status),
        Column("reason", "string", "its strongest reason", lambda row: str(row.verdict.reason)),
        Column("is_reference", "boolean", "it is the baseline", lambda row: row.verdict.is_reference),
        *map(_facet, FACETS),
    ),
)
FINDINGS: FrameKind[FindingRow] = FrameKind(
    "findings",
    "something found about a vendor, with its evidence",
    (
        Column("model", "string", "unified model name", lambda row: row.model),
        Column("label", "string", "the vendor's entry", lambda row: row.finding.label),
        Column("finding", "string", "its name ([judgement](judgement.md))", lambda row: row.finding.name),
        Column("statement", "string", "what was found, in a sentence", lambda row: str(row.finding.statement)),
        Column("evidence", "string", "the numbers it rests on, in JSON", lambda row: _json(dict(row.finding.evidence))),
        Column("samples", "string", "ids of the clearest examples, with commas",
               lambda row: ",".join(row.finding.samples) or None),
    ),
    ("model", "label", "finding", "statement", "samples"),
)  # fmt: skip
FRAMES: Mapping[str, FrameKind[Any]] = {
    kind.name: kind for kind in (SAMPLES, RECORDS, ATTEMPTS, CALLS, RANKING, VERDICTS, FINDINGS, CHUNKS)
}
