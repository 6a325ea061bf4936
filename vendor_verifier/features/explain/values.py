"""What is known of one vendor's answer to one sample, and which of its answers went wrong; nothing is judged here."""

from __future__ import annotations

from dataclasses import dataclass

from vendor_verifier.values.record import Record
from vendor_verifier.values.request import Turn
from vendor_verifier.values.sample import Sample
from vendor_verifier.values.score import CallVerdict, Decision, Score


@dataclass(frozen=True, slots=True)
class Slip:
    """One sample that went wrong at one vendor: ``reasons`` over its ``records`` repetitions, worst first."""

    model: str
    label: str
    suite: str
    sample: str
    repetition: int
    records: int
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Slips:
    """The worst samples of the vendors asked about, and how many there are in all. ``notes`` say what is not looked at.

    ``records`` are how many answers of these vendors were read.
    """

    run: str
    shown: tuple[Slip, ...]
    found: int
    records: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OtherAnswer:
    """What another vendor, or the same one another time, made of the sample. ``outcome``: ``ok`` or the failure."""

    label: str
    repetition: int
    is_baseline: bool
    outcome: str
    decision: Decision
    calls: tuple[str, ...]
    verdicts: tuple[CallVerdict, ...]
    ttft_ms: float | None


@dataclass(frozen=True, slots=True)
class Violation:
    """One place of one call's arguments that breaks the declared schema, or all that can be said of the call."""

    tool: str
    verdict: str
    pointer: str | None
    message: str | None


@dataclass(frozen=True, slots=True)
class Explanation:
    """One record with all that stands around it.

    ``asked`` are the turns as the evaluation put them, one per turn of the record (fewer where a conversation cannot be
    played again here). ``curl`` is a shell command without the key, ``no_curl`` why there is none.
    """

    record: Record
    sample: Sample
    score: Score
    asked: tuple[Turn, ...]
    violations: tuple[Violation, ...] = ()
    reasons: tuple[str, ...] = ()
    defects: tuple[str, ...] = ()
    others: tuple[OtherAnswer, ...] = ()
    redacted: bool = False
    curl: str | None = None
    no_curl: str | None = None
