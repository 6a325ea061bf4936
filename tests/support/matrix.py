"""The failure matrix as one table: what a server does, and what a run must make of it."""

# ruff: noqa: E501 a row is a line
from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import repeat
from typing import Any

from fault_server import DONE, END, KEEP_ALIVE, PING, Script, chunk, delta, event, head, say, stream, text, whole

MAKES = Callable[[], Script]


@dataclass(frozen=True)
class Row:
    """``kind`` and ``phase`` of the failure, None for a success; ``text`` is what must be kept of the answer;
    ``anomaly`` what must be flagged; ``retried`` whether the same question is asked again; ``says`` what the message
    must hold."""

    name: str
    script: MAKES
    kind: str | None
    phase: str | None = None
    text: str = ""
    anomaly: str | None = None
    retried: bool = False
    says: str = ""
    wire: str = "openai"


def _status(code: int, message: str = "no", **headers: object) -> MAKES:
    return lambda: say(whole({"error": {"message": message}}, code, **headers))


def _sent(*events: bytes) -> MAKES:
    return lambda: say(stream(*events))


def _begun(*pieces: bytes, end: Any = "close") -> MAKES:
    """Headers and pieces of a stream that never ends by HTTP's rules."""
    return lambda: Script([(0, head() + b"".join(map(chunk, pieces)))], end)


def _for_ever(*first: bytes, noise: bytes, every_s: float = 0.02) -> MAKES:
    def steps() -> Iterator[tuple[float, bytes]]:
        yield 0, head() + b"".join(map(chunk, first))
        yield from repeat((every_s, chunk(noise)))

    return lambda: Script(steps())


def _drip(*first: bytes, data: bytes) -> MAKES:
    def steps() -> Iterator[tuple[float, bytes]]:
        yield 0, head() + b"".join(map(chunk, first))
        while True:
            yield from ((0.005, chunk(bytes([byte]))) for byte in data)

    return lambda: Script(steps())


def _call(finish: str | None = None, **call: Any) -> bytes:
    return delta(finish, tool_calls=[{"index": 0, "function": {}, **call}])


HELLO = text("hello", None)
CALL = _call(id="c1", function={"name": "look_up", "arguments": '{"id": 1'})
FLOOD = b"HTTP/1.1 200 OK\r\n" + b"".join(b"x-%d: %s\r\n" % (n, b"y" * 100) for n in range(10_000))

BEFORE_THE_ANSWER = (
    Row("closed before headers", lambda: Script((), "close"), "connection_reset", "headers", retried=True),
    Row("reset before headers", lambda: Script((), "reset"), "connection_reset", "headers", retried=True),
    Row("binary instead of HTTP", lambda: say(b"\x00\xff\x13\r\n\r\n", end="close"), "protocol", "headers", retried=True),
    Row("HTTP of no known version", lambda: say(b"HTTP/9 fish\r\n\r\n", end="close"), "protocol", "headers", retried=True),
    Row("header flood", lambda: say(FLOOD, end="close"), "limit_exceeded", "headers"),
    Row("401", _status(401), "auth", "headers"),
    Row("403", _status(403), "auth", "headers"),
    Row("403 of a moderation", _status(403, "flagged by moderation"), "moderation", "headers"),
    Row("400", _status(400), "bad_request", "headers"),
    Row("400 of a context too short", _status(400, "maximum context length is 9 tokens"), "too_large", "headers"),
    Row("400 for a bad key (LiteLLM)", _status(400, "No connected db."), "auth", "headers", says="No connected"),
    Row("402", _status(402), "no_credit", "headers"),
    Row("404", _status(404), "not_found", "headers"),
    Row("408", _status(408), "request_timeout", "headers", retried=True),
    Row("413", _status(413), "too_large", "headers"),
    Row("429", _status(429), "rate_limited", "headers", retried=True),
    Row("500", _status(500), "http_5xx", "headers", retried=True),
    Row("500 that wraps its error like an answer", lambda: say(whole(b'data: {"error": {"message": "engine died"}}\n\n', 500, "text/event-stream")), "http_5xx", "headers", retried=True, says="engine died"),
    Row("503", _status(503), "overloaded", "headers", retried=True),
    Row("529", _status(529), "overloaded", "headers", retried=True),
    Row("redirect", _status(307, location="https://elsewhere.example/v1"), "redirect", "headers", says="elsewhere"),
    Row("HTML error page", lambda: say(whole(b"<html>Bad gateway</html>", 502, "text/html")), "http_5xx", "headers", retried=True, says="<html>"),
    Row("HTML with 200", lambda: say(whole(b"<html><h1>Hi</h1>", content_type="text/html")), "not_an_api_response", "parse"),
    Row("JSON error with 200", lambda: say(whole({"error": {"message": "x", "code": 500}})), "api_error_in_200", retried=True),
    Row("JSON error with 200, final", lambda: say(whole({"error": {"message": "x", "code": 400}})), "api_error_in_200"),
    Row("base_resp with 200", lambda: say(whole({"base_resp": {"status_code": 1002, "status_msg": "slow down"}})), "api_error_in_200", retried=True, says="slow down"),
    Row("other JSON with 200", lambda: say(whole({"hello": "world"})), "not_an_api_response"),
    Row("JSON answer to a stream request", lambda: say(whole({"choices": [{"message": {"content": "hello"}, "finish_reason": "stop"}]})), None, text="hello", anomaly="not_streamed"),
    Row("empty body", lambda: say(whole(b"", content_type="text/plain")), "empty_response", retried=True),
    Row("empty JSON body", lambda: say(whole(b"")), "empty_response", retried=True),
    Row("empty stream", _sent(), "empty_response", retried=True),
    Row("only [DONE]", _sent(DONE), "empty_response", retried=True),
)  # fmt: skip

