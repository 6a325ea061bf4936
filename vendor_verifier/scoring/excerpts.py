"""Cuts a record that went wrong down to an example that fits on a page; it judges nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from vendor_verifier.values.record import Attempt, Failure, Record
from vendor_verifier.values.sample import Sample
from vendor_verifier.values.score import CallVerdict, Case, Example, ExampleKind

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
