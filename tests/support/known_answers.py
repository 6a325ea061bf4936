"""A run of two samples and three vendors whose answers are known word by word."""

from __future__ import annotations

from vendor_verifier.records.record import Attempt, Failure, Record, Response, Timing, ToolCall, TurnRecord, Usage


def record_of(run: str, label: str, sample: str, attempt: Attempt) -> Record:
    turns = (TurnRecord((attempt,)),)
    return Record(run, "simulated-model", label, "simulated", "trigger", sample, 0, turns)


def answered(*calls: ToolCall, text: str = "") -> Attempt:
    timing = Timing(
        "2026-01-01T00:00:00.000+00:00", 900_000_000, headers_ns=100_000_000, first_token_ns=250_000_000,
        last_token_ns=800_000_000, gaps_ns=(50_000_000, 400_000_000, 100_000_000),
    )  # fmt: skip
    reason = "tool_calls" if calls else "stop"
    response = Response(text, tool_calls=calls, finish_reason=reason, finish_raw="eos", usage=Usage(10, 20))  # type: ignore[arg-type]
    return Attempt(1, timing, response)


def busy() -> Attempt:
    return Attempt(1, Timing("2026-01-01T00:00:00.000+00:00", 5), failure=Failure("overloaded", "headers", "busy", 503))
