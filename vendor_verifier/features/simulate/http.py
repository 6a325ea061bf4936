"""HTTP/1.1 on the server's side: requests as httptools reads them, replies as timed pieces of bytes.

Heads above ``MAX_HEAD`` bytes and bodies above ``max_body`` are refused. Each step of a reply is timed from the step
before, so a busy machine slows a stream down but never runs its pieces together. A client that does not read stops the
stream; one that goes away ends it.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from itertools import pairwise
from typing import cast

import httptools
import msgspec

from vendor_verifier.features.simulate.performance import Ending, Performance
from vendor_verifier.features.simulate.wires import StreamedAnswer

MAX_HEAD = 64 * 1024
MAX_BODY = 32 * 1024 * 1024
# Part of the time to the first token after which head and opening are sent, as a server does that starts to work.
_OPENING_SHARE = 0.6
_MAX_WAITING = 2 * MAX_BODY


class HttpError(Exception):
    """The bytes are no request this server takes; the connection cannot go on after it."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class HttpCall(msgspec.Struct, frozen=True):
    """One complete request; header names in lower case, repeated ones joined by a comma."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes
    keep_alive: bool
    chunks_allowed: bool


class CallParser:
    """Requests out of the bytes of one connection, in any chunking. Feed bytes, take finished requests."""

    def __init__(self, max_body: int = MAX_BODY) -> None:
        self._max_body = max_body
        self._parser = httptools.HttpRequestParser(self)
        self._calls: deque[HttpCall] = deque()
        self._refusal: HttpError | None = None
        self._head_bytes = 0
        self._has_head = False
        self.wants_continue = False
        self.on_message_begin()

    def feed(self, data: bytes) -> None:
        """Read ``data``; an error in it is raised once the requests before it were taken."""
        if self._refusal is not None:
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            # Some clients offer HTTP/2. Here the offer is passed over: the request is read again without it.
            offered = self._calls.pop()
            kept = [f"{key}: {value}" for key, value in offered.headers.items() if key not in ("upgrade", "connection")]
            head = "\r\n".join([f"{offered.method} {offered.target} HTTP/1.1", *kept, "", ""])
            self._parser = httptools.HttpRequestParser(self)
            self.feed(head.encode("latin-1") + data[upgrade.args[0] :])
        except httptools.HttpParserError as error:
            own = error.__context__
            self._refusal = own if isinstance(own, HttpError) else HttpError(400, f"not an HTTP/1.1 request: {error}")
        else:
            self._head_bytes += 0 if self._has_head else len(data)
            if self._head_bytes > MAX_HEAD:
                self._refusal = HttpError(431, "the request head is too large")

    @property
    def buffered(self) -> int:
        """Bytes of body that were read and not taken."""
        return self._size + sum(len(call.body) for call in self._calls)

    def take(self) -> HttpCall | None:
        """The next whole request, or None until more bytes come.

        Raises:
            HttpError: malformed or too large.
        """
        if self._calls:
            return self._calls.popleft()
        if self._refusal is not None:
            raise self._refusal
        return None

    # --- called by the parser

    def on_message_begin(self) -> None:
        self._target, self._headers, self._body = b"", dict[str, str](), list[bytes]()
        self._size = self._head_bytes = 0
        self._has_head = False

    def on_url(self, url: bytes) -> None:
        self._target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._has_head:
            return  # a trailer
        key, text = name.decode("latin-1").lower(), value.decode("latin-1").strip(" \t")
        self._headers[key] = f"{self._headers[key]}, {text}" if key in self._headers else text

    def on_headers_complete(self) -> None:
        self._has_head = True
        if not self._parser.get_http_version().startswith("1."):
            raise HttpError(505, "only HTTP/1.1 is spoken here")
        self._check_size(int(self._headers.get("content-length", "0")))
        self.wants_continue = self._headers.get("expect", "").lower() == "100-continue"

    def on_body(self, body: bytes) -> None:
        self._size += len(body)
        self._check_size(self._size)
        self._body.append(body)

    def on_message_complete(self) -> None:
        self.wants_continue = False
        modern = self._parser.get_http_version() != "1.0"
        self._calls.append(
            HttpCall(
                self._parser.get_method().decode("latin-1"),
                self._target.decode("latin-1"),
                self._headers,
                b"".join(self._body),
                self._parser.should_keep_alive(),
                modern,
            )
        )

    def _check_size(self, size: int) -> None:
        if size > self._max_body:
            raise HttpError(413, f"the body is larger than {self._max_body} bytes")


class Step(msgspec.Struct, frozen=True):
    """Bytes to send ``after_s`` seconds after the step before (the first: after the request)."""

    after_s: float
    data: bytes


class Reply(msgspec.Struct, frozen=True):
    """One response. ``length`` is its Content-Length, None for a stream; ``ending`` may cut it short."""

    status: int
    steps: Sequence[Step]
    content_type: str = "application/json"
    headers: Sequence[tuple[str, str]] = ()
    length: int | None = None
    ending: Ending = "complete"
    persona: str | None = None

    def head(self, *, keep_alive: bool, chunked: bool) -> bytes:
        """Status line and headers; an unmeasured body is chunked, or ends with the connection for HTTP/1.0."""
        try:
            phrase = HTTPStatus(self.status).phrase
        except ValueError:
            phrase = "Unknown"
        lines = [f"HTTP/1.1 {self.status} {phrase}", f"content-type: {self.content_type}"]
        if self.length is not None:
            lines.append(f"content-length: {self.length}")
        elif chunked:
            lines.append("transfer-encoding: chunked")
        lines += [f"{name}: {value}" for name, value in self.headers]
        if not keep_alive:
            lines.append("connection: close")
        return "\r\n".join([*lines, "", ""]).encode("latin-1")


def whole_reply(
    status: int, body: bytes, *, headers: Sequence[tuple[str, str]] = (), persona: str | None = None
) -> Reply:
    """A reply whose body is sent at once."""
    return Reply(status, (Step(0.0, body),), headers=headers, length=len(body), persona=persona)


def body_reply(performance: Performance, body: bytes, speed: float, persona: str) -> Reply:
    """A whole answer, sent when all of it is generated. Cut short, it promises more than it sends or is not JSON."""
    sent = body if performance.ending == "complete" else body[: int(len(body) * performance.kept)]
    length = len(sent) if performance.ending == "early_end" else len(body)
    after_s = (performance.first_token_s + performance.decode_s) / speed
    ending: Ending = "complete" if performance.ending == "early_end" else performance.ending
    return Reply(200, (Step(after_s, sent),), length=length, ending=ending, persona=persona)


def stream_reply(performance: Performance, streamed: StreamedAnswer, speed: float, persona: str) -> Reply:
    """A streamed answer: opening, then a piece at a time at an even pace; the closing comes with the last piece."""
    pieces = streamed.pieces or [b""]
    if performance.ending == "complete":
        pieces = [*pieces[:-1], pieces[-1] + streamed.closing]
    else:
        pieces = pieces[: max(1, min(int(len(pieces) * performance.kept), len(pieces) - 1))]
    gap_s = performance.decode_s / max(len(streamed.pieces) - 1, 1)
    moments = [performance.first_token_s * _OPENING_SHARE, performance.first_token_s]
    moments += [performance.first_token_s + gap_s * number for number in range(1, len(pieces))]
    data = [streamed.opening, *pieces]
    if performance.buffers:
        moments, data = [performance.first_token_s + performance.decode_s], [b"".join(data)]
    waits = [moments[0], *(later - sooner for sooner, later in pairwise(moments))]
    steps = [Step(wait / speed, part) for wait, part in zip(waits, data, strict=True)]
    return Reply(
        200,
        steps,
        content_type=streamed.content_type,
        headers=(("cache-control", "no-cache"),),
        # An early end is a stream that is whole as far as HTTP can tell.
        ending="complete" if performance.ending == "early_end" else performance.ending,
        persona=persona,
    )


class Connection(asyncio.Protocol):
    """The callbacks of one connection. ``respond`` answers a request, ``done`` is called for each reply that ended."""

    def __init__(
        self, respond: Callable[[HttpCall], Reply], done: Callable[[Reply], None], connections: set[Connection]
    ) -> None:
        self._respond = respond
        self._done = done
        self._connections = connections
        self._parser = CallParser()
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._reply: Reply | None = None
        self._next_step = 0
        self._keep_alive = True
        self._chunked = False
        self._blocked = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 every way of going away is the same
        self._connections.discard(self)
        self._transport = None
        self._leave_reply()

    def pause_writing(self) -> None:
        self._blocked = True

    def resume_writing(self) -> None:
        self._blocked = False
        if self._reply is not None and self._timer is None:
            self._play()
            self._advance()

    def data_received(self, data: bytes) -> None:
        self._parser.feed(data)
        if self._reply is None:
            self._advance()
        elif self._parser.buffered > _MAX_WAITING:
            self.abort()

    def abort(self) -> None:
        """End the connection at once."""
        if self._transport is not None:
            self._transport.abort()

    def _advance(self) -> None:
        """Answer what has been asked, one request after another, until a reply takes time or bytes are missing."""
        while self._reply is None and self._transport is not None and not self._transport.is_closing():
            try:
                call = self._parser.take()
            except HttpError as error:
                self._begin(_protocol_error(error), keep_alive=False, chunked=False)
                return
            if call is None:
                if self._parser.wants_continue:
                    self._parser.wants_continue = False
                    self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                return
            self._begin(self._respond(call), keep_alive=call.keep_alive, chunked=call.chunks_allowed)

    def _begin(self, reply: Reply, *, keep_alive: bool, chunked: bool) -> None:
        self._reply = reply
        self._chunked = reply.length is None and chunked
        self._keep_alive = keep_alive and (self._chunked or reply.length is not None)
        self._next_step = 0
        self._wait(reply.steps[0].after_s)

    def _wait(self, after_s: float) -> None:
        if after_s > 0:
            self._timer = asyncio.get_running_loop().call_later(after_s, self._continue)
        else:
            self._play()

    def _continue(self) -> None:
        self._play()
        self._advance()

    def _play(self) -> None:
        """Send the steps that are due."""
        self._timer = None
        reply, transport = self._reply, self._transport
        while reply is not None and transport is not None and not self._blocked:
            transport.write(self._framed(reply))
            self._next_step += 1
            if self._next_step == len(reply.steps):
                self._finish(reply, transport)
                return
            after_s = reply.steps[self._next_step].after_s
            if after_s > 0:
                self._timer = asyncio.get_running_loop().call_later(after_s, self._continue)
                return

    def _framed(self, reply: Reply) -> bytes:
        data = reply.steps[self._next_step].data
        if self._chunked and data:
            data = b"%x\r\n%b\r\n" % (len(data), data)
        if self._next_step == 0:
            data = reply.head(keep_alive=self._keep_alive, chunked=self._chunked) + data
        last = self._next_step == len(reply.steps) - 1
        return data + b"0\r\n\r\n" if last and self._chunked and reply.ending == "complete" else data

    def _finish(self, reply: Reply, transport: asyncio.Transport) -> None:
        self._leave_reply()
        if reply.ending == "reset":
            # No lingering: the kernel sends a reset instead of a close.
            sock = cast(socket.socket, transport.get_extra_info("socket"))
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            transport.abort()
        elif reply.ending != "complete" or not self._keep_alive:
            transport.close()

    def _leave_reply(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._reply is not None:
            reply, self._reply = self._reply, None
            self._done(reply)


def _protocol_error(error: HttpError) -> Reply:
    body = {"error": {"message": str(error), "type": "invalid_request_error", "param": None, "code": None}}
    return whole_reply(error.status, json.dumps(body).encode())
