"""What goes back over a connection, as timed pieces of bytes; it opens no connection and knows no persona."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from itertools import pairwise

from vendor_verifier.simulate.performance import Ending, Performance
from vendor_verifier.simulate.wire import Told

# Part of the time to the first token after which head and opening are sent, as a server does that starts to work.
_OPENING_SHARE = 0.6


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
