"""Result files of other verifiers → samples and records that score like our own.

Their ``finish_reason`` and ``tool_calls_valid`` are ignored: the stored response is read again. A TTFT of 0 is "not
measured", and in streamed rows a served model equal to the requested one is only an echo, hence ``None``. What cannot
be mended: durations include the tool's own hidden retries, and streams that died unfinished were filed as ``stop``.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import structs

from vendor_verifier.errors import DataError, Problem
from vendor_verifier.loaders.base import LoadedSamples, UnusableRequest, data_error, kind_of, read_rows, usable
from vendor_verifier.loaders.building import control_tags, expected_in, read_question
from vendor_verifier.records.failures import BAD_KEY, NO_CREDIT, kind_of_status
from vendor_verifier.records.manifest import EntryInfo
from vendor_verifier.records.record import (
    MAX_MESSAGE,
    Attempt,
    Exchange,
    Failure,
    FailureKind,
    Phase,
    Record,
    Timing,
    TurnRecord,
    supersedes,
)
from vendor_verifier.records.request import Turn
from vendor_verifier.records.sample import Sample, Source, content_digest, numbered
from vendor_verifier.suites import TRIGGER
from vendor_verifier.text import counted
from vendor_verifier.wire.base import json_bytes
from vendor_verifier.wire.errors import read_fault
from vendor_verifier.wire.openai_chat import OpenAIChatReader
from vendor_verifier.wire.parse_answer import read_answer
from vendor_verifier.wire.payload import as_count, as_dict, as_list, as_text

_STATUS = re.compile(
    r"(?:error code|status(?:[ _]code)?|http(?:/\d(?:\.\d)?)?(?: error)?)['\"]?\s*[:= ]\s*([45]\d\d)\b", re.IGNORECASE
)
_SECRET = re.compile(r"\b(sk|key|pk|rk)-[\w*.-]{6,}|\b(bearer)\s+\S{6,}", re.IGNORECASE)

# Exception classes of the SDK that those tools use, and the statuses they mean.
_STATUS_OF_TYPE: Mapping[str, int] = {
    "BadRequestError": 400, "AuthenticationError": 401, "PermissionDeniedError": 403, "NotFoundError": 404,
    "ConflictError": 409, "UnprocessableEntityError": 422, "RateLimitError": 429, "InternalServerError": 500,
}  # fmt: skip


# The first match in "type message" wins, so the more specific words come first.
_WORDS: Sequence[tuple[str, FailureKind, Phase]] = (
    (r"name resolution|name or service not known|getaddrinfo|nodename", "dns", "dns"),
    (r"connection refused|actively refused", "connect_refused", "connect"),
    (r"\bssl\b|certificate|\btls\b", "tls", "tls"),
    (r"connect ?timeout|connection timed out", "timeout_connect", "connect"),
    (r"time(d)?[ -]?out", "timeout_total", "stream"),
    (r"incomplete chunked|peer closed|incompleteread", "truncated", "stream"),
    (r"connection reset|readerror|broken pipe", "connection_reset", "stream"),
    (r"protocolerror", "protocol", "stream"),
    (r"rate.?limit|too many requests|quota exceeded", "rate_limited", "headers"),
    (r"overloaded|service unavailable", "overloaded", "headers"),
    (NO_CREDIT, "no_credit", "headers"),
    (f"{BAD_KEY}|unauthorized", "auth", "headers"),
    (r"connection ?error|connecterror|all connection attempts failed", "connect", "connect"),
    (r"jsondecodeerror|expecting value|<html|<!doctype", "not_an_api_response", "parse"),
)


def _failure(response: object) -> Failure:
    """The failure of a row whose status is not a success.

    In this order: a stated status (``Error code: 429 - …``, ``status_code``), the SDK's exception class, telling words,
    an error object's code. Anything else is ``bad_payload``: those tools also file under "failed" whatever
    their own code could not digest in an answer.
    """
    body = as_dict(response)
    fault = read_fault(body) if body else None
    error_type = as_text(body.get("error_type")) or ""
    texts = [as_text(response), *(as_text(body.get(key)) for key in ("error_message", "error"))]
    texts += [fault.message if fault else as_text(body.get("message")), error_type]
    message = next(filter(None, texts), None) or "the row gives no reason for its failure"
    text = _scrubbed(message if error_type in message else f"{error_type}: {message}")
    stated = (as_count(body.get(key)) for key in ("status_code", "status", "code"))
    status = next((each for each in stated if each is not None and 400 <= each <= 599), None)
    if status is None and (found := _STATUS.search(message)):
        status = int(found[1])
    status = status or _STATUS_OF_TYPE.get(error_type) or (fault.status if fault else None)
    if status is not None:
        words = f"{fault.code} {message}" if fault else message
        return Failure.of(kind_of_status(status, words), text, status, phase="headers")
    for words, kind, phase in _WORDS:
        if re.search(words, f"{error_type} {message}", re.IGNORECASE):
            return Failure.of(kind, text, phase=phase)
    return Failure.of("bad_payload", text)


def _scrubbed(text: str) -> str:
    """``text`` without what looks like a key, capped."""
    return _SECRET.sub(lambda found: f"{found[1] or found[2]} …", text)[:MAX_MESSAGE]


# Row keys that hold bookkeeping of the tool, not words about the sample.
_BOOKKEEPING = frozenset({"data_index", "hash", "id", "source"})


class ResultRow(msgspec.Struct, frozen=True):
    """One row. ``index`` is its ``data_index`` (the sample's line in the tool's input), ``None`` when not stated."""

    line: int
    index: int | None
    digest: str
    turn: Turn
    attempt: Attempt
    model_id: str | None = None
    provider: str | None = None
    tags: Mapping[str, Any] = msgspec.field(default_factory=dict)


def read_result(row: Mapping[str, Any], line: int) -> ResultRow:
    """Read one row."""
    request = row.get("request")
    if not isinstance(request, dict):
        read = f"read {kind_of(request)}" if "request" in row else "the key is missing"
        hint = "; this is a file of samples, give it as --test-file-path" if "messages" in row else ""
        raise UnusableRequest(f"expected the request body as an object, {read}{hint}", "request")
    try:
        question = read_question(request)
    except UnusableRequest as reason:
        raise UnusableRequest(str(reason), f"request.{reason.key}" if reason.key else "request") from None
    stated = {key: value for key, value in control_tags(row).items() if key not in _BOOKKEEPING}
    asked_model = as_text(request.get("model")) or None
    routing = as_dict(request.get("provider")) or as_dict(as_dict(row.get("extra_body")).get("provider"))
    pinned = as_list(routing.get("only")) or as_list(routing.get("order"))
    return ResultRow(
        line=line,
        index=as_count(row.get("data_index")),
        digest=content_digest(question.turn),
        turn=question.turn,
        attempt=_attempt(row, streamed=request.get("stream") is True, asked_model=asked_model),
        model_id=asked_model,
        # The upstream that the request pins a router to.
        provider=as_text(next(iter(pinned), None)),
        tags={**question.tags, **stated},
    )


def _attempt(row: Mapping[str, Any], *, streamed: bool, asked_model: str | None) -> Attempt:
    """The stored answer, read and judged by the code that reads live answers."""
    status, body = row.get("status"), row.get("response")
    if status is None and not isinstance(body, dict):
        raise UnusableRequest("the row has neither a status nor a response; was the file cut?", "response")
    timing, choices = _timing(row), as_dict(body).get("choices")
    if status not in (None, "success") or (status is None and not isinstance(choices, list)):
        return Attempt(1, timing, failure=_failure(body))
    first = as_dict(next(iter(as_list(choices)), None))
    if "text" in first and "message" not in first:
        raise UnusableRequest("a raw completion, in which tool calls cannot be recognised", "response")
    content = json_bytes(body) if isinstance(body, dict) else b"null"
    exchange = Exchange(sent_at="", end_ns=0, status=200, chunks=[(0, content)])
    _, response, failure = read_answer(exchange, OpenAIChatReader())
    if failure is not None:
        failure = structs.replace(failure, message=_scrubbed(failure.message))
    if response is not None:
        served = None if streamed and response.served_model == asked_model else response.served_model
        # The tool stored whole bodies whatever the vendor sent, so this says nothing about the vendor.
        anomalies = tuple(name for name in response.anomalies if name != "not_streamed")
        response = structs.replace(response, streamed=streamed, served_model=served, anomalies=anomalies)
    return Attempt(1, timing, response, failure)


def _timing(row: Mapping[str, Any]) -> Timing | None:
    """The times of a row in ms; the tools' zero is "not measured"."""
    end_ns, token_ns = (_ns(row.get(name)) for name in ("duration_ms", "ttft_ms"))
    if end_ns is None:
        return None
    token_ns = token_ns if token_ns is not None and token_ns <= end_ns else None
    return Timing(as_text(row.get("last_run_at")) or "", end_ns, first_token_ns=token_ns)


