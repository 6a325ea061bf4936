"""Records as DataFrames: one row a record, in one pass over the records. Everything that is judged reads these frames.

A row is a record of the plan. Of several records under one key a success replaces a failure, else the first one
counts. Missing is missing (NaN, or no category), never 0.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec
import pandas as pd

from vendor_verifier.loaders.parameters import parameter_defects
from vendor_verifier.records.event import ToolCall
from vendor_verifier.records.record import Attempt, Record, Timing
from vendor_verifier.records.sample import Sample, Samples
from vendor_verifier.records.score import Score
from vendor_verifier.scoring.answer import Answer, buffered, is_billed, is_late, lateness_ns, reported_usage
from vendor_verifier.scoring.texts import AnswerTexts
from vendor_verifier.suites import Suite, suite_kind
from vendor_verifier.suites.judging import judged
from vendor_verifier.suites.trigger import KeptCheckers
from vendor_verifier.wire.payload import PayloadError, parse_json

CHUNK = 50_000
_CANONICAL = json.JSONEncoder(sort_keys=True, ensure_ascii=False)


class Column(msgspec.Struct, frozen=True):
    """A column of a frame: its name, its dtype in pandas, its unit, and what it holds."""

    name: str
    dtype: str
    unit: str
    meaning: str


RECORD_COLUMNS: tuple[Column, ...] = (
    Column("model", "category", "", "unified model name"),
    Column("label", "category", "", "the vendor's entry"),
    Column("suite", "category", "", "the evaluation"),
    Column("sample", "category", "", "id of the sample"),
    Column("repetition", "int32", "", "from 0 on"),
    Column("block", "float64", "", "number of 25 samples that every vendor was asked at about one time"),
    Column("region", "category", "", "region it was asked from"),
    Column("sent_s", "float64", "s", "first attempt sent, seconds since 1970, UTC"),
    Column("ended_s", "float64", "s", "last attempt ended, seconds since 1970, UTC"),
    Column("due_s", "float64", "s", "when it was due after its schedule began; missing in a closed loop"),
    Column("waited_ms", "float64", "ms", "from due to sent, of the successful attempt; missing in a closed loop"),
    Column("ok", "bool", "", "every turn ended in a whole answer, after retries"),
    Column("failure", "category", "", "kind of failure; missing of a success"),
    Column(
        "charge", "category", "", "who answers for the failure: vendor, data, network, rate_limit, account, us, unasked"
    ),
    Column("turns", "int32", "requests", "questions that it asked in a row"),
    Column("attempts", "int32", "requests", "HTTP requests it took"),
    Column("resent", "int32", "requests", "of them sent twice, because a kept connection ended"),
    Column("retried", "bool", "", "answered, but on a later try only"),
    Column("decision", "category", "", "called, not_called or undecided"),
    Column("calls", "int32", "calls", "tool calls that were judged"),
    Column("classes", "category", "", "verdicts on their arguments, with commas"),
    Column("offered", "bool", "", "the request declared tools and its answer was judged by them"),
    Column("score", "float64", "share", "main score of the evaluation, 0 to 1"),
    Column("problem", "category", "", "why it scored badly, or what a feature check saw"),
    Column("status", "category", "", "outcome of a feature check: kept, broken, not_offered, not_measurable"),
    Column("category", "category", "", "category of the sample"),
    Column("difficulty", "category", "", "difficulty of the sample"),
    Column("call_type", "category", "", "call type of the sample"),
    Column("finish", "category", "", "finish reason of the last answer"),
    Column("served_model", "category", "", "model that the answer names"),
    Column("provider", "category", "", "provider that a router names"),
    Column("fingerprint", "category", "", "system fingerprint"),
    Column("anomalies", "category", "", "departures from the standard, with commas"),
    Column("reworded", "category", "", "what the wire asked in other words than the sample, with commas"),
    Column("ttft_ms", "float64", "ms", "TTFT: first token − sent"),
    Column("ttft_due_ms", "float64", "ms", "first token of the first turn − due; missing in a closed loop"),
    Column("ttfat_ms", "float64", "ms", "first token that is not reasoning − sent"),
    Column("e2e_ms", "float64", "ms", "end − sent, all turns"),
    Column("connect_ms", "float64", "ms", "opening the connection; missing where it was open"),
    Column("input_tokens", "float64", "tokens", "prompt tokens, cached ones included"),
    Column("output_tokens", "float64", "tokens", "generated tokens, reasoning included"),
    Column("cached_tokens", "float64", "tokens", "prompt tokens that the vendor says it had cached"),
    Column("reasoning_tokens", "float64", "tokens", "output tokens that the vendor says were reasoning"),
    Column("reported_usd", "float64", "USD", "what the vendor says it charged"),
    Column("tokens_after", "float64", "tokens", "output tokens after the first chunk"),
    Column("decode_s", "float64", "s", "from the first to the last token"),
    Column("last_token_ms", "float64", "ms", "last token − sent"),
    Column("late_ms", "float64", "ms", "how late this program may have read it, at most"),
    Column("discarded", "category", "", "times left out because this program was late for more than half of them"),
    Column("characters", "float64", "", "characters of the answer, calls included"),
    Column("max_tokens", "float64", "tokens", "limit that the sample asks for"),
    Column("digest", "float64", "", "hash of text and calls of a long answer, for equality"),
    Column("call_digest", "float64", "", "hash of its calls with canonical arguments; missing without calls"),
)

ATTEMPT_COLUMNS: tuple[Column, ...] = (
    Column("model", "category", "", "unified model name"),
    Column("label", "category", "", "the vendor's entry"),
    Column("suite", "category", "", "the evaluation"),
    Column("sample", "category", "", "id of the sample"),
    Column("repetition", "int32", "", "from 0 on"),
    Column("sent_s", "float64", "s", "when it was sent, seconds since 1970, UTC"),
    Column("seconds", "float64", "s", "how long it took"),
    Column("failure", "category", "", "kind of failure; missing of an answer"),
    Column("succeeded", "bool", "", "a later attempt of the record succeeded"),
    Column("billed", "bool", "", "it reached the model, or may have"),
    Column("input_tokens", "float64", "tokens", "prompt tokens"),
    Column("output_tokens", "float64", "tokens", "generated tokens"),
    Column("cached_tokens", "float64", "tokens", "prompt tokens cached"),
    Column("reasoning_tokens", "float64", "tokens", "output tokens of reasoning"),
    Column("reported_usd", "float64", "USD", "what the vendor says it charged"),
)
EVALUATION_COLUMNS: tuple[Column, ...] = (
    Column("record", "int64", "", "index of the record's row"),
    Column("name", "category", "", "what the evaluation measures"),
    Column("value", "float64", "share", "0 to 1; 0 of a failure; missing where it cannot be measured"),
)


@dataclass(frozen=True, slots=True)
class Frames:
    """The frames of a run: ``records``, the ``attempts`` that did not end a successful turn, and the ``evaluations``'
    values of each record. ``texts`` are the answers that are compared, ``outside`` counts records of no plan."""

    records: pd.DataFrame
    attempts: pd.DataFrame
    evaluations: pd.DataFrame
    texts: AnswerTexts
    outside: int = 0


def records_frame(
    records: Iterable[Record], suites: Mapping[str, Suite], samples: Mapping[str, Samples]
) -> pd.DataFrame:
    """One row a record of these evaluations: the columns of ``RECORD_COLUMNS``."""
    return read_frames(records, suites, samples).records


def read_frames(
    records: Iterable[Record],
    suites: Mapping[str, Suite],
    samples: Mapping[str, Samples],
    *,
    repeats: Mapping[tuple[str, str], int] | None = None,
    texts: AnswerTexts | None = None,
    listener: Callable[[Record, Sample, Score], None] | None = None,
) -> Frames:
    """The frames of a run, in one pass over its records.

    ``repeats`` are the planned repetitions by (model, label): records of other entries, of unknown samples or of later
    repetitions are counted as ``outside`` and left out. Without it all are taken. ``listener`` is called with every
    record of the plan and its score.
    """
    rows: list[tuple[Any, ...]] = []
    tries: list[tuple[Any, ...]] = []
    values: list[tuple[int, str, float | None]] = []
    chunks: list[pd.DataFrame] = []
    checkers, texts, outside, number = KeptCheckers(), texts or AnswerTexts(), 0, 0
    for record in records:
        suite, known = suites.get(record.suite), samples.get(record.suite)
        sample = None if known is None else known.named(record.sample)
        planned = repeats is None or record.repetition < repeats.get((record.model, record.label), 0)
        if suite is None or sample is None or not planned:
            outside += 1
            continue
        score = judged(record, suite, sample, checkers)
        rows.append(_row(record, score, sample, checkers))
        values += [(number, name, value) for name, value in score.values.items()]
        tries += _spent_attempts(record)
        texts.take(record)
        if listener is not None:
            listener(record, sample, score)
        number += 1
        if len(rows) == CHUNK:
            chunks.append(_frame(rows, RECORD_COLUMNS))
            rows.clear()
    chunks.append(_frame(rows, RECORD_COLUMNS))
    whole = _joined(chunks)
    whole = _standing(whole)
    evaluations = _frame(values, EVALUATION_COLUMNS)
    evaluations = evaluations[evaluations["record"].isin(whole.index)]
    _charge_the_network(whole)
    return Frames(whole, _frame(tries, ATTEMPT_COLUMNS), evaluations, texts, outside)


def _frame(rows: list[tuple[Any, ...]], columns: tuple[Column, ...]) -> pd.DataFrame:
    names = [column.name for column in columns]
    parts = list(zip(*rows, strict=True)) if rows else [()] * len(names)
    return pd.DataFrame(
        {column.name: pd.Series(list(part), dtype=column.dtype) for column, part in zip(columns, parts, strict=True)}
    )


def _joined(chunks: list[pd.DataFrame]) -> pd.DataFrame:
    """The chunks as one frame; categories are joined, because pandas makes objects of unequal ones."""
    if len(chunks) == 1:
        return chunks[0]
    found = {}
    for column in RECORD_COLUMNS:
        parts = [chunk.pop(column.name) for chunk in chunks]
        joined = pd.api.types.union_categoricals(parts) if column.dtype == "category" else pd.concat(parts)
        found[column.name] = pd.Series(joined).reset_index(drop=True)
    return pd.DataFrame(found)


def _standing(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows that count, with their index kept: a success, or a conclusive check, replaces the others of its key."""
    key = ["model", "label", "suite", "sample", "repetition"]
    settled = frame["ok"].where(frame["status"].isna(), frame["status"] != "not_measurable").astype(bool)
    order = settled.sort_values(ascending=False, kind="stable").index
    kept = ~frame.loc[order].duplicated(key)
    return frame.loc[sorted(kept.index[kept])]


