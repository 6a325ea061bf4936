"""Evidence as lines for a terminal, every word of a vendor or sample made harmless."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
import pandas as pd

from vendor_verifier.features.explain.evidence import Evidence, Table
from vendor_verifier.features.explain.sample import Answer, answer_of
from vendor_verifier.records.record import Attempt, Record
from vendor_verifier.reports.escape import MAX_SENTENCE, plain

_MOMENTS = ("sent", "first", "last")


def vendor_lines(found: Sequence[Evidence], limit: int) -> Iterator[str]:
    """The verdict, then facet by facet its findings and tables, then the failures with their curl commands."""
    for evidence in found:
        head = "verdict" if evidence.facet is None else evidence.facet.replace("_", " ")
        yield plain(f"{head}: {evidence.status.replace('_', ' ')}: {evidence.reason}", MAX_SENTENCE)
        for finding in evidence.findings:
            if finding.text != evidence.reason:
                word = "note" if finding.status == "matches" else finding.status.replace("_", " ")
                yield "  " + plain(f"{word}: {finding.text}", MAX_SENTENCE)
            if finding.samples:
                yield "  " + plain(f"samples: {', '.join(finding.samples[:5])}")
        for table in evidence.tables:
            yield from _table(table, limit)
    for answer in (answer for evidence in found for answer in evidence.failures):
        yield plain(f"failure: {_name(answer.record)}")
        attempts = [attempt for turn in answer.record.turns for attempt in turn.attempts]
        yield from ("  " + plain(line, limit) for attempt in attempts[-1:] for line in _attempt(attempt))
        yield from _curl(answer)


def _name(record: Record) -> str:
    sample = record.sample if record.sample_name is None else f"{record.sample_name} ({record.sample})"
    return f"{record.suite} {sample}" + (f", repetition {record.repetition + 1}" if record.repetition else "")


def _table(found: Table, limit: int) -> Iterator[str]:
    yield f"  {found.title}"
    names = [name for name in found.rows[0] if name not in found.texts]
    table = pd.DataFrame({name: [_cell(name, row[name]) for row in found.rows] for name in names})
    header, *lines = table.to_string(index=False).splitlines()
    yield f"    {header}"
    for line, row in zip(lines, found.rows, strict=True):
        yield f"    {line}"
        yield from (f"      {name}: {plain(str(row[name]), limit)}" for name in found.texts)


def _cell(name: str, value: Any) -> str:
    if value is None:
        return "–"
    if name in _MOMENTS:
        return datetime.fromtimestamp(value, UTC).strftime("%Y-%m-%d %H:%M:%S")
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1_000 or value.is_integer() else f"{value:.3g}"
    return plain(str(value), 100)


def answer_lines(found: Sequence[Answer], limit: int) -> Iterator[str]:
    """What is wrong, prompt, reply, expectation, the other answers and a curl; no text above ``limit`` characters."""
    answer, record, sample = found[0], found[0].record, found[0].sample
    yield plain(f"{record.model} / {record.label}: {_name(record)}")
    if sample.source is not None:
        yield plain(f"from {sample.source.dataset}, line {sample.source.line}")
    if answer.redacted:
        yield "this run is redacted: it stored digests of the texts"
    yield from (plain(f"wrong: {each}") for each in answer.wrong or ("nothing",))
    yield from (plain(f"defect of the sample: {defect}") for defect in answer.defects)
    turn = answer.asked[-1] if answer.asked else sample.turn
    yield "prompt"
    for message in turn.messages:
        is_text = isinstance(message.get("content"), str) and len(message) == 2
        words = message["content"] if is_text else _json(message)
        yield "  " + plain(f"{message.get('role')}: {words}", limit)
    tools = [str(tool.get("function", {}).get("name")) for tool in turn.tools]
    yield "  " + plain(f"tools: {', '.join(tools) or 'none'}", limit)
    if turn.parameters:
        yield "  " + plain(f"parameters: {_json(turn.parameters)}", limit)
    for number, answered in enumerate(record.turns, 1):
        for attempt in answered.attempts:
            again = ", sent again on a new connection" if attempt.resent else ""
            yield f"reply to turn {number}, attempt {attempt.number}{again}"
            yield from ("  " + plain(line, limit) for line in _attempt(attempt))
        for result in answered.tool_results:
            yield "  " + plain(f"tool {result.name} ({result.outcome}): {result.text}", limit)
    yield "judged"
    yield "  " + plain(f"expected: {_json(sample.expected)}", limit)
    scores = "".join(f", {name} {_cell(name, value)}" for name, value in answer.score.values.items())
    yield "  " + plain(f"seen: {answer.score.decision}".replace("_", " ") + scores, limit)
    yield "other answers"
    for other in found[1:]:
        name = f"{other.record.label}, the baseline" if other.is_baseline else other.record.label
        yield "  " + plain(f"{name}: {answer_of(other.record)}", limit)
    yield from _curl(answer)


def _attempt(attempt: Attempt) -> Iterator[str]:
    timing, response, failure = attempt.timing, attempt.response, attempt.failure
    if timing is not None:
        moments = {"first token": timing.first_token_ns, "last token": timing.last_token_ns, "end": timing.end_ns}
        moments["our own lateness at most"] = timing.our_lateness_ns
        words = [f"{name} {ns / 1e6:.0f} ms" for name, ns in moments.items() if ns is not None]
        yield ", ".join([f"sent {timing.sent_at[:23].replace('T', ' ')}", *words])
    if response is not None:
        yield from (f"{name}: {text}" for name in ("reasoning", "text") if (text := getattr(response, name)))
        yield from (f"call: {call.name}({call.arguments}) {', '.join(call.anomalies)}" for call in response.tool_calls)
        facts: dict[str, Any] = {"finish": response.finish_raw, "model": response.served_model}
        facts |= {"provider": response.served_provider, "fingerprint": response.fingerprint}
        facts |= {"request id": response.request_id, "anomalies": ", ".join(response.anomalies)}
        for name in ("input", "output", "cached", "reasoning"):
            facts[f"{name} tokens"] = getattr(response.usage, name, None)
        yield ", ".join(f"{name} {value}" for name, value in facts.items() if value not in (None, ""))
    if failure is not None:
        status = "" if failure.status is None else f", HTTP {failure.status}"
        yield f"failed: {failure.kind}{status}: {failure.message}"


def _curl(answer: Answer) -> Iterator[str]:
    if answer.curl is None:
        yield plain(f"no curl: {answer.no_curl}")
    else:
        yield "ask again"
        # Already harmless, and a cut would make it another request.
        yield from answer.curl.splitlines()


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
