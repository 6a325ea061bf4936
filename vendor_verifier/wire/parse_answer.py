"""Reads a finished exchange: bytes with time stamps in, timing, response and failure out; pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime

from msgspec import structs

from vendor_verifier.records.event import Fault, Lost
from vendor_verifier.records.failures import KINDS
from vendor_verifier.records.record import Exchange, Failure, Response, Timing
from vendor_verifier.records.steps import Steps, at_once
from vendor_verifier.wire.assembler import MAX_CHARACTERS, Assembler, Collected, TokenMoments
from vendor_verifier.wire.base import Reader
from vendor_verifier.wire.errors import http_failure, request_id_of
from vendor_verifier.wire.payload import (
    MAX_BYTES,
    MAX_PARTS,
    PayloadError,
    has_many_parts,
    packed_message,
    packing,
    parse_json,
)
from vendor_verifier.wire.sse import SseDecoder, in_small_pieces

Classify = Callable[[int, Mapping[str, str], bytes], Failure | None]
Outcome = tuple[Timing, Response | None, Failure | None]

_BOM = b"\xef\xbb\xbf"
_HEAD_BYTES = 8
_ENDLESS_BYTES = 512 * 1024
# Several times what the longest answer of any model has; reading is bounded by them, not by a clock.
MAX_EVENTS = 250_000
MAX_LINES = 3 * MAX_EVENTS
_STREAM_STARTS = (b":", b"data:", b"event:", b"id:", b"retry:")
_BODY_STARTS = (b"{", b"[", b"<")
_TEXT_STARTS = _STREAM_STARTS + _BODY_STARTS

_NO_MOMENTS = TokenMoments()


def read_answer(
    exchange: Exchange,
    reader: Reader,
    *,
    tool_names: Mapping[str, str] | None = None,
    classify: Classify | None = None,
    asked_stream: bool = True,
) -> Outcome:
    """Read one exchange at one go; see :func:`answer_in_steps`."""
    return at_once(
        answer_in_steps(exchange, reader, tool_names=tool_names, classify=classify, asked_stream=asked_stream)
    )


def answer_in_steps(
    exchange: Exchange,
    reader: Reader,
    *,
    tool_names: Mapping[str, str] | None = None,
    classify: Classify | None = None,
    asked_stream: bool = True,
) -> Steps[Outcome]:
    """Read one exchange with a fresh ``reader``, in steps that are short whatever was sent.

    ``tool_names`` maps names as sent to names as declared; ``classify`` is the vendor's opinion of a non-2xx answer.
    ``asked_stream``: whether an answer in one piece is odd.
    A cut stream gives both the partial response and the failure.
    """
    timing, response, failure = yield from _read(exchange, reader, tool_names or {}, classify, asked_stream)
    request_id = request_id_of(exchange.headers)
    if request_id is not None:
        if response is not None and response.request_id is None:
            response = structs.replace(response, request_id=request_id)
        failure = failure and structs.replace(failure, request_id=request_id)
    return timing, response, failure


def _read(
    exchange: Exchange, reader: Reader, tool_names: Mapping[str, str], classify: Classify | None, asked_stream: bool
) -> Steps[Outcome]:
    if exchange.status is None:
        return _timing(exchange), None, exchange.failure or Failure.of("protocol", "no answer")
    head = _head(exchange)
    coding = None if head.startswith(_TEXT_STARTS) else packing(exchange.headers, head)
    if not 200 <= exchange.status < 300:
        return _timing(exchange), None, _refusal(exchange, classify, coding)
    if coding is not None:
        packed = Failure.of("bad_payload", packed_message(coding), exchange.status)
        # Where an SDK failed on the payload before, the packing was the reason.
        stopped = exchange.failure if exchange.failure and exchange.failure.kind != "bad_payload" else packed
        return _timing(exchange), None, stopped
    if _speaks_sse(exchange, head):
        collected, unreadable = yield from _read_stream(exchange, reader)
    else:
        collected, unreadable = yield from _read_body(exchange, reader, asked_stream=asked_stream)
    response = None if not collected.complete and collected.empty else _named_back(collected.response, tool_names)
    if response is not None and exchange.has_surplus:
        response = structs.replace(response, anomalies=(*response.anomalies, "bytes_after_answer"))
    return _timing(exchange, collected.moments), response, _judge(exchange, collected, unreadable)


def _speaks_sse(exchange: Exchange, head: bytes) -> bool:
    """By the look of the first bytes, else by content type: some hosts send either under the other's type."""
    if head.startswith(_STREAM_STARTS):
        return True
    return exchange.is_event_stream and not head.startswith(_BODY_STARTS)