def _charge_the_network(frame: pd.DataFrame) -> None:
    """A host that could not be reached answers for it, unless another vendor had trouble on the same sample: then it
    was the network."""
    doors = frame["charge"] == "door"
    if doors.any():
        unreached = frame[frame["charge"].isin(["door", "network"])]
        vendors = unreached.groupby(["suite", "sample"], observed=True)["label"].nunique()
        troubled = pd.MultiIndex.from_frame(frame[["suite", "sample"]]).isin(vendors[vendors > 1].index)
        frame["charge"] = frame["charge"].astype(object).mask(doors & troubled, "network").replace("door", "vendor")
        frame["charge"] = frame["charge"].astype("category")


def _row(record: Record, score: Score, sample: Sample, checkers: KeptCheckers) -> tuple[Any, ...]:
    ok = record.succeeded
    finals = [turn.attempts[-1] for turn in record.turns if turn.attempts]
    answers = [Answer(attempt) for attempt in finals] if ok else []
    final = finals[-1] if record.turns and record.turns[-1].attempts else None
    response = None if final is None else final.response
    failure = None if ok else next((each.failure for each in finals if each.failure is not None), None)
    kind = None if ok else "harness" if failure is None else failure.kind
    charge: str | None = None if kind is None else "us" if failure is None else failure.rules.charge
    if charge == "question":
        charge = "data" if _is_defective(sample, checkers) else "vendor"
    attempts = [attempt for turn in record.turns for attempt in turn.attempts]
    first, timing = (attempts[0] if attempts else None), (None if final is None else final.timing)
    late_ms = max((lateness_ns(each) for each in finals), default=0) / 1e6
    ttft, ttfat = _mean([each.first_ms for each in answers]), _mean([each.answer_ms for each in answers])
    e2e, due = _total([each.end_ms for each in answers]), _from_due_ms(record, answers)
    decoded = [each.decoded for each in answers if each.decoded is not None]
    decode_s = sum(seconds for _, seconds in decoded) if decoded else None
    discarded: list[str] = []
    timing_first = None if not answers else answers[0].timing
    begun_late_ms = 0 if timing_first is None else (timing_first.begun_late_ns or 0) / 1e6
    if late_ms > 0 or begun_late_ms > 0:
        ttft, ttfat, e2e, due, decode_s = (
            _kept(value, late, name, discarded)
            for name, value, late in (
                ("ttft_ms", ttft, late_ms),
                ("ttfat_ms", ttfat, late_ms),
                ("e2e_ms", e2e, late_ms),
                ("ttft_due_ms", due, late_ms + begun_late_ms),
                ("decode_s", decode_s, late_ms / 1e3),
            )
        )
    begun_s = None if first is None else sent_s(first)
    last_ns = None if timing is None or not ok else timing.last_token_ns
    calls = [call for each in answers if each.attempt.response for call in each.attempt.response.tool_calls]
    shown = [] if response is None or not ok else [response.text, response.reasoning]
    kind_of_suite = suite_kind(record.suite)
    main = None if kind_of_suite is None else kind_of_suite.ranks_by
    details = score.details
    anomalies = [*score.anomalies, *(name for each in finals if each.response for name in each.response.anomalies)]
    anomalies += [
        name for each in finals if each.response for call in each.response.tool_calls for name in call.anomalies
    ]
    anomalies += ["buffered" for each in answers if buffered(each)]
    anomalies += ["tokens_not_shown" for each in answers if each.hides_tokens]
    usage = [each.usage for each in answers]
    return (
        record.model, record.label, record.suite, record.sample, record.repetition, record.block, record.region,
        begun_s, _ended_s(final, begun_s if final is first else None),
        record.offered_s,
        _waited_ms(record, timing),
        ok, kind, charge, len(record.turns), len(attempts), record.resent, ok and not record.succeeded_first_try,
        score.decision, len(score.calls), ",".join(call.verdict for call in score.calls) or None,
        response is not None and bool(sample.turn.tools) and bool(score.calls or not response.tool_calls),
        score.values.get(main) if main else None,
        _problem(score), details.get("status"),
        *(_text(sample.tags.get(name)) for name in ("category", "difficulty", "call_type")),
        None if response is None else response.finish_reason,
        None if response is None else response.served_model,
        None if response is None else response.served_provider,
        None if response is None else response.fingerprint,
        ",".join(dict.fromkeys(anomalies)) or None,
        ",".join(sorted({note for turn in record.turns for note in turn.rewritten})) or None,
        ttft, due, ttfat, e2e,
        None if not answers else answers[0].connect_ms,
        _total([each.input for each in usage]), _total([each.output for each in usage]),
        _total([each.cached for each in usage]), _total([each.reasoning for each in usage]),
        _total([each.cost_usd for each in usage]),
        None if decode_s is None else sum(tokens for tokens, _ in decoded), decode_s,
        None if last_ns is None else last_ns / 1e6, late_ms, ",".join(discarded) or None,
        sum(map(len, [*shown, *(part for call in calls for part in (call.name, call.arguments))])) if ok else None,
        sample.turn.parameters.get("max_tokens"),
        _digest("\0".join([*shown, *(f"{call.name}({call.arguments})" for call in calls)])) if ok else None,
        _digest("\0".join(map(_canonical, calls))) if calls else None,
    )  # fmt: skip


