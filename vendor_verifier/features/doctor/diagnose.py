"""One diagnosis from an examination: all checks, the timeline of the answer, tokens and cost used; pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from msgspec import structs

from vendor_verifier.audit.cost import cost_usd
from vendor_verifier.errors import UsageError
from vendor_verifier.features.doctor.checks import (
    answer_check,
    clock_check,
    error_body,
    key_check,
    model_check,
    name_check,
    provider_check,
    served_model_check,
    streams_check,
    tls_check,
    tools_check,
    usage_check,
)
from vendor_verifier.features.doctor.values import (
    Answer,
    Case,
    Check,
    Diagnosis,
    Moment,
    SdkFinding,
    Spending,
    Topic,
    Verdict,
)
from vendor_verifier.metrics.answer import characters
from vendor_verifier.pipeline.prices import price_from_config
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
from vendor_verifier.wire.base import Reader, Wire
from vendor_verifier.wire.sse import SseDecoder
from vendor_verifier.words import english

CHARACTERS_PER_TOKEN = 4


def spending(answers: Sequence[Answer], price: Mapping[str, Any] | None) -> Spending:
    """The sum over all requests that the vendor took; refused ones cost nothing.

    An answer costs what the vendor reports for it, else its tokens by the configured ``price``, which gives no cost
    where it is not whole.
    """
    try:
        known = None if price is None else price_from_config(price, "")
    except UsageError:
        known = None
    taken = [(answer, *_usage(answer)) for answer in answers if answer.accepted]
    costs = [
        usage.cost_usd if usage.cost_usd is not None else None if known is None else cost_usd(usage, known)
        for _, usage, _ in taken
    ]
    return Spending(
        requests=sum(bool(answer.exchange.sent_at) for answer in answers),
        input_tokens=sum(usage.input or 0 for _, usage, _ in taken),
        output_tokens=sum(usage.output or 0 for _, usage, _ in taken),
        estimated=any(estimated for _, _, estimated in taken),
        cost_usd=sum(cost for cost in costs if cost is not None) if None not in costs else None,
    )


def _usage(answer: Answer) -> tuple[Usage, bool]:
    """The token usage that the answer reports, or an estimate by its characters, and whether it is an estimate."""
    usage = (answer.response.usage if answer.response is not None else None) or Usage()
    if usage.input is not None and usage.output is not None:
        return usage, False
    received = characters(answer.response) if answer.response is not None else 0
    given = -(-len(answer.request.body) // CHARACTERS_PER_TOKEN)
    return structs.replace(usage, input=given, output=-(-received // CHARACTERS_PER_TOKEN)), True


_SHOWN_FIRST = 3
_TEXT_LENGTH = 40
_NS_PER_MS = 1e6


def timeline(answer: Answer, reader: Reader) -> tuple[Moment, ...]:
    """The moments of an answer, in milliseconds since the request was sent; ``reader`` is fresh and used up.

    Token moments beyond the third are summed up in one, with their longest pause, before the last.
    """
    exchange = answer.exchange
    moments = [Moment(0.0, english("timeline_sent"))]
    if exchange.headers_ns is not None:
        moments.append(Moment(_ms(exchange.headers_ns), english("timeline_headers", status=exchange.status)))
    events = list(_events(answer, reader)) if answer.accepted else []
    if events:
        moments.append(Moment(_ms(events[0][0]), english("timeline_event")))
    moments += _token_moments(events)
    moments += [moment for at_ns, event in events if (moment := _moment(at_ns, event)) is not None]
    end = answer.failure.kind if answer.failure is not None else english("timeline_end")
    moments.append(Moment(_ms(exchange.end_ns), end))
    return tuple(sorted(moments, key=lambda moment: moment.at_ms))


def _events(answer: Answer, reader: Reader) -> Iterator[tuple[int, StreamEvent | None]]:
    """Every event with its moment; ``None`` stands for one without content."""
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
    for parsed in reader.read(event):
        yield at_ns, parsed


def _token_moments(events: Sequence[tuple[int, StreamEvent | None]]) -> list[Moment]:
    texts: dict[int, str] = {}
    for at_ns, event in events:
        words = _words(event)
        if words:
            texts[at_ns] = (texts.get(at_ns, "") + words)[: _TEXT_LENGTH + 1]
    moments = [Moment(_ms(at_ns), english("timeline_token"), _shortened(text)) for at_ns, text in texts.items()]
    if moments:
        moments[0] = Moment(moments[0].at_ms, english("timeline_first_token"), moments[0].text)
    hidden = moments[_SHOWN_FIRST:-1]
    if len(hidden) < 2:
        return moments
    pause_ms = max(later.at_ms - earlier.at_ms for earlier, later in pairwise(moments[_SHOWN_FIRST - 1 :]))
    pause = english("timeline_pause", ms=f"{pause_ms:.0f}")
    many = Moment(hidden[0].at_ms, english("timeline_more", count=len(hidden)), pause)
    return [*moments[:_SHOWN_FIRST], many, Moment(moments[-1].at_ms, english("timeline_last_token"), moments[-1].text)]


def _words(event: StreamEvent | None) -> str:
    match event:
        case TextDelta(text) | ReasoningDelta(text):
            return text
        case ToolCallDelta(name=name, arguments=arguments):
            return f"{name or ''}{arguments if arguments is not None else ''}"
    return ""


def _moment(at_ns: int, event: StreamEvent | None) -> Moment | None:
    match event:
        case Finish(reason, raw):
            words = reason if raw in (None, reason) else english("timeline_said", reason=reason, raw=repr(raw))
            return Moment(_ms(at_ns), english("timeline_finish"), words)
        case Usage(input=input_tokens, output=output_tokens):
            counts = english("timeline_tokens", input=_number(input_tokens), output=_number(output_tokens))
            return Moment(_ms(at_ns), english("timeline_usage"), counts)
        case StreamEnd():
            return Moment(_ms(at_ns), english("timeline_marker"))
        case Fault(message):
            return Moment(_ms(at_ns), english("timeline_error"), _shortened(message))
    return None


def _number(tokens: int | None) -> str:
    return english("doctor_not_reported") if tokens is None else str(tokens)


def _shortened(text: str) -> str:
    return text if len(text) <= _TEXT_LENGTH else text[:_TEXT_LENGTH] + "…"


def _ms(ns: int) -> float:
    return round(ns / _NS_PER_MS, 1)


CHECKS: tuple[Callable[[Case], Check], ...] = (
    name_check,
    tls_check,
    key_check,
    model_check,
    answer_check,
    tools_check,
    streams_check,
    usage_check,
    served_model_check,
    provider_check,
    clock_check,
)
# Without these there is nothing to use; the others are reservations.
_VITAL = frozenset({"name resolves", "tls", "key accepted", "model exists", "answers"})


def diagnose(case: Case, wire: Wire, hints: Sequence[str] = ()) -> Diagnosis:
    """Judge one case. ``wire`` gives a fresh reader for the timeline; ``hints`` are added as they are."""
    entry = case.entry
    checks = tuple(check(case) for check in CHECKS)
    shown = _most_telling(case.answers)
    return Diagnosis(
        model=entry.model,
        label=entry.label,
        vendor=entry.vendor,
        wire=entry.wire,
        model_id=entry.endpoint.model_id,
        reach=case.reach,
        verdict=verdict(checks, case.sdk),
        checks=checks,
        spending=spending(case.answers, entry.price),
        address=_address(case),
        asked=len(case.answers),
        whole=sum(answer.succeeded for answer in case.answers),
        first_token_ms=_first_token_ms(shown),
        prompt_tokens={topic: prompt_tokens(case, topic) for topic in ("tools", "text")},
        hints=tuple(hints),
        key_name=entry.key_name
        or (english("doctor_key_command", command=entry.key_command[0]) if entry.key_command else None),
        timeline_of=shown.question.name if shown is not None else None,
        timeline=timeline(shown, wire.reader(shown.question.turn.tools)) if shown is not None else (),
        error_body=error_body(case.answers),
        sdk=case.sdk,
    )


def verdict(checks: Iterable[Check], sdk: Iterable[SdkFinding] = ()) -> Verdict:
    """Not usable when a vital check failed; with reservations when anything else departs; usable otherwise."""
    found = list(checks)
    if any(check.status == "failed" and check.name in _VITAL for check in found):
        return "not_usable"
    departs = any(check.status in ("failed", "warning") for check in found)
    differs = any(one.status in ("crashes", "loses") for one in sdk)
    return "usable_with_reservations" if departs or differs else "usable"


def exit_code_of(diagnoses: Iterable[Diagnosis]) -> int:
    """0 all are usable as they are, 1 something departs, 3 a vendor cannot be used."""
    verdicts = {diagnosis.verdict for diagnosis in diagnoses}
    if "not_usable" in verdicts:
        return 3
    return 1 if "usable_with_reservations" in verdicts else 0


def prompt_tokens(case: Case, topic: Topic) -> int | None:
    """The input tokens that the first answer to a topic reports."""
    asked = case.about(topic)
    usage = asked[0].response.usage if asked and asked[0].response is not None else None
    return usage.input if usage is not None else None


def _address(case: Case) -> str:
    """Where the first question went, without what may be a key in it; the configured address where none did."""
    asked = next((answer.request.url for answer in case.answers if answer.request.url), case.entry.endpoint.base_url)
    parts = urlsplit(asked)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _first_token_ms(answer: Answer | None) -> float | None:
    first_ns = answer.timing.first_token_ns if answer is not None and answer.timing is not None else None
    return None if first_ns is None else _ms(first_ns)


def _most_telling(answers: Sequence[Answer]) -> Answer | None:
    """The answer whose timeline is worth showing: a whole text, else any whole one, else any that began."""
    wholes = [answer for answer in answers if answer.succeeded]
    texts = [answer for answer in wholes if answer.question.topic == "text"]
    begun = [answer for answer in answers if answer.exchange.status is not None]
    return next(iter(texts or wholes or begun), None)
