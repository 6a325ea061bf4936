"""The terms on which every transport carries a request: its own headers, how much of an answer is kept, how a limit
that was met is worded. It opens nothing and knows no HTTP library.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from vendor_verifier import __version__
from vendor_verifier.values.plan import Limits
from vendor_verifier.values.record import Failure, FailureKind, Phase
from vendor_verifier.wire.progress import MAX_EVENTS_WITHOUT_TOKEN

MAX_ANSWER_BYTES = 32 * 1024 * 1024
MAX_ERROR_BYTES = 64 * 1024
# Every chunk is kept with its moment, so an answer of single bytes costs far more memory than its size.
MAX_CHUNKS = 500_000
# A connection that the server gave up while a request was on its way to it ends no later than this after the sending.
_MOMENT_NS = 10**9
DEFAULT_HEADERS: Mapping[str, str] = {
    # No compression: a compressing proxy holds tokens back until its block is full.
    "accept-encoding": "identity",
    "user-agent": f"agent-vendor-verifier/{__version__}",
}


class Listener(Protocol):
    """Hears of an answer while it arrives; it must not wait, it would be timed."""

    def headers(self, status: int, headers: Mapping[str, str]) -> None: ...

    def chunk(self, chunk: bytes) -> None: ...


def timeout_failure(kind: FailureKind, limits: Limits, total_s: float, phase: Phase, status: int | None) -> Failure:
    """The limit that was met, in words."""
    seconds = {"timeout_first_token": limits.first_token_s, "timeout_idle": limits.idle_s}.get(kind, total_s)
    words = {
        "timeout_first_token": f"no token within {seconds:g} s",
        "timeout_idle": f"no data for {seconds:g} s in the middle of the answer",
    }.get(kind, f"not finished within {seconds:g} s")
    return Failure(kind, phase, words, status)


def moment_ns(round_trip_ns: int) -> int:
    """How soon after sending a kept connection must end for its end to have crossed the request on the way."""
    return max(_MOMENT_NS, 2 * round_trip_ns)


def over_cap(status: int) -> Failure:
    """An answer that is larger than what is kept of one."""
    words = f"the answer is larger than {MAX_ANSWER_BYTES} bytes or {MAX_CHUNKS} pieces"
    return Failure("limit_exceeded", "stream", words, status)


def flooded(status: int | None) -> Failure:
    """A stream that goes on and on and says nothing."""
    words = f"more than {MAX_EVENTS_WITHOUT_TOKEN} events, or three times as many lines, without a token"
    return Failure("limit_exceeded", "first_token", words, status)


def advised(kind: FailureKind, words: str) -> str:
    """What went wrong, with the way to mend it where the user has one."""
    if kind != "tls":
        return words
    return f"{words[:300]}; check the address, or trust the host's authority by SSL_CERT_FILE=<file.pem>"
