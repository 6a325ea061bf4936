"""HTTP/1.1 requests out of bytes that arrive in any chunking; it answers nothing and refuses what is ambiguous.

Bounds: a head above ``MAX_HEAD`` bytes and a body above ``max_body`` are refused before they are read. A request with
both Content-Length and Transfer-Encoding, or with two lengths, is refused: two readers would read it differently.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

MAX_HEAD = 64 * 1024
MAX_BODY = 32 * 1024 * 1024
_HEAD_END = re.compile(rb"\r?\n\r?\n")
_REQUEST_LINE = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]{1,32}) ([!-~]{1,8192}) HTTP/(\d)\.(\d)")
_FIELD_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;[^\r\n]{0,256})?")
_LONGEST_CHUNK_LINE = 300


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
