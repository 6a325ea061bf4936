"""Records as DataFrames: one row a record, in one pass over the records. Everything that is judged reads these frames.

A row is a record of the plan. Of several records under one key a success replaces a failure, else the first one
counts. Missing is missing (NaN, or no category), never 0.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import union_categoricals

from vendor_verifier.loaders.building import parameter_defects
from vendor_verifier.records.manifest import SchemaPolicy
from vendor_verifier.records.record import Attempt, Record, Score
from vendor_verifier.records.sample import Sample, Samples
from vendor_verifier.scoring.answer import (
    Answer,
    AnswerTexts,
    buffered,
    canonical_call,
    characters,
    is_billed,
    is_late,
    lateness_ns,
    reported_usage,
)
from vendor_verifier.scoring.columns import ATTEMPT_COLUMNS, EVALUATION_COLUMNS, RECORD_COLUMNS, Column
from vendor_verifier.suites import Suite, suite_kind
from vendor_verifier.suites.schema import checker_of
from vendor_verifier.suites.trigger import judged

CHUNK = 20_000
_TAGS = ("category", "difficulty", "call_type", "id")
_ADDED_LIMIT = re.compile(r"added:max_tokens=(\d{1,9})")
_RESPONSE = ("finish_reason", "served_model", "served_provider", "fingerprint")


@dataclass(frozen=True, slots=True)
class Frames:
    """The frames of a run: ``records``, the ``attempts`` that did not end a successful turn, and the ``evaluations``'
    values of each record. ``texts`` are the answers that are compared, ``outside`` counts records of no plan."""

    records: pd.DataFrame
    attempts: pd.DataFrame
    evaluations: pd.DataFrame
    texts: AnswerTexts
    outside: int = 0


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
    rows, tries, values = (_Rows(columns) for columns in (RECORD_COLUMNS, ATTEMPT_COLUMNS, EVALUATION_COLUMNS))
    texts, outside, number = texts or AnswerTexts(), 0, 0
    mains = {name: kind.ranks_by for name in suites if (kind := suite_kind(name)) is not None}
    for record in records:
        suite, known = suites.get(record.suite), samples.get(record.suite)
        sample = None if known is None else known.named(record.sample)
        planned = repeats is None or record.repetition < repeats.get((record.model, record.label), 0)
        if suite is None or sample is None or not planned:
            outside += 1
            continue
        score = judged(record, suite, sample)
        rows.add(_row(record, score, sample, mains.get(record.suite)))
        for name, value in score.values.items():
            values.add((number, name, value))
        for attempt in _spent_attempts(record):
            tries.add(attempt)
        texts.take(record)
        if listener is not None:
            listener(record, sample, score)
        number += 1
    whole = _without_repeated(rows.frame())
    _charge_the_network(whole)
    evaluations = values.frame()
    if len(whole) < number:
        evaluations = evaluations[evaluations["record"].isin(whole.index)]
    return Frames(whole, tries.frame(), evaluations, texts, outside)


class _Rows:
    """Rows on their way into a frame, in chunks of typed columns."""

    def __init__(self, columns: tuple[Column, ...]) -> None:
        self._columns = columns
        self._waiting: list[tuple[Any, ...]] = []
        self._parts: list[list[Any]] = [[] for _ in columns]

    def add(self, row: tuple[Any, ...]) -> None:
        self._waiting.append(row)
        if len(self._waiting) == CHUNK:
            self._write()

    def _write(self) -> None:
        columns = zip(*self._waiting, strict=True) if self._waiting else [()] * len(self._columns)
        for parts, values, column in zip(self._parts, columns, self._columns, strict=True):
            is_word = column.dtype == "category"
            parts.append(pd.Categorical(pd.Series(values, dtype="str")) if is_word else np.array(values, column.dtype))
        self._waiting.clear()

    def frame(self) -> pd.DataFrame:
        """All rows; nothing can be added any more."""
        self._write()
        frame: dict[str, Any] = {}
        for column, parts in zip(self._columns, self._parts, strict=True):
            is_word = column.dtype == "category"
            frame[column.name] = union_categoricals(parts, sort_categories=True) if is_word else np.concatenate(parts)
            parts.clear()
        return pd.DataFrame(frame, copy=False)


def _without_repeated(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows that count, with their index kept: a success, or a conclusive check, replaces the others of its key."""
    key = ["model", "label", "suite", "sample", "repetition"]
    if not frame.duplicated(key).any():
        return frame
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
        charges = frame["charge"].astype(object).mask(doors & troubled, "network").replace("door", "vendor")
        frame["charge"] = charges.astype("category")