IN_THE_STREAM = (
    Row("cut after headers", _begun(), "truncated", "stream", retried=True),
    Row("cut mid token, closed", _begun(HELLO), "truncated", "stream", "hello"),
    Row("cut mid token, reset", _begun(HELLO, end="reset"), "truncated", "stream", "hello"),
    Row("cut mid event", _begun(HELLO, b'data: {"choices": [{"del'), "truncated", "stream", "hello"),
    Row("cut mid tool call", _begun(CALL), "truncated", "stream"),
    Row("bad HTTP chunk", lambda: say(head() + chunk(HELLO) + b"zzz\r\nboo\r\n", end="close"), "truncated", text="hello"),
    Row(
        "shorter than its content-length",
        lambda: say(head(content_length=9999) + HELLO, end="close"),
        "truncated",
        text="hello",
    ),
    Row("clean end without finish", _sent(HELLO), "truncated", "stream", "hello"),
    Row("clean end in a tool call", _sent(CALL), "truncated", "stream"),
    Row("[DONE] without finish", _sent(HELLO, DONE), None, text="hello", anomaly="no_finish_reason"),
    Row("finish of an empty text", _sent(text("hello", ""), DONE), None, text="hello", anomaly="no_finish_reason"),
    Row("finish without [DONE]", _sent(text("hello")), None, text="hello"),
    Row("stall before headers", lambda: Script((), "hang"), "timeout_first_token", "headers", retried=True),
    Row("stall before the first token", _begun(end="hang"), "timeout_first_token", "first_token", retried=True),
    Row("stall after a token", _begun(HELLO, end="hang"), "timeout_idle", "stream", "hello"),
    Row("stall after the end", _begun(text("hello"), DONE, end="hang"), None, text="hello"),
    Row("reset after the end marker", _begun(text("hello"), DONE, end="reset"), None, text="hello"),
    Row("comments for ever, no token", _for_ever(noise=KEEP_ALIVE), "timeout_first_token", "first_token", retried=True),
    Row("comments for ever, after a token", _for_ever(HELLO, noise=KEEP_ALIVE), "timeout_idle", "stream", "hello"),
    Row("pings for ever, no token", _for_ever(noise=PING), "timeout_first_token", "first_token", retried=True),
    Row("pings for ever, after a token", _for_ever(HELLO, noise=PING), "timeout_idle", "stream", "hello"),
    Row("one byte at a time, no token", _drip(data=b": hm "), "timeout_first_token", "first_token", retried=True),
    Row("one byte at a time, after a token", _drip(HELLO, data=b": hm "), "timeout_idle", "stream", "hello"),
    Row("error object in the stream", _sent(HELLO, event({"error": {"message": "boom", "code": 429}})), "api_error_in_200", text="hello", says="boom"),
    Row("event: error in the stream", _sent(HELLO, b'event: error\ndata: {"message": "boom"}\n\n'), "api_error_in_200", text="hello", says="boom"),
    Row("error without data: in the stream", _sent(HELLO, b'{"error": {"message": "boom", "code": 429}}\n'), "api_error_in_200", text="hello", says="boom"),
    Row("vLLM's error in the stream", _sent(event({"object": "error", "message": "boom", "code": 400})), "api_error_in_200", says="boom"),
    Row("an event that is no JSON", _sent(b"data: {oops\n\n", text("hello"), DONE), "bad_payload", "parse", "hello", anomaly="bad_event"),
    Row("an event that is broken amid a call's arguments", _sent(CALL, b'data: {"choices": [{"delta": {"tool_calls": [{"index\n\n', delta("tool_calls"), DONE), "bad_payload", "parse", anomaly="bad_event"),
    Row("an event that is broken after the finish reason", _sent(text("hello"), b'data: {"usage": {"prompt\n\n', DONE), None, text="hello", anomaly="bad_event"),
    Row("words that are no JSON", _sent(b"data: ping\n\n", text("hello"), DONE), None, text="hello", anomaly="bad_event"),
    Row("the filter's word and nothing else", _sent(text("", "content_filter"), DONE), "moderation", "stream", says="content_filter"),
    Row("only events that are no JSON", _sent(b"data: {oops\n\n", DONE), "bad_payload", "parse", retried=True),
    Row("only events that are no objects", _sent(event("hi"), event([]), event(None), event(42)), "bad_payload", "parse", retried=True),
    Row("bytes that are no UTF-8", _sent(b'data: {"choices": [{"delta": {"content": "a\xff"}, "finish_reason": "stop"}]}\n\n', DONE), None, text="a\ufffd", anomaly="invalid_utf8"),
    Row("a BOM at the start", _sent(b"\xef\xbb\xbf" + text("hello"), DONE), None, text="hello"),
    Row("CR and CRLF line ends", _sent(text("hel", None).replace(b"\n", b"\r\n"), text("lo").replace(b"\n", b"\r"), DONE), None, text="hello"),
    Row("no space after the colon", _sent(text("hello").replace(b"data: ", b"data:"), DONE), None, text="hello"),
    Row("comments and other fields between", _sent(b": hm\nid: 1\nretry: 5\nevent: x\n" + text("hello"), DONE), None, text="hello"),
    Row("line separators inside the text", _sent(text("a\u2028b\u0085c\x0cd"), DONE), None, text="a\u2028b\u0085c\x0cd"),
    Row("characters split over chunks", lambda: say(head() + b"".join(chunk(bytes([byte])) for byte in text("héllo — 你好") + DONE) + END), None, text="héllo — 你好"),
    Row("last event without a blank line", _sent(text("hello").rstrip(b"\n")), None, text="hello"),
    Row("gzip next to identity", lambda: say(head(content_encoding="identity, gzip") + chunk(gzip.compress(text("hello") + DONE)) + END), None, text="hello"),
    Row("deflate that was not asked for", lambda: say(head(content_encoding="deflate") + chunk(zlib.compress(text("hello") + DONE)) + END), None, text="hello"),
    Row("gzip that was not asked for", lambda: say(head(content_encoding="gzip") + chunk(gzip.compress(text("hello") + DONE)) + END), None, text="hello"),
    Row("gzip in two members", lambda: say(head(content_encoding="gzip") + chunk(gzip.compress(text("hello")) + gzip.compress(DONE)) + END), None, text="hello"),
    Row("gzip that is none", lambda: say(head(content_encoding="gzip") + chunk(b"not gzip at all") + END), "bad_payload", "stream", retried=True),
    Row("a tool call of an absurd index", _sent(delta("tool_calls", tool_calls=[{"index": 2_000_000_000, "id": "c", "function": {"name": "f", "arguments": "{}"}}]), DONE), None),
    Row("a tool call without index", _sent(delta("tool_calls", tool_calls=[{"id": "c", "function": {"name": "f", "arguments": "{}"}}]), DONE), None),
)  # fmt: skip


