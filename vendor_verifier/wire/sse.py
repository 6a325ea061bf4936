"""Server-sent events out of bytes that arrive in any chunking; it does not know what the events mean.

Lines end with LF, CR or CRLF and nothing else. A CR at the end of a chunk ends its line at once, so that nothing waits
for a byte that may come much later; an LF that follows is dropped. At the end of the stream an unterminated event is
dispatched too, because real servers forget the last blank line and usage would be lost with it. Nearly every chunk
consists of whole events of one data line each, and is cut up without all this.

A line longer than ``max_line`` bytes, or an event longer than that in all, stops the decoder for good (``overflow``);
with ``skips_long`` such an event is left out and the next one read. Bytes that are not UTF-8 are replaced by U+FFFD and
noted in ``invalid_utf8``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from vendor_verifier.wire.payload import MAX_BYTES

# A whole body, which comes alone, may be twice as long.
MAX_LINE_BYTES = MAX_BYTES // 2
STREAM_STARTS = (b":", b"data:", b"event:", b"id:", b"retry:")
_BOM = b"\xef\xbb\xbf"
_CR = 13
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
        self._line = bytearray()
        self._is_first_line = True
        self._after_cr = False
        self._data: bytearray | None = None
        self._name = b""
        self._is_between_events = True

    def feed(self, chunk: bytes) -> Iterable[SseEvent]:
        """The events that ``chunk`` completes."""
        if self._is_between_events and chunk[:6] == _START and _CR not in chunk and len(chunk) <= self._max_line:
            try:
                text = chunk.decode()
            except UnicodeDecodeError:
                return self._events(chunk)
            datas = text[6:-2].split(_BETWEEN)
            if text[-2:] == _END and "\n" not in "".join(datas):
                self._is_first_line = False
                self.lines += 2 * len(datas)
                return map(SseEvent, datas)
        return self._events(chunk)

    def _events(self, chunk: bytes) -> Iterator[SseEvent]:
        self._is_between_events = False
        if self.overflow or not chunk:
            return
        if self._after_cr:
            chunk = chunk.removeprefix(b"\n")
        self._after_cr = chunk[-1:] == b"\r"
        *lines, rest = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        self.lines += len(lines)
        for line in lines:
            self._line += line
            yield from self._end_of_line()
        self._line += rest
        if len(self._line) > self._max_line:
            self._give_up()
            # What is still to come of the line is read as a comment.
            self._line[:] = b":"
        is_pending = self._line or self._after_cr or self._name or self._is_skipping or self._data is not None
        self._is_between_events = not (is_pending or self.overflow)

    def close(self) -> Iterator[SseEvent]:
        """Yield what an ended stream left unterminated."""
        if self._line:
            yield from self._end_of_line()
        yield from self._dispatch()

    def _end_of_line(self) -> Iterator[SseEvent]:
        line = bytes(self._line)
        self._line.clear()
        if self._is_first_line:
            self._is_first_line = False
            line = line.removeprefix(_BOM)
        if not line:
            yield from self._dispatch()
            return
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if len(line) > self._max_line:
            self._give_up()
        elif name == b"data" and not self._is_skipping:
            if self._data is None:
                self._data = bytearray(value)
            else:
                self._data += b"\n" + value
            if len(self._data) > self._max_line:
                self._give_up()
        elif name == b"event":
            self._name = value
        elif name.replace(b" ", b"") == b'{"error"':
            # A server wrote its error into the stream as it was.
            yield SseEvent(self._text(line), "error")

    def _dispatch(self) -> Iterator[SseEvent]:
        data, name = self._data, self._name
        self._data, self._name, self._is_skipping = None, b"", False
        if data is not None and not self.overflow:
            yield SseEvent(self._text(data), self._text(name))

    def _text(self, raw: bytes | bytearray) -> str:
        try:
            return raw.decode()
        except UnicodeDecodeError:
            self.invalid_utf8 = True
            return raw.decode(errors="replace")

    def _give_up(self) -> None:
        self._data = None
        self.overflow, self._is_skipping = not self._skips_long, self._skips_long