def _ns(value: object) -> int | None:
    """A number of ms in ns; zero or beyond ten years it is not a measurement."""
    is_one = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < 3.2e11
    return round(value * 1e6) if is_one else None  # type: ignore[operator]


class _File(msgspec.Struct):
    """One file of results. ``answers`` are its rows, each with the id of the sample that it answers."""

    label: str
    repetition: int
    path: Path
    rows: list[ResultRow]
    answers: list[tuple[str, ResultRow]] = []


class Imported(msgspec.Struct, frozen=True):
    """A run made of other people's files. ``samples`` are all that should have been asked of everybody."""

    samples: tuple[Sample, ...]
    records: tuple[Record, ...]
    entries: tuple[EntryInfo, ...]
    warnings: tuple[str, ...]


def import_results(
    files: Mapping[str, Sequence[tuple[Path, Iterable[bytes]]]],
    *,
    model: str,
    baseline: str | None,
    run: str,
    samples: LoadedSamples | None = None,
    skip_bad: bool = False,
) -> Imported:
    """Join result files into one run.

    Rows join by content, and equal questions by their order; of two rows of one file for the same sample the success
    counts, else the first. Planned is what ``samples`` hold, or the union of what the files asked.

    ``files`` are by label the paths, for messages, and physical lines of its result files; the n-th is repetition n.
    ``skip_bad`` turns unusable rows into warnings.

    Raises:
        DataError: unusable rows (all of them, over all files), an unknown baseline, a file without rows, or one that
            shares no question with ``samples``.
    """
    if baseline is not None and baseline not in files:
        raise DataError([Problem(f"the baseline {baseline!r} is not one of the files: {', '.join(files)}")])
    read, problems = _read_files(files)
    if problems and not skip_bad:
        raise data_error(list(dict.fromkeys(problems)))
    if empty := [Problem("no usable row of results in this file", file.path) for file in read if not file.rows]:
        raise data_error([*empty, *problems])
    warnings = [f"left out: {problem}" for problem in problems]
    _number(read, samples)
    # The baseline goes first: where files word a question with other parameters, its wording is kept.
    union = sorted(read, key=lambda file: file.label != baseline)
    planned = {sample.id: sample for sample in (samples.samples if samples else _union(union))}
    records = [record for file in read for record in _records(file, planned, model, run, warnings)]
    entries = []
    for label, every in files.items():
        rows = [row for file in read if file.label == label for row in file.rows]
        entries.append(
            EntryInfo(
                model=model,
                label=label,
                vendor=label,
                model_id=next((row.model_id for row in rows if row.model_id), model),
                provider=next((row.provider for row in rows if row.provider), None),
                is_baseline=label == baseline,
                repeat=len(every) if len(every) > 1 else None,
            )
        )
    warnings.append("Imported times include retries that the other tool hid; its streams have no token times.")
    return Imported(tuple(planned.values()), tuple(records), tuple(entries), tuple(warnings))


