"""Notices, while bytes arrive, whether an answer makes progress; it keeps nothing and times nothing.

Two questions decide the time limits: has the first token come, and is this chunk more than keep-alive noise? Until the
first token, events are really read. After it, only the shape of the bytes is looked at, because reading belongs after
the end of the stream where it cannot delay the next time stamp: a chunk is progress if a ``data:`` field begins in it
that is not a ping. Comments, blank lines and a field that drips in byte by byte are not.

Bounds: an event too long to be read in passing is not looked into, and a stream of events without end that bring no
token is called flooded instead of being read for ever.
"""

from __future__ import annotations

from collections.abc import Iterator

from vendor_verifier.values.event import SseEvent
from vendor_verifier.wire.assembler import characters_of
from vendor_verifier.wire.base import Reader
from vendor_verifier.wire.sse import SseDecoder

# A model that thinks in secret may send an empty event for each of its tokens.
MAX_EVENTS_WITHOUT_TOKEN = 100_000
_MAX_LINES = 3 * MAX_EVENTS_WITHOUT_TOKEN
_READ_IN_PASSING = 32 * 1024
_LOOKED_AT = 1024
_FIELD = b"data:"
_KEPT = len(_FIELD) - 1
_PING = b'"ping"'
_PINGS = (b'"type": "ping"', b'"type":"ping"')


class ProgressMeter:
    """Takes every chunk of one answer in order. ``reader`` must be fresh and is used up."""

    def __init__(self, reader: Reader) -> None:
        self.has_token = False
        self.is_flooded = False
        self._reader = reader
        self._decoder = SseDecoder(_READ_IN_PASSING, skips_long=True)
        self._events = 0
        self._tail = b""
        self._is_event_stream = True

    def expect_body(self) -> None:
        """Read the answer as a plain body: any byte that is not white space is progress and a token."""
        self._is_event_stream = False

    def feed(self, chunk: bytes) -> bool:
        """Take a chunk; True if it is progress."""
        if not self._is_event_stream:
            progress = not chunk.isspace() and bool(chunk)
            self.has_token = self.has_token or progress
            return progress
        if self.has_token and chunk.startswith(_FIELD) and _PING not in chunk:
            # Nearly every chunk: it need not even be held against the end of the one before.
            self._tail = chunk[-_KEPT:]
            return True
        is_first = not self.has_token and self._look_for_token(chunk)
        window = self._tail + chunk
        self._tail = window[-_KEPT:]
        if is_first:
            return True
        fields = window.count(_FIELD)
        return fields > 0 and (_PING not in window or fields > sum(map(window.count, _PINGS)))

    def _look_for_token(self, chunk: bytes) -> bool:
        if self.is_flooded:
            return False
        for event in self._events_of(chunk):
            self._events += 1
            # All of it is read, whatever comes first: the reader may have to know.
            if sum(map(characters_of, self._reader.read(event))) > 0:
                # What follows in this chunk is read when the answer is over.
                self.has_token = True
                break
        is_much = self._events > MAX_EVENTS_WITHOUT_TOKEN or self._decoder.lines > _MAX_LINES
        self.is_flooded = is_much and not self.has_token
        return self.has_token

    def _events_of(self, chunk: bytes) -> Iterator[SseEvent]:
        """The events that ``chunk`` completes, decoded no further than they are asked for."""
        for start in range(0, len(chunk), _LOOKED_AT):
            yield from self._decoder.feed(chunk[start : start + _LOOKED_AT])
