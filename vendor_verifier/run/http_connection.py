"""One HTTP/1.1 connection: stamps the moment bytes arrive before it looks at them, then tells a hearer what they say.

It keeps no content, retries nothing and has no opinion on what is in a body. Bodies may be chunked, of a stated
length, or end with the connection; interim (1xx) answers are passed over; what is compressed unasked is unpacked up to
a bound. After a whole answer the connection is idle and may be used again, unless either side said otherwise. Bytes
beyond the end of an answer belong to none: they are dropped, and the connection with them.
"""

from __future__ import annotations

import asyncio
import time
import zlib
from collections.abc import Mapping
from typing import Protocol, cast

import httptools

from vendor_verifier.run.waiting_bytes import has_waiting_bytes

MAX_HEAD_BYTES = 100 * 1024
_PIECE_BYTES = 64 * 1024
_UNPACKERS = {"gzip": 16 + zlib.MAX_WBITS, "x-gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}
_NO_BODY = frozenset({204, 304})


class Hearer(Protocol):
    """Who sent the request. Nothing here may wait."""

    def head(self, at_ns: int, status: int, headers: Mapping[str, str]) -> None: ...

    def body(self, at_ns: int, data: bytes, *, is_last: bool) -> None:
        """A piece of the body; ``is_last``: the answer ends with it, as :meth:`whole` will say."""

    def whole(self, at_ns: int, *, has_surplus: bool) -> None:
        """The answer is over; ``has_surplus``: more came with its end, which was no part of it."""

    def broken(self, at_ns: int, why: str, error: Exception | None) -> None:
        """``why`` is ``closed``, ``protocol`` or ``payload``."""

    def room(self) -> int:
        """Bytes of body that are still wanted."""


class HttpConnection(asyncio.Protocol):
    """Send with :meth:`send`, then listen; :meth:`abort` leaves in the middle."""

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
        self._hearer: Hearer | None = None
        self._failed = False
        self._start()

    def _start(self) -> None:
        self._at_ns = 0
        self._headers: dict[str, str] = {}
        self._head_bytes = 0
        self._has_head = False
        self._to_the_end = False
        self._pieces.clear()
        self._over = False
        self._keep_alive = False
        self._unpacker: zlib._Decompress | None = None

    # --- for the sender

    @property
    def was_heard(self) -> bool:
        """Whether any byte came since the last request was sent."""
        return self._at_ns > 0

    def can_be_used(self) -> bool:
        """Whether the connection is idle and silent. What lies unread on it is its end, or was never asked for."""
        return self.reusable and self._transport is not None and not has_waiting_bytes(self._transport)

    def send(self, data: bytes, hearer: Hearer) -> None:
        """Write one request; ``hearer`` hears the answer."""
        assert self._transport is not None
        self._start()
        self._hearer = hearer
        self.reusable = False
        self._transport.write(data)

    def abort(self) -> None:
        """Leave at once; nobody hears of it."""
        self._hearer = None
        self.reusable = False
        if self._transport is not None:
            self._transport.abort()

    # --- asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._at_ns = time.perf_counter_ns()
        hearer = self._hearer
        if hearer is None:
            self.abort()
            return
        if not self._has_head:
            self._head_bytes += len(data)
        error: Exception | None = None
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            error = ConnectionError("the server wants to speak another protocol")
        except httptools.HttpParserError as refused:
            error = refused
        if error is None and not self._has_head and self._head_bytes > MAX_HEAD_BYTES:
            error = ConnectionError(f"headers of more than {MAX_HEAD_BYTES} bytes")
        if len(self._pieces) == 1 and not self._over and error is None and self._unpacker is None:
            # Nearly always: one more chunk of an answer under way.
            hearer.body(self._at_ns, self._pieces.pop(), is_last=False)
        else:
            self._tell(error)

    def _tell(self, error: Exception | None) -> None:
        """Hand over what this piece brought: what could be read first, then why no more could."""
        if self._pieces and self._hearer is not None:
            data = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
            self._pieces.clear()
            self._hear(data)
        hearer = self._hearer
        if hearer is None:
            return
        if self._over:
            is_clean = error is None and self._keep_alive and not self._to_the_end
            self._end(hearer, reusable=is_clean, has_surplus=error is not None)
        elif error is not None:
            self.abort()
            hearer.broken(self._at_ns, "protocol", error)

    def _hear(self, data: bytes) -> None:
        hearer = self._hearer
        assert hearer is not None
        if self._unpacker is None:
            hearer.body(self._at_ns, data, is_last=self._over)
            return
        # Piece by piece: a bomb is never unpacked further than somebody listens.
        while hearer.room() >= 0:
            try:
                plain = self._unpacker.decompress(data, _PIECE_BYTES)
            except zlib.error as error:
                self.abort()
                hearer.broken(self._at_ns, "payload", error)
                return
            data = self._unpacker.unconsumed_tail
            if not plain:
                return
            hearer.body(self._at_ns, plain, is_last=False)

    def _end(self, hearer: Hearer, *, reusable: bool, has_surplus: bool) -> None:
        self._hearer = None
        self.reusable = reusable
        self.idle_since_ns = self._at_ns
        if not reusable and self._transport is not None:
            self._transport.abort()
        hearer.whole(self._at_ns, has_surplus=has_surplus)

    def eof_received(self) -> bool:
        # The loop says that the connection is lost a round later; until then somebody would still send over it.
        self.reusable = False
        return False

    def connection_lost(self, error: Exception | None) -> None:
        self.reusable = False
        hearer, self._hearer = self._hearer, None
        if hearer is None:
            return
        now_ns = time.perf_counter_ns()
        if error is None and self._to_the_end:
            hearer.whole(now_ns, has_surplus=False)
        else:
            hearer.broken(now_ns, "closed", error)

    # --- httptools

    def on_message_begin(self) -> None:
        if self._over:
            # Nobody asked a second time: the parser must not read on, or both would be told as one.
            raise ConnectionError("another answer follows the one that was asked for")

    def on_header(self, name: bytes, value: bytes) -> None:
        key, text = _text(name).lower(), _text(value)
        known = self._headers.get(key)
        self._headers[key] = text if known is None else f"{known}, {text}"

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < 200:
            self._headers = {}
            return
        self._has_head = True
        headers = self._headers
        coded = headers.get("transfer-encoding", "").lower().endswith("chunked")
        self._to_the_end = not coded and "content-length" not in headers and status not in _NO_BODY
        window = _UNPACKERS.get(headers.get("content-encoding", "").strip().lower())
        self._unpacker = None if window is None else zlib.decompressobj(window)
        if self._hearer is not None:
            self._hearer.head(self._at_ns, status, headers)

    def on_message_complete(self) -> None:
        self._over = self._has_head
        # The parser forgets this when it is asked later.
        self._keep_alive = self._parser.should_keep_alive()


def _text(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")