def _answered(content: str) -> bytes:
    """A whole chat chunk with ``content`` put in as it is."""
    return b'data: {"choices": [{"delta": {"content": ' + content.encode() + b'}, "finish_reason": "stop"}]}\n\n'


DEEP = "[" * 100_000 + "]" * 100_000
PAYLOAD = (
    Row("NaN in an event", _sent(b'data: {"usage": NaN, "choices": []}\n\n', text("hello"), DONE), "bad_payload", "parse", "hello", anomaly="bad_event"),
    Row("arrays 100,000 deep", lambda: say(whole(DEEP.encode())), "not_an_api_response", "parse"),
    Row("arrays 100,000 deep in an event", _sent(b"data: " + DEEP.encode() + b"\n\n", text("hello"), DONE), "bad_payload", "parse", "hello", anomaly="bad_event"),
    Row("a number of 10,000 digits", _sent(b'data: {"created": ' + b"9" * 10_000 + b"}\n\n", text("hello"), DONE), None, text="hello"),
    Row("a lone surrogate", _sent(_answered('"a\\ud800"'), DONE), None, text="a\ufffd", anomaly="lone_surrogate"),
)  # fmt: skip


def _named(name: str, body: object) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + json.dumps(body).encode() + b"\n\n"


_A_START = _named("message_start", {"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 3}}})
_A_BLOCK = _named("content_block_start", {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})  # fmt: skip
_A_TEXT = _named("content_block_delta", {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hello"}})  # fmt: skip
_A_ERROR = _named("error", {"type": "error", "error": {"type": "overloaded_error", "message": "boom"}})
_A_STOP = _named("message_stop", {"type": "message_stop"})
_A_BEGUN = _A_START + _A_BLOCK + _A_TEXT
_R_TEXT = _named("response.output_text.delta", {"type": "response.output_text.delta", "item_id": "i", "output_index": 0, "content_index": 0, "delta": "hello"})  # fmt: skip
_R_FAILED = _named("response.failed", {"type": "response.failed", "response": {"status": "failed", "error": {"code": "server_error", "message": "boom"}}})  # fmt: skip
_G_TEXT = event({"candidates": [{"content": {"parts": [{"text": "hello"}], "role": "model"}, "index": 0}]})
_G_BLOCKED = event({"promptFeedback": {"blockReason": "SAFETY"}})
_C_TEXT = event({"id": "r", "model": "m", "choices": [{"index": 0, "text": "hello", "finish_reason": None}]})

PROTOCOL_ROWS = (
    *(
        Row(f"{name}: {wire}", script(begun), kind, phase, "hello", retried=False, wire=wire)
        for wire, begun in (
            ("anthropic", _A_BEGUN), ("openai_responses", _R_TEXT), ("gemini", _G_TEXT), ("openai_completions", _C_TEXT),
        )
        for name, script, kind, phase in (
            ("cut mid token", _begun, "truncated", "stream"),
            ("clean end without an end", _sent, "truncated", "stream"),
            ("stall after a token", lambda begun: _begun(begun, end="hang"), "timeout_idle", "stream"),
            ("comments for ever", lambda begun: _for_ever(begun, noise=KEEP_ALIVE), "timeout_idle", "stream"),
        )
    ),
    *(
        Row(f"{name}: {wire}", script, kind, retried=True, wire=wire)
        for wire in ("anthropic", "openai_responses", "gemini", "openai_completions")
        for name, script, kind in (
            ("empty stream", _sent(), "empty_response"),
            ("429", _status(429), "rate_limited"),
            ("closed before headers", lambda: Script((), "close"), "connection_reset"),
        )
    ),
    Row("pings for ever: anthropic", _for_ever(_A_BEGUN, noise=PING), "timeout_idle", "stream", "hello", wire="anthropic"),
    Row("event: error: anthropic", _sent(_A_BEGUN, _A_ERROR), "api_error_in_200", text="hello", says="boom", wire="anthropic"),
    Row("event: error at once: anthropic", _sent(_A_ERROR), "api_error_in_200", says="boom", retried=True, wire="anthropic"),
    Row("529 overloaded: anthropic", lambda: say(whole({"type": "error", "error": {"type": "overloaded_error", "message": "boom"}}, 529)), "overloaded", says="boom", retried=True, wire="anthropic"),
    Row("response.failed: responses", _sent(_R_TEXT, _R_FAILED), "api_error_in_200", text="hello", says="boom", wire="openai_responses"),
    Row("error in a stream: gemini", _sent(_G_TEXT, event({"error": {"code": 503, "message": "boom", "status": "UNAVAILABLE"}})), "api_error_in_200", text="hello", says="boom", wire="gemini"),
    Row("prompt blocked: gemini", _sent(_G_BLOCKED), "moderation", "stream", says="SAFETY", wire="gemini"),
    Row("candidate blocked: gemini", _sent(event({"candidates": [{"finishReason": "PROHIBITED_CONTENT", "index": 0}]})), "moderation", "stream", says="PROHIBITED_CONTENT", wire="gemini"),
    Row("broken amid the arguments: anthropic", _sent(_A_BEGUN, b'event: content_block_delta\ndata: {"type": "content_b\n\n', _A_STOP), "bad_payload", "parse", "hello", anomaly="bad_event", wire="anthropic"),
    Row("refused without a word: anthropic", _sent(_A_START, _named("message_delta", {"type": "message_delta", "delta": {"stop_reason": "refusal"}}), _A_STOP), "moderation", "stream", says="refusal", wire="anthropic"),
    Row("error in a stream: completions", _sent(_C_TEXT, event({"error": {"message": "boom"}})), "api_error_in_200", text="hello", says="boom", wire="openai_completions"),
)  # fmt: skip

ROWS = (*BEFORE_THE_ANSWER, *IN_THE_STREAM, *PAYLOAD)
EVERY_ROW = (*ROWS, *PROTOCOL_ROWS)
