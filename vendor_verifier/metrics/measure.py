"""Measures every metric of one record in one pass.

Here, and nowhere else, times that our own lateness spoilt are taken out (:mod:`vendor_verifier.metrics.answer`).
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from vendor_verifier.metrics import FIGURES, POOLED, RECORD_METRICS
from vendor_verifier.metrics.answer import Answer, Ratio, begun_late_ns, is_spoilt, lateness_ns
from vendor_verifier.metrics.inter_chunk_latency import ICL, gaps_of
from vendor_verifier.records.record import Record

_NUMBERED = tuple(enumerate(RECORD_METRICS))
# The same by how they are measured, so that nothing has to be asked of every metric of every record.
_OF_RECORD = tuple([(place, each.record) for place, each in _NUMBERED if each.record and not each.is_scheduled])
_BY_SCHEDULE = tuple([(place, each.record) for place, each in _NUMBERED if each.record and each.is_scheduled])
_OF_TURNS = tuple([(place, metric) for place, metric in _NUMBERED if metric.record is None])
_FORMULAS = tuple([(place, metric.formula) for place, metric in _OF_TURNS if metric.formula is not None])
_RATIOS = tuple([(place, metric.ratio, metric.scale) for place, metric in _OF_TURNS if metric.ratio is not None])
_NAMES = [metric.name for metric in RECORD_METRICS]
_SCHEDULED = tuple([(each.name, _NAMES.index(each.scheduled)) for each in FIGURES if each.scheduled is not None])
_PLACES = tuple(RECORD_METRICS.index(metric) for metric in POOLED)


class Measured(msgspec.Struct, frozen=True):
    """``values`` are in the order of ``RECORD_METRICS``, ``pooled`` the sums of those that are ratios of sums.

    ``spoilt`` names those, and the gaps, that our lateness took out; and figures whose time from the schedule is spoilt
    by our having begun late, which the time itself is to show.
    """

    values: tuple[float | None, ...]
    pooled: tuple[Ratio | None, ...]
    spoilt: tuple[str, ...] = ()


def measured(record: Record, answers: Sequence[Answer]) -> Measured:
    """All metrics' values of ``record``, without the times that our own lateness spoilt.

    ``answers`` are those of :func:`vendor_verifier.metrics.base.read_answers`.
    """
    values: list[float | None] = [None] * len(RECORD_METRICS)
    sums: list[Ratio | None] = [None] * len(RECORD_METRICS)
    for place, measure in _OF_RECORD:
        values[place] = measure(record)
    if record.offered_s is not None:
        for place, measure in _BY_SCHEDULE:
            values[place] = measure(record)
    late_ns: float = 0
    if len(answers) == 1:
        # Nearly every record is one turn that succeeded: its mean and its total are its own number.
        (answer,) = answers
        late_ns = lateness_ns(answer.attempt)
        for place, formula in _FORMULAS:
            values[place] = formula(answer)
        for place, ratio, scale in _RATIOS:
            part = sums[place] = ratio(answer)
            values[place] = None if part is None else scale * part[0] / part[1]
    elif answers:
        late_ns = max([lateness_ns(answer.attempt) for answer in answers])
        for place, metric in _OF_TURNS:
            values[place], sums[place] = metric.over_turns(answers)
    began_late_ns = begun_late_ns(answers[0].attempt) if answers else 0
    begun_late = _begun_late(values, began_late_ns) if began_late_ns and is_spoilt(began_late_ns, 0) else ()
    spoilt = (*(_spoil(answers, values, sums, late_ns) if is_spoilt(late_ns, 0) else ()), *begun_late)
    return Measured(tuple(values), tuple(map(sums.__getitem__, _PLACES)), spoilt)


def _begun_late(values: list[float | None], late_ns: float) -> tuple[str, ...]:
    """The figures whose time from the schedule holds too much lateness of ours from before the request was sent."""
    times = [(name, values[place]) for name, place in _SCHEDULED]
    return tuple([name for name, value in times if value is not None and is_spoilt(late_ns, value * 1e6)])


def _spoil(
    answers: Sequence[Answer], values: list[float | None], sums: list[Ratio | None], late_ns: float
) -> tuple[str, ...]:
    """Remove spoilt values in place and return their names; of several turns the latest-read one decides for all."""
    spoilt = []
    for place, (metric, value) in enumerate(zip(RECORD_METRICS, values, strict=True)):
        time_ns = None if value is None else metric.time_ns(value, sums[place])
        if time_ns is not None and is_spoilt(late_ns, time_ns):
            values[place] = sums[place] = None
            spoilt.append(metric.name)
    gaps = gaps_of(answers)
    if gaps and is_spoilt(late_ns, sum(gaps) / len(gaps)):
        spoilt.append(ICL)
    return tuple(spoilt)
