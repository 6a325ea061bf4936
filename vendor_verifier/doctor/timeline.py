"""The timeline of one answer, decoded from its bytes and time stamps; pure, and it judges nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from vendor_verifier.doctor.values import Answer, Moment
from vendor_verifier.values.event import (
    Fault,
    Finish,
    ReasoningDelta,
    SseEvent,
    StreamEnd,
    StreamEvent,
    TextDelta,
    ToolCallDelta,
    Usage,
)
from vendor_verifier.wire.base import Reader
from vendor_verifier.wire.sse import SseDecoder

_SHOWN_FIRST = 3
_TEXT_LENGTH = 40
_NS_PER_MS = 1e6


def timeline(answer: Answer, reader: Reader) -> tuple[Moment, ...]:
    """When what happened, in milliseconds since the request was sent; ``reader`` is fresh and used up.

    Token moments beyond the third are told as one, with their longest pause, and the last.
    """
    exchange = answer.exchange
    moments = [Moment(0.0, "request sent")]
    if exchange.headers_ns is not None:
        moments.append(Moment(_ms(exchange.headers_ns), f"headers, status {exchange.status}"))
    heard = list(_heard(answer, reader)) if answer.accepted else []
    if heard:
        moments.append(Moment(_ms(heard[0][0]), "first event"))
    moments += _token_moments(heard)
    moments += [told for at_ns, event in heard if (told := _told(at_ns, event)) is not None]
    end = answer.failure.kind if answer.failure is not None else "end of the answer"
    moments.append(Moment(_ms(exchange.end_ns), end))
    return tuple(sorted(moments, key=lambda moment: moment.at_ms))


def _heard(answer: Answer, reader: Reader) -> Iterator[tuple[int, StreamEvent | None]]:
    """Every event with its moment; ``None`` stands for one that says nothing."""
    decoder = SseDecoder()
    last_ns = 0
    for at_ns, chunk in answer.exchange.chunks:
        last_ns = at_ns
        for event in decoder.feed(chunk):
            yield from _read(at_ns, event, reader)
    for event in decoder.close():
        yield from _read(last_ns, event, reader)


def _read(at_ns: int, event: SseEvent, reader: Reader) -> Iterator[tuple[int, StreamEvent | None]]:
    yield at_ns, None
    for heard in reader.read(event):
        yield at_ns, heard


def _token_moments(heard: Sequence[tuple[int, StreamEvent | None]]) -> list[Moment]:
    texts: dict[int, str] = {}
    for at_ns, event in heard:
        words = _words(event)
        if words:
            texts[at_ns] = (texts.get(at_ns, "") + words)[: _TEXT_LENGTH + 1]
    told = [Moment(_ms(at_ns), "token", _shortened(text)) for at_ns, text in texts.items()]
    if told:
        told[0] = Moment(told[0].at_ms, "first token", told[0].text)
    hidden = told[_SHOWN_FIRST:-1]
    if len(hidden) < 2:
        return told
    pause_ms = max(later.at_ms - earlier.at_ms for earlier, later in pairwise(told[_SHOWN_FIRST - 1 :]))
    many = Moment(hidden[0].at_ms, f"{len(hidden)} more token moments", f"longest pause {pause_ms:.0f} ms")
    return [*told[:_SHOWN_FIRST], many, Moment(told[-1].at_ms, "last token", told[-1].text)]


def _words(event: StreamEvent | None) -> str:
    match event:
        case TextDelta(text) | ReasoningDelta(text):
            return text
        case ToolCallDelta(name=name, arguments=arguments):
            return f"{name or ''}{arguments if arguments is not None else ''}"
    return ""


def _told(at_ns: int, event: StreamEvent | None) -> Moment | None:
    match event:
        case Finish(reason, raw):
            return Moment(_ms(at_ns), "finish", reason if raw in (None, reason) else f"{reason} (said {raw!r})")
        case Usage(input=input_tokens, output=output_tokens):
            return Moment(_ms(at_ns), "usage", f"input {_number(input_tokens)}, output {_number(output_tokens)}")
        case StreamEnd():
            return Moment(_ms(at_ns), "end marker")
        case Fault(message):
            return Moment(_ms(at_ns), "error in the stream", _shortened(message))
    return None


def _number(tokens: int | None) -> str:
    return "not reported" if tokens is None else str(tokens)


def _shortened(text: str) -> str:
    return text if len(text) <= _TEXT_LENGTH else text[:_TEXT_LENGTH] + "…"


def _ms(ns: int) -> float:
    return round(ns / _NS_PER_MS, 1)