def _read_files(files: Mapping[str, Sequence[tuple[Path, Iterable[bytes]]]]) -> tuple[list[_File], list[Problem]]:
    read: list[_File] = []
    problems: list[Problem] = []
    for label, every in files.items():
        for number, (path, lines) in enumerate(every):
            rows = usable(read_rows(lines, path), lambda row: read_result(row.fields, row.line), path, problems)
            read.append(_File(label, number, path, [result for _, result in rows]))
    return read, problems


def _number(files: Sequence[_File], samples: LoadedSamples | None) -> None:
    """Give each row the id of its sample: by content, and by its line in the test file as far as that is stated.

    Rows that state no line count in the order in which they come.
    """
    stated: dict[str, set[int]] = {}
    for row in (row for file in files for row in file.rows if row.index is not None):
        stated.setdefault(row.digest, set()).add(row.index or 0)
    known: dict[str, set[int]] = {}
    for sample in samples.samples if samples else ():
        if sample.source is not None:
            known.setdefault(sample.id.rpartition("-")[0], set()).add(sample.source.line)
    # Another count (from 0, or of a filtered file) only gives the order; the same count gives the line.
    same = {content: lines for content, lines in known.items() if stated.get(content, set()) <= lines}
    order = {content: sorted(lines) for content, lines in {**stated, **same}.items()}
    for file in files:
        unnumbered: Counter[str] = Counter()
        for row in file.rows:
            if row.index is None:
                unnumbered[row.digest] += 1
            number = unnumbered[row.digest] if row.index is None else bisect_left(order[row.digest], row.index) + 1
            file.answers.append((numbered(row.digest, number), row))


