"""All that is measured of one record, in one look at it; what each number means stands with its metric.

Here, and nowhere else, times that our own lateness spoilt are taken out (:mod:`vendor_verifier.metrics.lateness`).

Nearly every record is one turn that succeeded, and asking every metric for it means finding its answer again and again.
"""

from __future__ import annotations

from dataclasses import dataclass

from vendor_verifier.metrics import METRICS, latency, throughput
from vendor_verifier.metrics.base import answers
from vendor_verifier.metrics.inter_chunk_latency import ICL, gaps_ns
from vendor_verifier.metrics.latency import from_schedule, parts_ms
from vendor_verifier.metrics.lateness import is_spoilt, lateness_ns
from vendor_verifier.metrics.throughput import Decoding, decoding, delivery, record_decoding, record_delivery, steps
from vendor_verifier.metrics.tokens import reported_usage
from vendor_verifier.values.record import Attempt, Record

DECODING, DELIVERY, TPOT = throughput.TPS.name, throughput.E2E_TPS.name, throughput.TPOT_MS.name


@dataclass(frozen=True, slots=True)
class Measured:
    """``values`` are in the order of ``METRICS``; ``spoilt`` names those, and the gaps, that our lateness took out."""

    values: tuple[float | None, ...]
    decoding: Decoding | None
    delivery: Decoding | None
    spoilt: tuple[str, ...] = ()


def measured(record: Record) -> Measured:
    """What every metric measures of ``record``, without the times that our own lateness spoilt."""
    late_ns = max(map(lateness_ns, answers(record)), default=0)
    found = _measured(record)
    return _without_spoilt(found, record, late_ns) if is_spoilt(late_ns, 0) else found


def _without_spoilt(found: Measured, record: Record, late_ns: float) -> Measured:
    """Several turns are one row: the latest of them decides."""
    spoilt = [
        metric.name
        for metric, value in zip(METRICS, found.values, strict=True)
        if value is not None and (time_ns := _time_ns(metric.name, value, found)) is not None
        and is_spoilt(late_ns, time_ns)
    ]  # fmt: skip
    gaps = gaps_ns(record)
    if gaps and is_spoilt(late_ns, sum(gaps) / len(gaps)):
        spoilt.append(ICL)
    values = tuple(
        None if metric.name in spoilt else value for metric, value in zip(METRICS, found.values, strict=True)
    )
    return Measured(
        values,
        None if DECODING in spoilt else found.decoding,
        None if DELIVERY in spoilt else found.delivery,
        tuple(spoilt),
    )


def _time_ns(metric: str, value: float, found: Measured) -> float | None:
    """The time that was read for it; ``None`` for what is no reading of a vendor's time."""
    if metric in (DECODING, TPOT):
        return None if found.decoding is None else found.decoding.seconds * 1e9
    if metric == DELIVERY:
        return None if found.delivery is None else found.delivery.seconds * 1e9
    return value * 1e6 if metric.endswith("_ms") and metric != latency.LAG.name else None


def _measured(record: Record) -> Measured:
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