def _row(record: Record, score: Score, sample: Sample, main: str | None) -> tuple[Any, ...]:
    ok, turns = record.succeeded, record.turns
    attempts = turns[0].attempts if len(turns) == 1 else tuple(each for turn in turns for each in turn.attempts)
    finals = [turn.attempts[-1] for turn in turns if turn.attempts]
    final = finals[-1] if finals and turns[-1].attempts else None
    response, timing = (None, None) if final is None else (final.response, final.timing)
    answers = list(map(Answer, finals)) if ok else []
    if main is None and not ok and final is not None and final.succeeded and "status" in score.details:
        # A feature check may be refused at first; its last answer counts.
        answers = [Answer(final)]
    kind, charge = (None, None) if ok else _blame(finals, sample)
    begun_s, last_s, waited_ms = sent_s(attempts[0] if attempts else None), sent_s(final), None
    ended_s = None if last_s is None or timing is None else last_s + timing.end_ns / 1e9
    if timing is not None and record.offered_s is not None and timing.scheduled_ns is not None:
        waited_ms = -timing.scheduled_ns / 1e6
    limit = sample.turn.parameters.get("max_tokens")
    # Usage in a stream is no part of the question.
    rewritten = {note for turn in turns for note in turn.rewritten} - {"dropped:stream_options"}
    for note in filter(None, map(_ADDED_LIMIT.fullmatch, rewritten)):
        limit = int(note[1])
        if getattr(response, "finish_reason", None) != "length":
            # A limit of ours changes no answer that ends before it.
            rewritten = rewritten - {note[0]}
    return (
        record.model, record.label, record.suite, record.sample, record.repetition, record.block, record.region,
        begun_s, ended_s, record.offered_s, waited_ms,
        ok, kind, charge, len(turns), len(attempts), record.resent, ok and len(attempts) > len(turns),
        score.decision, len(score.calls), ",".join([call.verdict for call in score.calls]) or None,
        response is not None and bool(sample.turn.tools) and bool(score.calls or not response.tool_calls),
        score.values.get(main) if main else None,
        _problem(score), _text(score.details.get("status")), *(_text(sample.tags.get(name)) for name in _TAGS),
        *(getattr(response, name, None) for name in _RESPONSE),
        _anomalies(score, finals, answers),
        ",".join(sorted(rewritten)) or None, *_measured(record, answers),
        limit if isinstance(limit, int) else None, *_digests(answers),
    )  # fmt: skip


def _blame(finals: list[Attempt], sample: Sample) -> tuple[str, str]:
    failure = next((each.failure for each in finals if each.failure is not None), None)
    if failure is None:
        return "harness", "us"
    charge: str = failure.rules.charge
    if charge == "question":
        # A sample that no vendor can take explains a refusal.
        is_defective = checker_of(sample.turn.tools).may_be_refused or parameter_defects(sample.turn.parameters)
        charge = "data" if is_defective else "vendor"
    return failure.rules.name if charge == "account" else failure.kind, charge


def _measured(record: Record, answers: list[Answer]) -> tuple[Any, ...]:
    """The columns from ``ttft_ms`` to ``discarded``. Over several turns times are means, and what is summed is missing
    unless every turn measured it, because a partial sum is too low."""
    if not answers:
        return (None,) * 14
    first, timing, usages = answers[0], answers[0].attempt.timing, [answer.usage for answer in answers]
    late_ns, begun_late_ns, due = max(lateness_ns(each.attempt) for each in answers), 0, None
    tokens = [_total([getattr(each, name) for each in usages]) for name in _USAGE]
    parts = [each.decoded for each in answers if each.decoded is not None]
    after, decode_s = map(sum, zip(*parts, strict=True)) if parts else (None, None)
    if record.offered_s is not None and timing is not None and timing.scheduled_ns is not None:
        due = None if first.first_ms is None else first.first_ms - timing.scheduled_ns / 1e6
        begun_late_ns = timing.begun_late_ns or 0
    late_ms = late_ns / 1e6
    times = {
        "ttft_ms": (_mean([each.first_ms for each in answers]), late_ms),
        "ttft_due_ms": (due, late_ms + begun_late_ns / 1e6),
        "ttfat_ms": (_mean([each.answer_ms for each in answers]), late_ms),
        "e2e_ms": (_total([each.end_ms for each in answers]), late_ms),
        "decode_s": (decode_s, late_ns / 1e9),
    }
    spoilt = [name for name, (time, late) in times.items() if time is not None and late and is_late(late, time)]
    *kept, decode_s = (None if name in spoilt else time for name, (time, _) in times.items())
    is_watched = timing is not None and timing.our_lateness_ns is not None
    return (
        *kept, first.connect_ms, *tokens, None if decode_s is None else after, decode_s,
        late_ms if is_watched else None, ",".join(spoilt) or None,
    )  # fmt: skip