def _union(files: Iterable[_File]) -> list[Sample]:
    """Everything that any file asked, in the order of the lines it came from."""
    asked: dict[str, ResultRow] = {}
    for sample_id, row in (each for file in files for each in file.answers):
        asked.setdefault(sample_id, row)
    # By the line of the sample in the test file, where the row states it.
    lines = {each: row.line if row.index is None else row.index for each, row in asked.items()}
    return [
        Sample(each, row.turn, expected_in(row.tags), row.tags, Source("imported results", lines[each]))
        for each, row in sorted(asked.items(), key=lambda one: (lines[one[0]], one[0]))
    ]


def _records(file: _File, planned: Mapping[str, Sample], model: str, run: str, warnings: list[str]) -> Iterator[Record]:
    """The records of a file in the order of the plan; what is left out of it is added to the warnings."""
    label, kept = file.label, dict[str, Record]()
    unplanned = [row.line for sample_id, row in file.answers if sample_id not in planned]
    answers = [(sample_id, row) for sample_id, row in file.answers if sample_id in planned]
    for sample_id, row in answers:
        turns = (TurnRecord((row.attempt,)),)
        record = Record(run, model, label, label, TRIGGER, sample_id, file.repetition, turns)
        if sample_id not in kept or supersedes(record, kept[sample_id]):
            kept[sample_id] = record
    if not kept:
        words = "none of its questions is in the test file; give the file that was used"
        raise DataError([Problem(words, file.path)])
    if unplanned:
        rows = counted(len(unplanned), "row")
        warnings.append(f"{label}: {rows} left out, not in the test file (first: line {unplanned[0]})")
    if repeated := len(answers) - len(kept):
        rows = counted(repeated, "row")
        warnings.append(f"{label}: {rows} for a sample that already had one; a success counts, else the first")
    yield from (kept[sample_id] for sample_id in planned if sample_id in kept)
