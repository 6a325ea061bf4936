"""What a stored manifest.json must look like to be worked with; a damaged one is refused with the place in it.

Only what is read is described, and keys that are not known are let through: a later version may write more. What an
earlier version or an importer leaves out has a default.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from vendor_verifier.values.score import BaselineF1, SchemaPolicy, Undecided

_Count = Annotated[int, Meta(ge=0, le=2**53)]
_Number = Annotated[float, Meta(ge=-(2.0**53), le=2.0**53)]
_Strings = list[str]
_NOTHING: Any = msgspec.UNSET


class _Entry(msgspec.Struct):
    model: str
    label: str
    vendor: str
    model_id: str
    provider: str | None = None
    is_baseline: bool = False
    repeat: Annotated[int, Meta(ge=1, le=2**31)] | None = None
    begun: _Count | None = None
    url: str | None = None
    wire: str | None = None
    price: dict[str, float | str | None] | None = None
    parameters: dict[str, Any] = {}
    extra_body: dict[str, Any] | None = None


class _Task(msgspec.Struct):
    suite: str
    options: dict[str, Any]
    skipped: _Strings
    defects: _Strings
    count: _Count = 0
    file: str | None = None
    sha256: str | None = None
    not_run: dict[str, Any] = {}


class _LoadShape(msgspec.Struct):
    request_rate: _Number | None = None
    arrival: str | None = None
    ramp_up_s: _Number = 0
    warmup: _Count = 0
    cooldown: _Count = 0
    duration_s: _Number | None = None
    schedule: dict[str, _Number] | None = None


class _Settings(msgspec.Struct):
    repeat: Annotated[int, Meta(ge=1, le=2**31)]
    seed: int | None = None
    load: _LoadShape | None = None


class _Score(msgspec.Struct, forbid_unknown_fields=True):
    undecided: Undecided = "missed"
    schema_policy: SchemaPolicy = "lenient"
    rank_metrics: _Strings = []
    gates: _Strings = []
    baseline_f1: BaselineF1 = "fixed"
    model_gates: dict[str, _Strings] = {}
    slos: _Strings = []


class _Offered(msgspec.Struct):
    begun: _Count
    most_under_way: _Count
    cap: _Count
    held_back: _Count
    warmup: _Count
    warmup_failed: _Count
    lag_p50_ms: _Number | None
    lag_p99_ms: _Number | None


class _Loss(msgspec.Struct):
    session: str
    reason: str


class _Executor(msgspec.Struct):
    lost_sessions: list[_Loss] = []
    beside: dict[str, _Strings] | None = None


class _Loop(msgspec.Struct):
    p50_ms: _Number | None = None
    p99_ms: _Number | None = None
    core_share: _Number | None = None


class _Lowered(msgspec.Struct):
    given: _Count
    lowest: _Count
    last: _Count


class _Tool(msgspec.Struct):
    name: str | None = None
    version: str | None = None


class _Manifest(msgspec.Struct):
    run: str = _NOTHING
    created_at: str | None = None
    status: str = ""
    entries: list[_Entry] = []
    tasks: list[_Task] | None = None
    settings: _Settings = _NOTHING
    score: _Score = _NOTHING
    identity: dict[str, Any] | None = None
    warnings: _Strings = []
    stopped: dict[str, str] = {}
    limit: str | None = None
    concurrency_lowered: dict[str, _Lowered] = {}
    event_loop: _Loop | None = None
    load: dict[str, _Offered] | None = None
    executors: list[_Executor] | None = None
    tool: _Tool | None = None
    packages: dict[str, str | None] | None = None


def misshapen(manifest: Mapping[str, Any]) -> str | None:
    """Where the manifest is not what is worked with, and what was expected there; None where it is."""
    try:
        msgspec.convert(manifest, _Manifest)
    except (msgspec.ValidationError, RecursionError) as error:
        return str(error)
    return None
