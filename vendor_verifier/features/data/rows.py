"""The rows of the frames: what each line of one is made of."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate

import msgspec

from vendor_verifier.records.event import ToolCall
from vendor_verifier.records.judgement import Finding
from vendor_verifier.records.record import Attempt, Record
from vendor_verifier.records.sample import Sample
from vendor_verifier.records.score import CallVerdict, ModelScore, Score, VendorScore
from vendor_verifier.records.verdict import VendorVerdict
from vendor_verifier.scoring.observation import Observation


class SampleRow(msgspec.Struct, frozen=True):
    suite: str
    sample: Sample


class RecordRow(msgspec.Struct, frozen=True):
    """A record that counts, with its score and its observation."""

    record: Record
    sample: Sample
    score: Score
    observation: Observation


class AttemptRow(msgspec.Struct, frozen=True):
    record: Record
    turn: int
    attempt: Attempt


class CallRow(msgspec.Struct, frozen=True):
    """A call with its verdict; ``turn`` and ``call`` are None where texts were not stored."""

    record: Record
    turn: int | None
    position: int
    call: ToolCall | None
    verdict: CallVerdict


class ChunkRow(msgspec.Struct, frozen=True):
    of: AttemptRow
    position: int
    at_ns: int
    gap_ns: int | None


class RankingRow(msgspec.Struct, frozen=True):
    """A vendor with its place; ``advised`` is the verdict on it, None where none was reached."""

    model: ModelScore
    place: int
    vendor: VendorScore
    advised: VendorVerdict | None = None


class VerdictRow(msgspec.Struct, frozen=True):
    model: str
    verdict: VendorVerdict


class FindingRow(msgspec.Struct, frozen=True):
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
