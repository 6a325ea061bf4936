"""Records made by hand, and their frames and figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from vendor_verifier.records.manifest import EntryInfo
from vendor_verifier.records.record import Attempt, Failure, Record, Response, Timing, ToolCall, TurnRecord, Usage
from vendor_verifier.records.request import Turn
from vendor_verifier.records.results import VendorResult
from vendor_verifier.records.sample import Sample, Samples
from vendor_verifier.scoring.figures import Scored, ScorePlan, score_models
from vendor_verifier.scoring.table import Frames, read_frames
from vendor_verifier.suites.trigger import TriggerSuite

MS = 1_000_000
TOOLS = ({"type": "function", "function": {"name": "f", "parameters": {"required": ["a"]}}},)
SAMPLES = Samples(
    [Sample(f"s{number}-1", Turn(({"role": "user", "content": str(number)},), TOOLS)) for number in range(6)]
)
BASE = EntryInfo("m", "official", "official", "m-1", is_baseline=True)
RIVAL = EntryInfo("m", "rival", "rival", "m-1")
CALL = (ToolCall("f", '{"a": 1}'),)
WRONG = (ToolCall("f", '{"b": 1}'),)


def timing(ttft_ms: float = 100, **changes: Any) -> Timing:
    """First token after ``ttft_ms``, the last one a second later."""
    first, last = int(ttft_ms * MS), int((ttft_ms + 1000) * MS)
    fields = {
        "sent_at": "2026-01-01T00:00:00Z", "end_ns": last, "first_token_ns": first, "first_answer_ns": first,
        "last_token_ns": last, "first_chunk_share": 0.0,
    }  # fmt: skip
    return Timing(**{**fields, **changes})


def ok(calls: Sequence[ToolCall] = CALL, *, timed: Timing | None = None, **changes: Any) -> Attempt:
    """An answer with these calls, 10 tokens of prompt and 100 of output."""
    said = {"text": "hi " * 40, "finish_reason": "tool_calls" if calls else "stop", "usage": Usage(10, 100)}
    return Attempt(1, timed or timing(), Response(**{**said, "tool_calls": tuple(calls), **changes}))


def bad(kind: str = "http_5xx", status: int | None = 500) -> Attempt:
    return Attempt(1, Timing("2026-01-01T00:00:00Z", 1), failure=Failure(kind, "headers", "x", status))


def record(entry: EntryInfo, sample: int, *attempts: Attempt, repetition: int = 0, **changes: Any) -> Record:
    fields = {"suite": "trigger", "turns": (TurnRecord(attempts),), **changes}
    key = ("run", entry.model, entry.label, entry.vendor)
    return Record(*key, fields.pop("suite"), SAMPLES[sample].id, repetition, **fields)


def everything(entry: EntryInfo, attempt: Attempt | None = None, **changes: Any) -> list[Record]:
    """One record a sample: calls on even samples and text on odd ones, or always ``attempt``."""
    return [record(entry, at, attempt or ok(() if at % 2 else CALL), **changes) for at in range(len(SAMPLES))]


def frames(records: Iterable[Record], **options: Any) -> Frames:
    """The frames of records of the trigger suite."""
    return read_frames(records, {"trigger": TriggerSuite()}, {"trigger": SAMPLES}, **options)


def score(records: Iterable[Record], *entries: EntryInfo, **options: Any) -> Scored:
    """Their figures; the run is complete unless ``options`` say otherwise."""
    plan = {"complete": True, **options}
    return score_models(
        frames(records), ScorePlan(entries=entries or (BASE, RIVAL), samples={"trigger": SAMPLES}, **plan)
    )


def result(scored: Scored, label: str = "rival") -> VendorResult:
    """The result of a vendor of the only model."""
    return scored.models["m"].vendors[label]
