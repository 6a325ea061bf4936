"""What one scheduled check found, as a plain value that any notice can be made of; it holds no secret."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from vendor_verifier.values.judgement import Finding, GateVerdict
from vendor_verifier.values.trend import Trend

CheckStatus = Literal["passed", "failed", "incomplete", "interrupted", "error"]


@dataclass(frozen=True, slots=True)
class CheckResult:
    """``gates`` with the model each was judged for; ``unfinished`` vendors and ``notices`` in sentences; ``leaders``:
    model → the label that ranks first; ``identity``: by model, who answers under other names than in the last run,
    which fails nothing. ``error`` is why nothing could be checked."""

    status: CheckStatus
    exit_code: int
    run: str | None = None
    folder: str | None = None
    gates: tuple[tuple[str, GateVerdict], ...] = ()
    trends: tuple[Trend, ...] = ()
    unfinished: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    leaders: Mapping[str, str] = field(default_factory=dict)
    identity: tuple[tuple[str, Finding], ...] = ()
    error: str | None = None
