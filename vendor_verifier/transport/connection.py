"""One HTTP/1.1 connection: a request's head as bytes, and the answer handed on as it arrives.

The moment bytes arrive is stamped before they are parsed. Bodies may be chunked, of a stated length, or end with the
connection; interim (1xx) answers are passed over; bodies packed by gzip or deflate are unpacked a little at a time and
no further than they are wanted. Bytes beyond the end of an answer are dropped, and the connection with them. Headers,
trailers and chunk extensions are bounded in bytes and in number.
"""

from __future__ import annotations

import asyncio
import re
import select
import time
import zlib
from collections.abc import Mapping
from typing import NamedTuple, Protocol, cast
from urllib.parse import quote, urlsplit

import httptools

from vendor_verifier.records.failures import FailureKind

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\t\x20-\x7e]*")
# What an address may hold; everything else is escaped.
_AS_IT_IS = "".join(map(chr, range(0x21, 0x7F)))
_HOST = re.compile(r"[0-9A-Za-z._:-]+")
_PORTS = {"http": 80, "https": 443}
# These would change how the request is framed.
_FRAMING = frozenset({"content-length", "transfer-encoding", "expect", "upgrade"})


class Origin(NamedTuple):
    """The scheme, host and port to connect to."""

    scheme: str
    host: str
    port: int


def request_head(
    url: str, headers: Mapping[str, str], defaults: Mapping[str, str], method: str = "POST"
) -> tuple[Origin, bytes]:
    """Where to send, and the head of the request up to the number after ``content-length: ``, for any body.

    ``headers`` win over ``defaults``, whatever their case.

    Raises:
        ValueError: not http or https, user data in the address, framing headers of the caller's own, or an address
            or headers that are not valid HTTP.
    """
    parts = urlsplit(url)
    port = _PORTS.get(parts.scheme)
    host = parts.hostname or ""
    if not host.isascii():
        host = host.encode("idna").decode()
    if port is None or not _HOST.fullmatch(host):
        raise ValueError("the address is not valid")
    if "@" in parts.netloc:
        raise ValueError("the address holds a user name; give the key in the entry instead")
    try:
        origin = Origin(parts.scheme, host, parts.port or port)
    except ValueError:
        raise ValueError("the port is not a number") from None
    target = quote((parts.path or "/") + ("?" + parts.query if parts.query else ""), safe=_AS_IT_IS)
    named = f"[{host}]" if ":" in host else host
    shown = named if origin.port == port else f"{named}:{origin.port}"
    merged = {"host": shown, **defaults, **{name.lower(): value for name, value in headers.items()}}
    for name, value in merged.items():
        if name in _FRAMING or not _TOKEN.fullmatch(name) or not _VALUE.fullmatch(value):
            raise ValueError("a header is not valid HTTP")
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in merged.items())]
    return origin, "\r\n".join([*lines, "content-length: "]).encode("ascii")


MAX_HEAD_BYTES = 100 * 1024
# Of head and trailers together; real ones have some thirty.
MAX_FIELDS = 1000
_UNPACKED_BYTES = 64 * 1024
_PACKINGS = frozenset({"gzip", "x-gzip", "deflate"})
_EITHER_PACKING = 32 + zlib.MAX_WBITS
_NO_BODY = frozenset({204, 304})
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


class Receiver(Protocol):
    """Takes an answer as it arrives. Moments are ``perf_counter_ns``; nothing here may wait."""

    def on_head(self, at_ns: int, status: int, headers: Mapping[str, str]) -> None: ...

    def on_data(self, at_ns: int, data: bytes, *, is_last: bool) -> None:
        """Take a piece of the body; ``is_last``: :meth:`on_complete` follows it."""

    def on_complete(self, at_ns: int, *, has_surplus: bool) -> None:
        """End the answer; ``has_surplus``: bytes came with its end that are not part of it."""

    def on_error(self, at_ns: int, kind: FailureKind, error: Exception | None) -> None:
        """End the answer with an error: a ``connection_reset``, ``protocol``, ``limit_exceeded`` or ``bad_payload``."""


class TooMuch(ConnectionError):
    """Raised when headers, trailers or chunk extensions exceed their bounds."""


