"""HTTP/1.1 on the server's side: a parser of requests, replies as timed pieces of bytes, and the connection of both.

A head above ``MAX_HEAD`` bytes and a body above ``max_body`` are refused before they are read; so is a request with
both Content-Length and Transfer-Encoding or with two lengths, which two readers would read differently. Each step of
a reply is timed from the step before, so a busy machine slows a stream down but never runs its pieces together. A
client that does not read stops the stream; one that goes away ends it.
"""

from __future__ import annotations

import asyncio
import json
import re
import socket
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from itertools import pairwise
from typing import cast

from vendor_verifier.features.simulate.performance import Ending, Performance
from vendor_verifier.features.simulate.wires.base import Told

MAX_HEAD = 64 * 1024
MAX_BODY = 32 * 1024 * 1024
_HEAD_END = re.compile(rb"\r?\n\r?\n")
_REQUEST_LINE = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]{1,32}) ([!-~]{1,8192}) HTTP/(\d)\.(\d)")
_FIELD_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;[^\r\n]{0,256})?")
_LONGEST_CHUNK_LINE = 300
# Part of the time to the first token after which head and opening are sent, as a server does that starts to work.
_OPENING_SHARE = 0.6
_MAX_WAITING = 2 * MAX_BODY


class HttpError(Exception):
    """The bytes are no request this server takes; the connection cannot go on after it."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class HttpCall:
    """One complete request; header names in lower case, repeated ones joined by a comma."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes
    keep_alive: bool
    chunks_allowed: bool


class CallParser:
    """Incremental parser of one connection. Feed bytes, take finished requests with :meth:`take`."""

    def __init__(self, max_body: int = MAX_BODY) -> None:
        self._max_body = max_body
        self._buffer = bytearray()
        self._scanned = 0
        self._head: tuple[str, str, bool, dict[str, str]] | None = None
        self._length: int | None = None
        self._chunks = bytearray()
        self._in_trailer = False
        self.wants_continue = False

    def feed(self, data: bytes) -> None:
        self._buffer += data

    @property
    def buffered(self) -> int:
        """Bytes waiting to be looked at."""
        return len(self._buffer)

    def take(self) -> HttpCall | None:
        """The next whole request, or None until more bytes come.

        Raises:
            HttpError: malformed or too large.
        """
        if self._head is None and not self._read_head():
            return None
        body = self._chunked_body() if self._length is None else self._sized_body(self._length)
        if body is None or self._head is None:
            return None
        method, target, modern, headers = self._head
        wish = headers.get("connection", "").lower()
        keep_alive = "close" not in wish if modern else "keep-alive" in wish
        self._head = None
        self.wants_continue = False
        return HttpCall(method, target, headers, body, keep_alive, modern)

    def _read_head(self) -> bool:
        while self._buffer.startswith((b"\r", b"\n")):
            del self._buffer[:1]
        found = _HEAD_END.search(self._buffer, max(self._scanned - 3, 0))
        if found is None:
            self._scanned = len(self._buffer)
            if self._scanned > MAX_HEAD:
                raise HttpError(431, "the request head is too large")
            return False
        if found.start() > MAX_HEAD:
            raise HttpError(431, "the request head is too large")
        lines = bytes(self._buffer[: found.start()]).split(b"\n")
        del self._buffer[: found.end()]
        self._scanned = 0
        line = _REQUEST_LINE.fullmatch(lines[0].removesuffix(b"\r"))
        if line is None:
            raise HttpError(400, "not an HTTP/1.1 request")
        if line[3] != b"1":
            raise HttpError(505, "only HTTP/1.1 is spoken here")
        headers = _fields(lines[1:])
        self._head = (line[1].decode(), line[2].decode(), line[4] != b"0", headers)
        self._length = self._framing(headers)
        self.wants_continue = headers.get("expect", "").lower() == "100-continue"
        return True

    def _framing(self, headers: Mapping[str, str]) -> int | None:
        """The body's length, or None when it comes in chunks."""
        coding = headers.get("transfer-encoding")
        length = headers.get("content-length")
        if coding is not None:
            if length is not None:
                raise HttpError(400, "both Content-Length and Transfer-Encoding")
            if coding.strip().lower() != "chunked":
                raise HttpError(501, "no transfer coding but chunked")
            return None
        if length is None:
            return 0
        if not (length.isascii() and length.isdigit()):
            raise HttpError(400, "bad Content-Length")
        if len(length) > 12 or int(length) > self._max_body:
            raise HttpError(413, f"the body is larger than {self._max_body} bytes")
        return int(length)

    def _sized_body(self, length: int) -> bytes | None:
        if len(self._buffer) < length:
            return None
        body = bytes(self._buffer[:length])
        del self._buffer[:length]
        return body

    def _chunked_body(self) -> bytes | None:
        while True:
            end = self._buffer.find(b"\n", 0, _LONGEST_CHUNK_LINE)
            if end < 0:
                if len(self._buffer) >= _LONGEST_CHUNK_LINE:
                    raise HttpError(400, "bad chunk line")
                return None
            line = bytes(self._buffer[:end]).removesuffix(b"\r")
            if self._in_trailer:
                del self._buffer[: end + 1]
                if line:
                    continue
                body, self._chunks, self._in_trailer = bytes(self._chunks), bytearray(), False
                return body
            size = _CHUNK_SIZE.fullmatch(line)
            if size is None:
                raise HttpError(400, "bad chunk size")
            if not self._read_chunk(end + 1, int(size[1], 16)):
                return None

    def _read_chunk(self, start: int, size: int) -> bool:
        """Move one chunk into the body; False until all of it and its line end are there."""
        if len(self._chunks) + size > self._max_body:
            raise HttpError(413, f"the body is larger than {self._max_body} bytes")
        if size == 0:
            del self._buffer[:start]
            self._in_trailer = True
            return True
        mark = bytes(self._buffer[start + size : start + size + 2])
        if len(mark) < 2 and mark != b"\n":
            return False
        if not mark.startswith((b"\r\n", b"\n")):
            raise HttpError(400, "a chunk is not as long as it says")
        self._chunks += self._buffer[start : start + size]
        del self._buffer[: start + size + (1 if mark.startswith(b"\n") else 2)]
        return True


