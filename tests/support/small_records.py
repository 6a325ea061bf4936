"""Records of one attempt, for tests that count records and do not care what was said."""

from __future__ import annotations

from vendor_verifier.records.record import Attempt, Failure, Record, Response, Timing, TurnRecord, Usage


def answer(label: str, ttft_ms: float = 100, usage: Usage | None = None) -> Record:
    """An answer whose first token came after ``ttft_ms``."""
    timing = Timing("2026-01-01T00:00:00Z", 10**9, first_token_ns=int(ttft_ms * 1e6))
    attempt = Attempt(1, timing, Response("hi " * 40, usage=usage))
    return Record("run", "m", label, "v", "trigger", "s", 0, (TurnRecord((attempt,)),))


def failure(label: str) -> Record:
    """A sample that nobody answered."""
    attempt = Attempt(1, None, None, Failure("overloaded", "headers", "503", 503))
    return Record("run", "m", label, "v", "trigger", "s", 0, (TurnRecord((attempt,)),))