_USAGE = ("input", "output", "cached", "reasoning", "cost_usd")


def _anomalies(score: Score, finals: list[Attempt], answers: list[Answer]) -> str | None:
    found = [*score.anomalies]
    for response in filter(None, (attempt.response for attempt in finals)):
        found += [*response.anomalies, *(note for call in response.tool_calls for note in call.anomalies)]
    for answer in answers:
        found += ["buffered"] * buffered(answer) + ["tokens_not_shown"] * answer.hides_tokens
    return ",".join(dict.fromkeys(found)) or None


def _digests(answers: list[Answer]) -> tuple[int | None, int | None]:
    """The columns ``characters`` and ``call_digest``: 48 bits, which a float holds exactly."""
    responses = [answer.attempt.response for answer in answers if answer.attempt.response is not None]
    calls = [canonical_call(call) for response in responses for call in response.tool_calls]
    digest = blake2b("\0".join(calls).encode("utf-8", "surrogatepass"), digest_size=6).digest()
    return sum(map(characters, responses)) if answers else None, int.from_bytes(digest) if calls else None


def sent_s(attempt: Attempt | None) -> float | None:
    """When an attempt was sent, in seconds since 1970; None when it never was, or the time is unknown."""
    if attempt is None or attempt.timing is None:
        return None
    try:
        moment = datetime.fromisoformat(attempt.timing.sent_at)
    except ValueError:
        return None
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()


def _spent_attempts(record: Record) -> Iterator[tuple[Any, ...]]:
    ok = record.succeeded
    for turn in record.turns:
        for attempt in turn.attempts:
            if ok and attempt is turn.attempts[-1]:
                continue
            usage, failure = reported_usage(attempt), attempt.failure
            yield (
                record.model, record.label, record.suite, record.sample, record.repetition, sent_s(attempt),
                None if attempt.timing is None else attempt.timing.end_ns / 1e9,
                None if failure is None else failure.kind, ok, is_billed(attempt),
                *(getattr(usage, name) for name in _USAGE),
            )  # fmt: skip


def _problem(score: Score) -> str | None:
    """A short reason that many samples can share; whole sentences stay in the score's details."""
    found = score.details.get("evidence") or score.details.get("error")
    if isinstance(found, list):
        # A sentence of details names this sample only; the type of the error is common to many.
        found = score.details.get("error_type")
    return found[:120] if isinstance(found, str) else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


_VALID = {"lenient": {"valid", "empty_arguments", "valid_in_dialect"}, "strict": {"valid"}}
_NOT_COUNTED = {"lenient": {"schema_unusable", "not_judged"}, "strict": {"not_judged"}}
INVALID_CALLS = ("invalid_json", "unknown_tool", "schema_mismatch")
_BAD = {*INVALID_CALLS, "empty_arguments"}


def of_words(column: pd.Series[Any], of: Callable[[list[str]], float]) -> Any:
    """A number of every row's words, which have commas between them, as an array; equal rows are looked at once."""
    found = [of(str(words).split(",")) for words in column.cat.categories]
    return np.array([*found, of([])], dtype=float)[column.cat.codes.to_numpy()]


def has_word(column: pd.Series[Any], *wanted: str) -> pd.Series[bool]:
    """Which rows have one of these words."""
    found = of_words(column, lambda words: float(not set(wanted).isdisjoint(words)))
    return pd.Series(found > 0, index=column.index)


def judged_calls(column: pd.Series[Any], policy: SchemaPolicy = "lenient") -> tuple[Any, Any]:
    """For every row of ``classes`` its valid calls and its calls that count; schema accuracy is their ratio.

    lenient: (valid + empty_arguments + valid_in_dialect) ÷ (calls − schema_unusable − not_judged). A ``""`` for a tool
    without required arguments means ``{}``, and a schema that cannot judge is the data set's defect.
    strict: valid ÷ (calls − not_judged), as K2-Vendor-Verifier's result files count.
    """
    valid = of_words(column, lambda classes: sum(each in _VALID[policy] for each in classes))
    return valid, of_words(column, lambda classes: sum(each not in _NOT_COUNTED[policy] for each in classes))


def has_bad_call(column: pd.Series[Any]) -> Any:
    """1 for a row with a bad call, 0 for one without, NaN where it is not known, unless one of its calls is bad.

    tool_call_error_rate = requests with a bad call ÷ answered requests that declared tools, as OpenRouter publishes it
    for its providers (https://openrouter.ai/docs/guides/routing/auto-exacto). An answer without calls counts, as good.
    """
    return of_words(column, lambda classes: 1.0 if _BAD & set(classes) else np.nan if "not_judged" in classes else 0.0)


def _mean(values: list[Any]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _total(values: list[Any]) -> Any:
    return None if None in values else sum(values)
