"""What the client and the SDKs share: their interface, the caps of an answer, and how its progress is known.

Until the first token events are really read. After it only the shape of the bytes is looked at, because reading belongs
after the end of the stream where it cannot delay the next time stamp: a chunk is progress if a ``data:`` field begins
in it that is not a ping. Comments, blank lines and a field that drips in byte by byte are not.
"""

from __future__ import annotations

from typing import Protocol

import msgspec

from vendor_verifier.records.record import Exchange
from vendor_verifier.records.request import HttpRequest
from vendor_verifier.wire.answer import Answer
from vendor_verifier.wire.base import Reader
from vendor_verifier.wire.sse import SseDecoder

# A model that thinks in secret may send an empty event for each of its tokens.
MAX_EVENTS_WITHOUT_TOKEN = 100_000
_MAX_LINES = 3 * MAX_EVENTS_WITHOUT_TOKEN
_READ_IN_PASSING = 32 * 1024
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
        self._answer = Answer()
        self._decoder = SseDecoder(_READ_IN_PASSING, skips_long=True)
        self._events = 0
        self._last = b""
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
            self._last = chunk
            return True
        is_first = not self.has_token and self._look_for_token(chunk)
        window = self._last = self._last[-_KEPT:] + chunk
        if is_first:
            return True
        fields = window.count(_FIELD)
        return fields > 0 and (_PING not in window or fields > sum(map(window.count, _PINGS)))

    def _look_for_token(self, chunk: bytes) -> bool:
        if self.is_flooded:
            return False
        for event in self._decoder.feed(chunk):
            self._events += 1
            self._reader.read(event, self._answer)
            if self._answer.token_moments:
                # What follows in this chunk is read when the answer is over.
                self.has_token = True
                break
        is_much = self._events > MAX_EVENTS_WITHOUT_TOKEN or self._decoder.lines > _MAX_LINES
        self.is_flooded = is_much and not self.has_token
        return self.has_token


MAX_ANSWER_BYTES = 32 * 1024 * 1024
MAX_ERROR_BYTES = 64 * 1024
# Every chunk is kept with its moment, so an answer of single bytes costs far more memory than its size.
MAX_CHUNKS = 500_000
# A connection that the server gave up while a request was on its way to it ends no later than this after the sending.
MOMENT_NS = 10**9


class Sending(msgspec.Struct, frozen=True):
    """One request to be sent, due at ``scheduled_at_ns`` (``perf_counter_ns``), with a fresh ``meter`` of its answer.

    ``wire`` names its protocol for a client that sends through SDKs. ``total_s`` replaces the run's limit for the whole
    attempt. ``fresh``: over a connection of its own, never over one that was kept.
    """

    request: HttpRequest
    meter: ProgressMeter
    scheduled_at_ns: int
    wire: str = ""
    total_s: float | None = None
    fresh: bool = False


class Client(Protocol):
    """Sends one request and returns what happened; never raises on a vendor's behaviour."""

    async def exchange(self, sending: Sending) -> Exchange:
        """The exchange of one request."""
