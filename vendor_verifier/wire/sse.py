"""Server-sent events out of bytes that arrive in any chunking; it does not know what the events mean.

Theory of operation: bytes are buffered until a line end (LF, CR or CRLF; nothing else, so U+2028 and NEL inside data
survive). A line is a field of the event under construction; an empty line dispatches it. A CR at the very end of the
buffer ends its line at once, so that nothing waits for a byte that may come much later; if that byte is an LF it was
the other half of a CRLF and is dropped. At the end of the stream an unterminated event is dispatched too, because real
servers forget the last blank line and usage would be lost with it. Nearly every chunk consists of whole events of one
data line each, and is cut up without all this.

Bounds: a line longer than ``max_line`` bytes, or an event longer than that in all, stops the decoder for good
(``overflow``), so that a hostile stream costs bounded memory; with ``skips_long`` such an event is left out and the
next one read. Bytes that are not UTF-8 are replaced by U+FFFD and noted in ``invalid_utf8``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec

from vendor_verifier.wire.payload import MAX_BYTES

# A whole body, which comes alone, may be twice as long.
MAX_LINE_BYTES = MAX_BYTES // 2
_BOM = b"\xef\xbb\xbf"
_LINE_END = re.compile(rb"\r\n|\r|\n")
_START, _BETWEEN, _END = b"data: ", "\n\ndata: ", "\n\n"


class SseEvent(msgspec.Struct, frozen=True, gc=False):
    """One server-sent event: its ``event:`` name ("" when absent) and its joined ``data:`` lines."""

    data: str
    name: str = ""


class SseDecoder:
    """Incremental decoder. Feed bytes with :meth:`feed`, end with :meth:`close`."""

    def __init__(self, max_line: int = MAX_LINE_BYTES, *, skips_long: bool = False) -> None:
        self.overflow = False
        self.invalid_utf8 = False
        self.lines = 0
        self._max_line = max_line
        self._skips_long = skips_long
        self._is_skipping = False
        self._buffer = bytearray()
        self._scanned = 0
        self._is_between = True
        self._at_start = True
        self._after_cr = False
        self._data: bytearray | None = None
        self._name = b""

    def feed(self, chunk: bytes) -> Iterable[SseEvent]:
        """The events that ``chunk`` completes."""
        if self._is_between and chunk[:6] == _START and 13 not in chunk and len(chunk) <= self._max_line:
            try:
                text = chunk.decode()
            except UnicodeDecodeError:
                return self._events(chunk)
            datas = text[6:-2].split(_BETWEEN)
            if text[-2:] == _END and "\n" not in "".join(datas):
                self._at_start = False
                self.lines += 2 * len(datas)
                return [SseEvent(data) for data in datas]
        return self._events(chunk)

    def _events(self, chunk: bytes) -> Iterator[SseEvent]:
        self._is_between = False
        if self.overflow:
            return
        self.lines += chunk.count(b"\n") + chunk.count(b"\r")
        if self._after_cr and chunk:
            chunk = chunk.removeprefix(b"\n")
            self._after_cr = False
        self._buffer += chunk
        if not self._strip_bom(final=False):
            return
        yield from self._lines()
        if len(self._buffer) > self._max_line:
            self._give_up()
            # What is still to come of the line is read as a comment.
            self._buffer[:] = b"" if self.overflow else b":"
            self._scanned = 0
        is_pending = self._buffer or self._after_cr or self._name or self._is_skipping or self.overflow
        self._is_between = not is_pending and self._data is None

    def close(self) -> Iterator[SseEvent]:
        """Yield what an ended stream left unterminated."""
        if self.overflow:
            return
        self._strip_bom(final=True)
        yield from self._lines()
        if self._buffer:
            yield from self._field(bytes(self._buffer))
            self._buffer.clear()
        yield from self._dispatch()

    def _strip_bom(self, *, final: bool) -> bool:
        """Drop a byte order mark; False while too few bytes have come to know."""
        if not self._at_start:
            return True
        if not final and len(self._buffer) < len(_BOM) and _BOM.startswith(self._buffer):
            return False
        self._at_start = False
        if self._buffer.startswith(_BOM):
            del self._buffer[: len(_BOM)]
        return True

    def _lines(self) -> Iterator[SseEvent]:
        start = 0
        buffer = self._buffer
        while True:
            line_end = _LINE_END.search(buffer, max(start, self._scanned))
            if line_end is None:
                break
            line = bytes(buffer[start : line_end.start()])
            start = line_end.end()
            self._after_cr = start == len(buffer) and buffer.endswith(b"\r")
            if len(line) > self._max_line:
                self._give_up()
            else:
                yield from self._field(line)
            if self.overflow:
                buffer.clear()
                return
        del buffer[:start]
        self._scanned = len(buffer)

    def _field(self, line: bytes) -> Iterator[SseEvent]:
        if not line:
            yield from self._dispatch()
            return
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data" and not self._is_skipping:
            if self._data is None:
                self._data = bytearray(value)
            else:
                self._data += b"\n" + value
            if len(self._data) > self._max_line:
                self._give_up()
        elif name == b"event":
            self._name = value

    def _dispatch(self) -> Iterator[SseEvent]:
        data, name = self._data, self._name
        self._data, self._name, self._is_skipping = None, b"", False
        if data is not None:
            yield SseEvent(self._text(bytes(data)), self._text(name))

    def _text(self, raw: bytes) -> str:
        try:
            return raw.decode()
        except UnicodeDecodeError:
            self.invalid_utf8 = True
            return raw.decode(errors="replace")

    def _give_up(self) -> None:
        self._data = None
        self.overflow, self._is_skipping = not self._skips_long, self._skips_long
