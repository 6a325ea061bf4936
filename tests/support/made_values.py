"""Small values that tests of many folders need: copies, the least manifest, records of one attempt."""

from __future__ import annotations

import dataclasses
from typing import Any

import msgspec

from vendor_verifier.records.manifest import Manifest
from vendor_verifier.records.record import Attempt, Failure, Record, Response, Timing, TurnRecord, Usage

LEAST: dict[str, Any] = {"run": "r", "entries": [], "tasks": [], "settings": {"repeat": 1}}


def replace(value: Any, **changes: Any) -> Any:
    """A copy of a dataclass or a struct with ``changes``."""
    if isinstance(value, msgspec.Struct):
        return msgspec.structs.replace(value, **changes)
    return dataclasses.replace(value, **changes)


def some_manifest(**keys: Any) -> Manifest:
    """A manifest of nobody with these keys; ``settings`` are added to its own."""
    settings = {**LEAST["settings"], **keys.get("settings", {})}
    return msgspec.convert({**LEAST, **keys, "settings": settings}, Manifest)


def answer(label: str, ttft_ms: float = 100, usage: Usage | None = None) -> Record:
    """An answer whose first token came after ``ttft_ms``."""
    timing = Timing("2026-01-01T00:00:00Z", 10**9, first_token_ns=int(ttft_ms * 1e6))
    return _record(label, Attempt(1, timing, Response("hi " * 40, usage=usage)))


def failure(label: str) -> Record:
    return _record(label, Attempt(1, None, None, Failure("overloaded", "headers", "503", 503)))


def _record(label: str, attempt: Attempt) -> Record:
    return Record("run", "m", label, "v", "trigger", "s", 0, (TurnRecord((attempt,)),))
