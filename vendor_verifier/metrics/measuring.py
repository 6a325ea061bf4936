"""All that is measured of one record, in one look at it; what each number means stands with its metric.

Nearly every record is one turn that succeeded, and asking every metric for it means finding its answer again and again.
"""

from __future__ import annotations

from dataclasses import dataclass

from vendor_verifier.metrics import METRICS
from vendor_verifier.metrics.connecting import parts_ms
from vendor_verifier.metrics.decoding import Decoding, decoding
from vendor_verifier.metrics.e2e_tps import delivery, record_delivery
from vendor_verifier.metrics.schedule import from_schedule
from vendor_verifier.metrics.tpot_ms import steps
from vendor_verifier.metrics.tps import record_decoding
from vendor_verifier.metrics.usage import reported_usage
from vendor_verifier.values.record import Attempt, Record


@dataclass(frozen=True, slots=True)
class Measured:
    """``values`` are in the order of ``METRICS``."""

    values: tuple[float | None, ...]
    decoding: Decoding | None
    delivery: Decoding | None


def measured(record: Record) -> Measured:
    """What every metric measures of ``record``."""
    if len(record.turns) == 1 and record.succeeded:
        return _of_answer(record.turns[0].attempts[-1], record)
    values = tuple(metric.measure(record) for metric in METRICS)
    return Measured(values, record_decoding(record), record_delivery(record))


def _of_answer(attempt: Attempt, record: Record) -> Measured:
    """The same for one turn that succeeded, where sums and means over turns are the turn's own numbers."""
    timing, response, usage = attempt.timing, attempt.response, reported_usage(attempt)
    is_timed = timing is not None and response is not None and response.streamed
    first_ns = timing.first_token_ns if timing is not None and is_timed else None
    answer_ns = timing.first_answer_ns if timing is not None and is_timed else None
    decoded, delivered = decoding(attempt), delivery(attempt)
    stepped = steps(attempt, decoded)
    first_ms = None if first_ns is None else first_ns / 1e6
    reused = None if timing is None else timing.connection_reused
    values = (
        1.0,
        usage.total,
        usage.input,
        usage.output,
        first_ms,
        first_ms if reused is False else None,
        first_ms if reused else None,
        None if answer_ns is None else answer_ns / 1e6,
        None if stepped is None else 1e3 * stepped.seconds / stepped.tokens,
        None if decoded is None else decoded.tokens / decoded.seconds,
        None if delivered is None else delivered.tokens / delivered.seconds,
        None if timing is None else timing.end_ns / 1e6,
        *parts_ms(timing),
        *from_schedule(record),
    )
    return Measured(values, decoded, delivered)