def _fields(lines: list[bytes]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for raw in lines:
        name, colon, value = raw.removesuffix(b"\r").partition(b":")
        if not colon or _FIELD_NAME.fullmatch(name) is None:
            raise HttpError(400, "bad header line")
        key, text = name.decode().lower(), value.strip(b" \t").decode("latin-1")
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    return headers


@dataclass(frozen=True, slots=True)
class Step:
    """Bytes to send ``after_s`` seconds after the step before (the first: after the request)."""

    after_s: float
    data: bytes


@dataclass(frozen=True, slots=True)
class Reply:
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
    """A body that is there at once."""
    return Reply(status, (Step(0.0, body),), headers=headers, length=len(body), persona=persona)


def body_reply(performance: Performance, body: bytes, speed: float, persona: str) -> Reply:
    """A whole answer, sent when all of it is generated. Cut short, it promises more than it sends or is not JSON."""
    sent = body if performance.ending == "complete" else body[: int(len(body) * performance.kept)]
    length = len(sent) if performance.ending == "early_end" else len(body)
    after_s = (performance.first_token_s + performance.decode_s) / speed
    ending: Ending = "complete" if performance.ending == "early_end" else performance.ending
    return Reply(200, (Step(after_s, sent),), length=length, ending=ending, persona=persona)


def stream_reply(performance: Performance, told: Told, speed: float, persona: str) -> Reply:
    """A streamed answer: opening, then a piece at a time at an even pace; the closing comes with the last piece."""
    pieces = told.pieces or [b""]
    if performance.ending == "complete":
        pieces = [*pieces[:-1], pieces[-1] + told.closing]
    else:
        pieces = pieces[: max(1, min(int(len(pieces) * performance.kept), len(pieces) - 1))]
    gap_s = performance.decode_s / max(len(told.pieces) - 1, 1)
    moments = [performance.first_token_s * _OPENING_SHARE, performance.first_token_s]
    moments += [performance.first_token_s + gap_s * number for number in range(1, len(pieces))]
    data = [told.opening, *pieces]
    if performance.buffers:
        moments, data = [performance.first_token_s + performance.decode_s], [b"".join(data)]
    waits = [moments[0], *(later - sooner for sooner, later in pairwise(moments))]
    steps = [Step(wait / speed, part) for wait, part in zip(waits, data, strict=True)]
    return Reply(
        200,
        steps,
        content_type=told.content_type,
        headers=(("cache-control", "no-cache"),),
        # An early end is a stream that is whole as far as HTTP can tell.
        ending="complete" if performance.ending == "early_end" else performance.ending,
        persona=persona,
    )


class Connection(asyncio.Protocol):
    """Callbacks of one connection. ``respond`` answers a request, ``done`` is told of each reply that has ended."""

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