def _head(exchange: Exchange) -> bytes:
    """The first bytes that are not white space or a byte order mark; enough to tell a field name."""
    head = b""
    for _, chunk in exchange.chunks:
        head = (head + chunk[:_HEAD_BYTES]).removeprefix(_BOM).lstrip()
        if len(head) >= _HEAD_BYTES:
            break
    return head


def _read_stream(exchange: Exchange, reader: Reader) -> Steps[tuple[Collected, Failure | None]]:
    in_blocks = getattr(reader, "read_stream", None)
    if in_blocks is not None and exchange.failure is None:
        # Some readers know an ordinary stream of theirs when they see it whole; see wire.chat_stream.
        assembler = Assembler()
        if (yield from in_blocks(exchange.chunks, assembler)):
            return (yield from assembler.collecting()), None
    decoder = SseDecoder()
    assembler = Assembler()
    read, add = reader.read, assembler.add
    left, last_ns = MAX_EVENTS, 0
    for at_ns, chunk in in_small_pieces(_worth_reading(exchange)):
        last_ns = at_ns
        for event in decoder.feed(chunk):
            if len(event.data) > MAX_PARTS:
                # What is long has taken its time to be decoded.
                yield
                if has_many_parts(event.data):
                    add(Lost(f"more than {MAX_PARTS} values"), at_ns)
                    continue
                yield
            for found in read(event):
                add(found, at_ns)
            left -= 1
            yield
        if left < 0 or decoder.lines > MAX_LINES or assembler.characters > MAX_CHARACTERS or decoder.overflow:
            break
        yield
    for event in decoder.close():
        for found in read(event):
            add(found, last_ns)
    yield
    collected = yield from assembler.collecting()
    if decoder.invalid_utf8:
        collected = _flagged(collected, "invalid_utf8")
    return collected, _beyond_bounds(decoder, assembler, left)


def _beyond_bounds(decoder: SseDecoder, assembler: Assembler, events_left: int) -> Failure | None:
    if decoder.overflow:
        words = "one event of the stream is longer than any answer"
    elif events_left < 0 or decoder.lines > MAX_LINES:
        words = f"the stream has more than {MAX_EVENTS} events or {MAX_LINES} lines"
    elif assembler.characters > MAX_CHARACTERS:
        words = f"the answer has more than {MAX_CHARACTERS} characters"
    else:
        return None
    return Failure.of("limit_exceeded", words)


def _worth_reading(exchange: Exchange) -> Iterator[tuple[int, bytes]]:
    """All chunks; of an answer that had no end only its start, which is evidence enough and costs no memory."""
    left = _ENDLESS_BYTES if exchange.failure is not None and exchange.failure.kind == "limit_exceeded" else None
    for at_ns, chunk in exchange.chunks:
        yield at_ns, chunk
        if left is not None:
            left -= len(chunk)
            if left <= 0:
                return


def _read_body(exchange: Exchange, reader: Reader, *, asked_stream: bool) -> Steps[tuple[Collected, Failure | None]]:
    assembler = Assembler()
    body = yield from _body_in_steps(exchange)
    if len(body) > MAX_BYTES:
        words = f"the answer came as one body of more than {MAX_BYTES} bytes"
        return assembler.collected(streamed=False), Failure.of("limit_exceeded", words, exchange.status, phase="parse")
    unreadable: Failure | None = None
    yield
    has_many = has_many_parts(body)
    yield
    try:
        if has_many:
            raise PayloadError(f"more than {MAX_PARTS} values")
        parsed = parse_json(body) if body else None
    except PayloadError as error:
        excerpt = body[:200].decode(errors="replace")
        kind_word = "an HTML page" if excerpt.lstrip().startswith("<") else "not JSON"
        unreadable = Failure.of("not_an_api_response", f"{kind_word} ({error}): {excerpt}", exchange.status)
    else:
        yield
        for found in reader.read_body(parsed) if body else ():
            assembler.add(found)
            yield
    collected = yield from assembler.collecting(streamed=False)
    if asked_stream and body and unreadable is None:
        collected = _flagged(collected, "not_streamed")
    return collected, unreadable


