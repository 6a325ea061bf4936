"""Pace: each vendor's requests in flight and answers per second, from observations.

Both are taken from a vendor's first request until its last sample had been sent once: what ends after that shows the
slowest answers, not whether the concurrency asked for was used. A run so small that nothing ended before is taken
whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from vendor_verifier.scoring.observation_table import ObservationTable
from vendor_verifier.values.score import Pace, Report, VendorScore

EntryKey = tuple[str, str]


def pace(tables: Iterable[ObservationTable], places: int | None, *, waited_for_turns: bool) -> Pace | None:
    """One entry's pace over all its ``tables``; None when nothing was sent, or no time passed.

    ``waited_for_turns`` leaves out time in which none of its requests was in flight, as where vendors take turns or
    the run was resumed.
    """
    import numpy as np

    spans = [table.tries.spans() for table in tables]
    begins, ends, answered, first = (np.concatenate(parts) for parts in zip(*spans, strict=True))
    if not begins.size:
        return None
    end = begins[first].max()
    if not (ends <= end).any():
        end = ends.max()
    cut = begins < end
    begun, ended = begins[cut], np.minimum(ends[cut], end)
    seconds = _covered_s(zip(begun, ended, strict=True)) if waited_for_turns else float(end - begins.min())
    if seconds <= 0:
        return None
    return Pace(
        places=places,
        in_flight=float((ended - begun).sum()) / seconds,
        answers_per_s=int((answered & (ends <= end)).sum()) / seconds,
        seconds=seconds,
    )


def with_pace(
    report: Report,
    tables: Mapping[EntryKey, Iterable[ObservationTable]],
    places: Mapping[EntryKey, int | None],
    *,
    waited_for_turns: bool,
) -> Report:
    """The report with every vendor's pace; ``places`` is the concurrency asked for, by entry."""

    def of(model: str, vendor: VendorScore) -> VendorScore:
        key = (model, vendor.label)
        return replace(vendor, pace=pace(tables[key], places.get(key), waited_for_turns=waited_for_turns))

    models = (replace(each, vendors=tuple(of(each.model, one) for one in each.vendors)) for each in report.models)
    return replace(report, models=tuple(models))


def _covered_s(spans: Iterable[tuple[float, float]]) -> float:
    """The seconds covered by at least one of ``spans``."""
    covered, reached = 0.0, float("-inf")
    for begin, end in sorted(spans):
        covered += max(0.0, end - max(begin, reached))
        reached = max(reached, end)
    return float(covered)
