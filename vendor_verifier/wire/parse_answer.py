"""Reads a finished exchange: bytes with time stamps in, timing, response and failure out; pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from msgspec import structs

from vendor_verifier.records.failures import KINDS
from vendor_verifier.records.record import Exchange, Failure, Response, Timing
from vendor_verifier.wire.answer import Answer
from vendor_verifier.wire.base import Reader
from vendor_verifier.wire.errors import NO_ANSWER, http_failure, request_id_of
from vendor_verifier.wire.payload import MAX_BYTES, MAX_VALUES, PayloadError, parse_json
from vendor_verifier.wire.sse import STREAM_STARTS, SseDecoder

Classify = Callable[[int, Mapping[str, str], bytes], Failure | None]
Outcome = tuple[Timing, Response | None, Failure | None]

_BOM = b"\xef\xbb\xbf"
_HEAD_BYTES = 8
_ENDLESS_BYTES = 512 * 1024
# Several times what the longest answer of any model has; reading is bounded by them, not by a clock.
MAX_LINES = 750_000
MAX_CHARACTERS = 1024 * 1024
_LONG, _MANY = 256 * 1024, 8 * 1024
# Between two looks at these bounds.
_PIECE_BYTES = 32 * 1024
_UNPACKED = frozenset({"", "gzip", "x-gzip", "deflate"})
_BODY_STARTS = (b"{", b"[", b"<")
_TEXT_STARTS = STREAM_STARTS + _BODY_STARTS


def takes_long(exchange: Exchange) -> bool:
    """Whether to read it takes more than some milliseconds: it is long, or consists of little but pieces and lines."""
    size = sum([len(chunk) for _, chunk in exchange.chunks])
    if size <= 3 * _MANY:
        return False
    lines = sum([chunk.count(b"\n") + chunk.count(b"\r") for _, chunk in exchange.chunks])
    return size > _LONG or max(lines, len(exchange.chunks)) > _MANY


def read_answer(
    exchange: Exchange,
    reader: Reader,
    *,
    tool_names: Mapping[str, str] | None = None,
    classify: Classify | None = None,
    asked_stream: bool = True,
) -> Outcome:
    """Read one exchange with a fresh ``reader``; a cut stream gives both the partial response and the failure.
    ``tool_names`` maps names as sent to names as declared, ``classify`` is the vendor's opinion of a non-2xx answer,
    ``asked_stream``: whether an answer in one piece is odd."""
    answer = Answer(getattr(reader, "interpret", None), tool_names)
    timing, response, failure = _read(exchange, reader, answer, classify, asked_stream)
    request_id = request_id_of(exchange.headers)
    if failure is not None and request_id is not None:
        failure = structs.replace(failure, request_id=request_id)
    return timing, response, failure


def _read(exchange: Exchange, reader: Reader, answer: Answer, classify: Classify | None, asked_stream: bool) -> Outcome:
    if exchange.status is None:
        return _timing(exchange), None, exchange.failure or Failure.of("protocol", "no answer")
    head = _head(exchange)
    packed = _packed_message(exchange, head)
    if not 200 <= exchange.status < 300:
        body = exchange.body if packed is None else packed.encode()
        own = classify(exchange.status, exchange.headers, body) if classify else None
        received_at = datetime.fromisoformat(exchange.sent_at).astimezone(UTC)
        refusal = own or http_failure(exchange.status, exchange.headers, body, received_at)
        return _timing(exchange), None, refusal
    if packed is not None:
        # Where an SDK failed on the payload before, the packing was the reason.
        is_other = exchange.failure is not None and exchange.failure.kind != "bad_payload"
        stopped = exchange.failure if is_other else Failure.of("bad_payload", packed, exchange.status)
        return _timing(exchange), None, stopped
    # By the look of the first bytes, else by content type: some hosts send either under the other's type.
    streamed = head.startswith(STREAM_STARTS) or (exchange.is_event_stream and not head.startswith(_BODY_STARTS))
    if streamed:
        unreadable = _read_stream(exchange, reader, answer)
    else:
        unreadable = _read_body(exchange, reader, answer, asked_stream=asked_stream)
    if exchange.has_surplus:
        answer.flags.append("bytes_after_answer")
    if any("\ufffd" in value for value in exchange.headers.values()):
        answer.flags.append("invalid_header")
    answer.identity(response_id=request_id_of(exchange.headers))
    response = answer.response(streamed=streamed)
    empty = not (response.text or response.reasoning or response.tool_calls)
    failure = _judge(exchange, answer, response, unreadable, empty=empty)
    is_none = empty and not answer.is_over
    return _timing(exchange, answer if streamed else None), None if is_none else response, failure


def _packed_message(exchange: Exchange, head: bytes) -> str | None:
    """Why a body that begins with ``head`` cannot be read for its packing; None for text and for no body."""
    if not head or head.startswith(_TEXT_STARTS):
        return None
    coding = exchange.headers.get("content-encoding", "").lower().replace("identity", "").strip(" ,")
    if coding in _UNPACKED:
        return None
    return (
        f"the body is still packed with {coding[:40]}: the request asked for none ('accept-encoding: identity'), "
        "and only a single gzip or deflate is unpacked"
    )


def _head(exchange: Exchange) -> bytes:
    """The first bytes that are not white space or a byte order mark; enough to tell a field name."""
    head = b""
    for _, chunk in exchange.chunks:
        head = (head + chunk[:_HEAD_BYTES]).removeprefix(_BOM).lstrip()
        if len(head) >= _HEAD_BYTES:
            break
    return head


def _read_stream(exchange: Exchange, reader: Reader, answer: Answer) -> Failure | None:
    """Fill ``answer``; returns the bound that it broke."""
    decoder = SseDecoder()
    for answer.at_ns, piece in _pieces(exchange):
        for event in decoder.feed(piece):
            reader.read(event, answer)
        if decoder.lines > MAX_LINES or answer.characters > MAX_CHARACTERS:
            break
    for event in decoder.close():
        reader.read(event, answer)
    if decoder.invalid_utf8:
        answer.flags.append("invalid_utf8")
    words = None
    if decoder.overflow:
        words = "one event of the stream is longer than any answer"
    elif decoder.lines > MAX_LINES:
        words = f"the stream has more than {MAX_LINES} lines"
    elif answer.characters > MAX_CHARACTERS:
        words = f"the answer has more than {MAX_CHARACTERS} characters"
    return None if words is None else Failure.of("limit_exceeded", words)


def _pieces(exchange: Exchange) -> Iterator[tuple[int, bytes]]:
    """All chunks, long ones cut; of an answer that had no end only its start, which is evidence enough."""
    left = _ENDLESS_BYTES if exchange.failure is not None and exchange.failure.kind == "limit_exceeded" else None
    for at_ns, chunk in exchange.chunks:
        for start in range(0, len(chunk), _PIECE_BYTES):
            yield at_ns, chunk[start : start + _PIECE_BYTES]
        if left is not None:
            left -= len(chunk)
            if left <= 0:
                return


def _read_body(exchange: Exchange, reader: Reader, answer: Answer, *, asked_stream: bool) -> Failure | None:
    """Fill ``answer``; returns why the body could not be read."""
    body = exchange.body.strip()
    if len(body) > MAX_BYTES:
        words = f"the answer came as one body of more than {MAX_BYTES} bytes"
        return Failure.of("limit_exceeded", words, exchange.status, phase="parse")
    if not body:
        return None
    try:
        reader.read_body(parse_json(body, most=MAX_VALUES), answer)
    except PayloadError as error:
        excerpt = body[:200].decode(errors="replace")
        what = "an HTML page" if excerpt.startswith("<") else f"not JSON ({error})"
        return Failure.of("not_an_api_response", f"{what}: {excerpt}", exchange.status)
    if asked_stream:
        answer.flags.append("not_streamed")
    return None


def _judge(
    exchange: Exchange, answer: Answer, response: Response, unreadable: Failure | None, *, empty: bool
) -> Failure | None:
    """The reason why this 2xx answer is not a success, or None. The transport's failure comes first, unless the answer
    was whole."""
    fault = answer.fault
    if fault is not None and fault.code in NO_ANSWER:
        return Failure.of("not_an_api_response", fault.message, exchange.status)
    if fault is not None:
        return Failure.of("api_error_in_200", fault.message, fault.status, code=fault.code)
    if exchange.failure is not None and not (answer.is_over and KINDS[exchange.failure.kind].after_end):
        return exchange.failure
    if unreadable is not None:
        return unreadable
    reason, raw, status = response.finish_reason, response.finish_raw, exchange.status
    if reason == "error":
        return Failure.of("api_error_in_200", f"the answer ended with finish reason {raw!r}", status, code=raw)
    if reason is None and empty:
        if "bad_event" in response.anomalies:
            return Failure.of("bad_payload", "no event of the stream could be read", status)
        return Failure.of("empty_response", "the answer is empty", status)
    if reason == "content_filter" and empty:
        words = f"blocked before any text ({raw})"
        return Failure.of("moderation", words, status, phase="stream", code=raw)
    if not answer.is_over:
        return Failure.truncated("it ended without a finish reason or end marker", status)
    if answer.loss is not None:
        message = f"an event before the end could not be read, so a piece of the answer is missing: {answer.loss}"
        return Failure.of("bad_payload", message, status)
    return None


# Fields of an exchange that are its timing's, too.
_OF_EXCHANGE = (
    "sent_at", "end_ns", "scheduled_ns", "connect_ns", "headers_ns", "dns_ns", "tcp_ns", "tls_ns", "connection_reused",
)  # fmt: skip


def _timing(exchange: Exchange, answer: Answer | None = None) -> Timing:
    """The exchange's moments, and those of the tokens where there is an ``answer`` that came as a stream."""
    of_tokens: dict[str, Any] = {}
    if answer is not None and answer.token_moments:
        of_tokens = {
            "first_token_ns": answer.token_moments[0],
            "first_answer_ns": answer.first_answer_ns,
            "last_token_ns": answer.token_moments[-1],
            "gaps_ns": answer.gaps_ns,
            "first_chunk_share": answer.first_chunk_share,
        }
    return Timing(**{name: getattr(exchange, name) for name in _OF_EXCHANGE}, **of_tokens)
