"""Server-sent events out of bytes that arrive in any chunking; it does not know what the events mean.

Theory of operation: bytes are buffered until a line end (LF, CR or CRLF; nothing else, so U+2028 and NEL inside data
survive). A line is a field of the event under construction; an empty line dispatches it. A CR at the very end of the
buffer waits for the next byte, since it may be half of a CRLF. At the end of the stream an unterminated event is
dispatched too, because real servers forget the last blank line and usage would be lost with it.

Bounds: a line longer than ``max_line`` bytes, or an event longer than that in all, stops the decoder for good
(``overflow``), so that a hostile stream costs bounded memory. Bytes that are not UTF-8 are replaced by U+FFFD and
noted in ``invalid_utf8``.
"""

from __future__ import annotations

from collections.abc import Iterator

from vendor_verifier.values.event import SseEvent

MAX_LINE_BYTES = 8 * 1024 * 1024
_BOM = b"\xef\xbb\xbf"


class SseDecoder:
    """Incremental decoder. Feed bytes with :meth:`feed`, end with :meth:`close`."""

    def __init__(self, max_line: int = MAX_LINE_BYTES) -> None:
        self.overflow = False
        self.invalid_utf8 = False
        self._max_line = max_line
        self._buffer = bytearray()
        self._scanned = 0
        self._at_start = True
        self._data: list[bytes] = []
        self._data_size = 0
        self._name = b""

    def feed(self, chunk: bytes) -> Iterator[SseEvent]:
        """Yield the events that ``chunk`` completes."""
        if self.overflow:
            return
        self._buffer += chunk
        if not self._strip_bom(final=False):
            return
        yield from self._lines(final=False)
        if len(self._buffer) > self._max_line:
            self._stop()

    def close(self) -> Iterator[SseEvent]:
        """Yield what an ended stream left unterminated."""
        if self.overflow:
            return
        self._strip_bom(final=True)
        yield from self._lines(final=True)
        if self._buffer:
            yield from self._field(bytes(self._buffer))
            self._buffer.clear()
        yield from self._dispatch()

    def _strip_bom(self, *, final: bool) -> bool:
        """Drop a byte order mark; False while it cannot yet be told whether there is one."""
        if not self._at_start:
            return True
        if not final and len(self._buffer) < len(_BOM) and _BOM.startswith(self._buffer):
            return False
        self._at_start = False
        if self._buffer.startswith(_BOM):
            del self._buffer[: len(_BOM)]
        return True

    def _lines(self, *, final: bool) -> Iterator[SseEvent]:
        start = 0
        buffer = self._buffer
        scan = self._scanned
        while True:
            line_feed = buffer.find(b"\n", scan)
            carriage = buffer.find(b"\r", scan, line_feed if line_feed >= 0 else len(buffer))
            end = carriage if carriage >= 0 else line_feed
            if end < 0:
                break
            width = 1
            if carriage >= 0:
                if end + 1 == len(buffer) and not final:
                    break
                width = 2 if buffer[end + 1 : end + 2] == b"\n" else 1
            if end - start > self._max_line:
                self._stop()
                return
            yield from self._field(bytes(buffer[start:end]))
            if self.overflow:
                return
            start = scan = end + width
        del buffer[:start]
        # A trailing CR is looked at again; everything else before the end holds no line end.
        self._scanned = len(buffer) - 1 if buffer.endswith(b"\r") else len(buffer)

    def _field(self, line: bytes) -> Iterator[SseEvent]:
        if not line:
            yield from self._dispatch()
            return
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
            self._data_size += len(value) + 1
            if self._data_size > self._max_line:
                self._stop()
        elif name == b"event":
            self._name = value

    def _dispatch(self) -> Iterator[SseEvent]:
        data, name = self._data, self._name
        self._data, self._data_size, self._name = [], 0, b""
        if data:
            yield SseEvent(self._text(b"\n".join(data)), self._text(name))

    def _text(self, raw: bytes) -> str:
        try:
            return raw.decode()
        except UnicodeDecodeError:
            self.invalid_utf8 = True
            return raw.decode(errors="replace")

    def _stop(self) -> None:
        self.overflow = True
        self._buffer.clear()
        self._data.clear()