def sent_s(attempt: Attempt) -> float | None:
    """When an attempt was sent, in seconds since 1970; None when it never was, or the time is unknown."""
    if attempt.timing is None:
        return None
    try:
        moment = datetime.fromisoformat(attempt.timing.sent_at)
    except ValueError:
        return None
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()


def _ended_s(final: Attempt | None, sent: float | None) -> float | None:
    sent = sent_s(final) if sent is None and final is not None else sent
    return None if sent is None or final is None or final.timing is None else sent + final.timing.end_ns / 1e9


def _waited_ms(record: Record, timing: Timing | None) -> float | None:
    if timing is None or timing.scheduled_ns is None or record.offered_s is None:
        return None
    return -timing.scheduled_ns / 1e6


def _from_due_ms(record: Record, answers: list[Answer]) -> float | None:
    """From when a record was due until the first token of its first turn; waits and failed attempts are inside."""
    if record.offered_s is None or not answers or answers[0].first_ms is None:
        return None
    timing = answers[0].timing
    return None if timing is None or timing.scheduled_ns is None else answers[0].first_ms - timing.scheduled_ns / 1e6


def _kept(value: float | None, late: float, name: str, discarded: list[str]) -> float | None:
    """The time, unless more than half of it may be our own lateness, of the same unit."""
    if value is None or not is_late(late, value):
        return value
    discarded.append(name)
    return None