def _body_in_steps(exchange: Exchange) -> Steps[bytes]:
    """The body without white space around it; no more of it than shows that it is too long."""
    body = bytearray()
    for place, (_, chunk) in enumerate(exchange.chunks):
        body += chunk
        if len(body) > MAX_BYTES:
            break
        if place % 64 == 0:
            yield
    return bytes(body.strip())


def _judge(exchange: Exchange, collected: Collected, unreadable: Failure | None) -> Failure | None:
    """The reason why this 2xx answer is not a success, or None. The transport's failure comes first, unless the answer
    was whole."""
    if collected.fault is not None:
        return _inner_error(exchange, collected.fault)
    if exchange.failure is not None and not (collected.complete and KINDS[exchange.failure.kind].after_end):
        return exchange.failure
    if unreadable is not None:
        return unreadable
    return _incomplete(exchange, collected)


def _incomplete(exchange: Exchange, collected: Collected) -> Failure | None:
    """The reason why an answer is incomplete although nothing broke on the way, or None."""
    reason, raw = collected.response.finish_reason, collected.response.finish_raw
    if reason == "error":
        words = f"the answer ended with finish reason {raw!r}"
        return Failure.of("api_error_in_200", words, exchange.status, code=raw)
    if reason is None and collected.empty:
        return _empty(exchange, collected)
    if reason == "content_filter" and collected.empty:
        words = f"blocked before a word was said ({raw})"
        return Failure.of("moderation", words, exchange.status, phase="stream", code=raw)
    if not collected.complete:
        return Failure.truncated("it ended without a finish reason or end marker", exchange.status)
    if collected.lost is not None:
        message = f"an event before the end could not be read, so a piece of the answer is missing: {collected.lost}"
        return Failure.of("bad_payload", message, exchange.status)
    return None


def _empty(exchange: Exchange, collected: Collected) -> Failure:
    if "bad_event" in collected.response.anomalies:
        return Failure.of("bad_payload", "no event of the stream could be read", exchange.status)
    return Failure.of("empty_response", "the answer is empty", exchange.status)


def _inner_error(exchange: Exchange, fault: Fault) -> Failure:
    if fault.code in ("not_an_object", "no_choices"):
        return Failure.of("not_an_api_response", fault.message, exchange.status)
    return Failure.of("api_error_in_200", fault.message, fault.status, code=fault.code)


def _refusal(exchange: Exchange, classify: Classify | None, coding: str | None) -> Failure:
    status = exchange.status or 0
    body = exchange.body if coding is None else packed_message(coding).encode()
    own = classify(status, exchange.headers, body) if classify else None
    return own or http_failure(status, exchange.headers, body, _received_at(exchange))


def _received_at(exchange: Exchange) -> datetime:
    return datetime.fromisoformat(exchange.sent_at).astimezone(UTC)


def _named_back(response: Response, tool_names: Mapping[str, str]) -> Response:
    if not tool_names or not response.tool_calls:
        return response
    calls = tuple(structs.replace(call, name=tool_names.get(call.name, call.name)) for call in response.tool_calls)
    return structs.replace(response, tool_calls=calls)


def _flagged(collected: Collected, anomaly: str) -> Collected:
    response = structs.replace(collected.response, anomalies=(*collected.response.anomalies, anomaly))
    return structs.replace(collected, response=response)


def _timing(exchange: Exchange, moments: TokenMoments = _NO_MOMENTS) -> Timing:
    return Timing(
        sent_at=exchange.sent_at,
        end_ns=exchange.end_ns,
        scheduled_ns=exchange.scheduled_ns,
        connect_ns=exchange.connect_ns,
        headers_ns=exchange.headers_ns,
        first_event_ns=moments.first_event_ns,
        first_token_ns=moments.first_token_ns,
        first_answer_ns=moments.first_answer_ns,
        last_token_ns=moments.last_token_ns,
        gaps_ns=moments.gaps_ns,
        first_chunk_share=moments.first_chunk_share,
        dns_ns=exchange.dns_ns,
        tcp_ns=exchange.tcp_ns,
        tls_ns=exchange.tls_ns,
        connection_reused=exchange.connection_reused,
    )
