"""The rows of the frames: what each line of one is made of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate

from vendor_verifier.scoring.observation import Observation
from vendor_verifier.values.event import ToolCall
from vendor_verifier.values.judgement import Finding
from vendor_verifier.values.record import Attempt, Record
from vendor_verifier.values.sample import Sample
from vendor_verifier.values.score import CallVerdict, ModelScore, Score, VendorScore
from vendor_verifier.values.verdict import VendorVerdict


@dataclass(frozen=True, slots=True)
class SampleRow:
    suite: str
    sample: Sample


@dataclass(frozen=True, slots=True)
class RecordRow:
    """A record that counts, with its score and its observation."""

    record: Record
    sample: Sample
    score: Score
    observation: Observation


@dataclass(frozen=True, slots=True)
class AttemptRow:
    record: Record
    turn: int
    attempt: Attempt


@dataclass(frozen=True, slots=True)
class CallRow:
    """A call with its verdict; ``turn`` and ``call`` are None where texts were not stored."""

    record: Record
    turn: int | None
    position: int
    call: ToolCall | None
    verdict: CallVerdict


@dataclass(frozen=True, slots=True)
class ChunkRow:
    of: AttemptRow
    position: int
    at_ns: int
    gap_ns: int | None


@dataclass(frozen=True, slots=True)
class RankingRow:
    """A vendor with its place; ``advised`` is the verdict on it, None where none was reached."""

    model: ModelScore
    place: int
    vendor: VendorScore
    advised: VendorVerdict | None = None


@dataclass(frozen=True, slots=True)
class VerdictRow:
    model: str
    verdict: VendorVerdict


@dataclass(frozen=True, slots=True)
class FindingRow:
    model: str
    finding: Finding


def chunks_of(row: AttemptRow) -> Iterable[ChunkRow]:
    """The pieces of a streamed answer, by the moments at which they came."""
    timing = row.attempt.timing
    if timing is None or timing.first_token_ns is None:
        return
    moments = accumulate(timing.gaps_ns, initial=timing.first_token_ns)
    for position, (at_ns, gap_ns) in enumerate(zip(moments, (None, *timing.gaps_ns), strict=True)):
        yield ChunkRow(row, position, at_ns, gap_ns)