def _is_defective(sample: Sample, checkers: KeptCheckers) -> bool:
    """Whether no vendor can take the sample, which explains a refusal and nothing else."""
    return bool(checkers(sample).may_be_refused or parameter_defects(sample.turn.parameters))


def _spent_attempts(record: Record) -> list[tuple[Any, ...]]:
    """The rows of the attempts that did not end a turn of a success."""
    ok, found = record.succeeded, []
    for turn in record.turns:
        for attempt in turn.attempts:
            if ok and attempt is turn.attempts[-1]:
                continue
            usage, failure = reported_usage(attempt), attempt.failure
            seconds = None if attempt.timing is None else attempt.timing.end_ns / 1e9
            found.append((
                record.model, record.label, record.suite, record.sample, record.repetition, sent_s(attempt), seconds,
                None if failure is None else failure.kind, ok, is_billed(attempt),
                usage.input, usage.output, usage.cached, usage.reasoning, usage.cost_usd,
            ))  # fmt: skip
    return found


def _problem(score: Score) -> str | None:
    """A short reason that many samples can share; whole sentences stay in the score's details."""
    found = score.details.get("evidence") or score.details.get("error")
    if isinstance(found, list):
        # A sentence of details names this sample only; the type of the error is common to many.
        found = score.details.get("error_type")
    return found[:120] if isinstance(found, str) else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _total(values: list[Any]) -> Any:
    """The sum over the turns; None unless every turn measured, because a part of it would flatter."""
    return None if not values or None in values else sum(values)


def _digest(text: str) -> float:
    """48 bits that equal texts share, as a number that a float holds exactly."""
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).digest())


def _canonical(call: ToolCall) -> str:
    try:
        return f"{call.name}({_CANONICAL.encode(parse_json(call.arguments))})"
    except PayloadError:
        return f"{call.name}({call.arguments})"