class HttpConnection(asyncio.Protocol):
    """A connection: :meth:`send` writes a request and hands its answer to a receiver, :meth:`abort` ends it at once.

    ``answered_ns`` is when the last bytes came since a request was sent, 0 before the first.
    """

    def __init__(self) -> None:
        self.reusable = False
        self.idle_since_ns = 0
        # What connecting took: how long a way there and back is.
        self.round_trip_ns = 0
        self._transport: asyncio.Transport | None = None
        self._pieces: list[bytes] = []
        # What the parser calls for every chunk, without a frame of ours between them.
        self.on_body = self._pieces.append
        self._parser = httptools.HttpResponseParser(self)
        # One control character in a header is no reason to lose the answer.
        self._parser.set_dangerous_leniencies(lenient_headers=True)
        self._receiver: Receiver | None = None
        self._start()

    def _start(self) -> None:
        self.answered_ns = 0
        self._headers: dict[str, str] = {}
        self._field_count = 0
        self._bare_bytes = 0
        self._has_head = False
        self._to_the_end = False
        self._pieces.clear()
        self._is_over = False
        self._keep_alive = False
        self._unpacker: zlib._Decompress | None = None

    # --- for the sender

    def can_be_used(self) -> bool:
        """Whether the connection is idle and silent. Unread bytes are its end, or were never asked for."""
        transport = self._transport
        # The number of a closed socket may be another one's.
        return self.reusable and transport is not None and not (transport.is_closing() or _has_unread(transport))

    def send(self, data: bytes, receiver: Receiver) -> None:
        """Write one request; its answer goes to ``receiver``."""
        assert self._transport is not None
        self._start()
        self._receiver = receiver
        self.reusable = False
        self._transport.write(data)

    def abort(self) -> None:
        """Close at once, without a word to the receiver."""
        self._receiver = None
        self.reusable = False
        if self._transport is not None:
            self._transport.abort()

    # --- asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        at_ns = self.answered_ns = time.perf_counter_ns()
        receiver = self._receiver
        if receiver is None:
            self.abort()
            return
        error = self._parse(data)
        if self._pieces:
            body = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
            self._pieces.clear()
            if self._unpacker is None:
                receiver.on_data(at_ns, body, is_last=self._is_over)
            else:
                self._unpack(body, receiver, self._unpacker)
        if self._receiver is None:
            # It has what it wants.
            return
        if self._is_over:
            self._receiver = None
            self.reusable = self._keep_alive and not self._to_the_end and error is None
            self.idle_since_ns = at_ns
            if not self.reusable:
                self.abort()
            receiver.on_complete(at_ns, has_surplus=error is not None)
        elif error is not None:
            self.abort()
            receiver.on_error(at_ns, "limit_exceeded" if isinstance(error, TooMuch) else "protocol", error)

    def _parse(self, data: bytes) -> Exception | None:
        """Feed the parser; the error that stopped it, or None."""
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            return ConnectionError("the server wants to speak another protocol")
        except httptools.HttpParserError as refused:
            return refused.__context__ if isinstance(refused.__context__, ConnectionError) else refused
        if self._pieces:
            self._bare_bytes = 0
            return None
        self._bare_bytes += len(data)
        if self._bare_bytes <= MAX_HEAD_BYTES:
            return None
        what = "trailers or chunk extensions" if self._has_head else "headers"
        return TooMuch(f"{what} of more than {MAX_HEAD_BYTES} bytes")

    def _unpack(self, data: bytes, receiver: Receiver, unpacker: zlib._Decompress) -> None:
        """Hand on what is packed in ``data``, until the receiver wants no more."""
        try:
            # What follows the end is padding, and would be kept.
            while self._receiver is not None and not unpacker.eof:
                plain = unpacker.decompress(data, _UNPACKED_BYTES)
                if not plain:
                    return
                data = unpacker.unconsumed_tail
                receiver.on_data(self.answered_ns, plain, is_last=False)
        except zlib.error as error:
            self.abort()
            receiver.on_error(self.answered_ns, "bad_payload", error)

    def connection_lost(self, error: Exception | None) -> None:
        receiver, self._receiver = self._receiver, None
        if receiver is None:
            return
        now_ns = time.perf_counter_ns()
        if error is None and self._to_the_end:
            receiver.on_complete(now_ns, has_surplus=False)
        else:
            receiver.on_error(now_ns, "connection_reset", error)

    # --- httptools

    def on_message_begin(self) -> None:
        if self._is_over:
            # No second request was sent: the parser must not read on, or both answers would become one.
            raise ConnectionError("another answer follows the one that was asked for")

    def on_header(self, name: bytes, value: bytes) -> None:
        self._field_count += 1
        if self._field_count > MAX_FIELDS:
            raise TooMuch(f"more than {MAX_FIELDS} header fields")
        if self._has_head:
            # A trailer: the answer has been read by its head.
            return
        key, text = name.decode("latin-1").lower(), value.decode(errors="replace")
        if not text.isprintable():
            text = _CONTROL.sub("\ufffd", text)
        self._headers[key] = f"{self._headers[key]}, {text}" if key in self._headers else text

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        headers, self._headers = self._headers, {}
        if status < 200:
            return
        self._has_head = True
        coded = headers.get("transfer-encoding", "").lower().endswith("chunked")
        self._to_the_end = not coded and "content-length" not in headers and status not in _NO_BODY
        if headers.get("content-encoding", "").lower().replace("identity", "").strip(" ,") in _PACKINGS:
            self._unpacker = zlib.decompressobj(_EITHER_PACKING)
        if self._receiver is not None:
            self._receiver.on_head(self.answered_ns, status, headers)

    def on_message_complete(self) -> None:
        self._is_over = self._has_head
        # The parser forgets this when it is asked later.
        self._keep_alive = self._parser.should_keep_alive()


def _has_unread(transport: asyncio.BaseTransport) -> bool:
    """Whether unread bytes or the end have arrived on an open connection. The loop looks at its sockets once a round; a
    request sent within the round would go over a connection that is known to be closed."""
    connected = transport.get_extra_info("socket")
    if connected is None:
        return False
    if not hasattr(select, "poll"):
        # Windows, where select takes any socket however many there are.
        return bool(select.select([connected.fileno()], [], [], 0)[0])
    looking = select.poll()
    looking.register(connected.fileno(), select.POLLIN)
    return bool(looking.poll(0))
