"""One vendor seen from several regions: success, TTFT and end-to-end time of each; it compares no two of them.

Which region a record was made in is what its worker said; a record that was lost belongs to none.

    success rate of a region = succeeded ÷ records made there that are charged to the vendor
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from vendor_verifier.compare.columns import Columns
from vendor_verifier.compare.facts import Facts
from vendor_verifier.metrics.distribution import distribution
from vendor_verifier.metrics.lateness import too_many_spoilt
from vendor_verifier.values.score import Distribution, RegionScore


def regions_of(columns: Columns) -> tuple[RegionScore, ...]:
    """By name, those that named none last; empty where nobody named any."""
    found: dict[str | None, list[tuple[Facts, int]]] = {}
    for _, facts, place in columns.rows.entries():
        found.setdefault(facts.region, []).append((facts, place))
    if not any(found):
        return ()
    names = sorted(found, key=lambda name: (name is None, name or ""))
    return tuple(_region(columns, name, found[name]) for name in names)


def _region(columns: Columns, name: str | None, rows: Iterable[tuple[Facts, int]]) -> RegionScore:
    charged = [(facts, place) for facts, place in rows if facts.charged]
    succeeded = sum(facts.succeeded for facts, _ in charged)
    return RegionScore(
        region=name,
        asked=len(charged),
        succeeded=succeeded,
        success_rate=succeeded / len(charged) if charged else None,
        ttft_ms=_times(columns, "ttft_ms", charged),
        e2e_ms=_times(columns, "e2e_ms", charged),
    )


def _times(columns: Columns, metric: str, rows: Sequence[tuple[Facts, int]]) -> Distribution:
    """A worker may have been late alone, so every region is judged by its own rows."""
    spoilt = sum(metric in facts.spoilt for facts, _ in rows)
    values = columns.rows.values_of(metric, [place for _, place in rows])
    return replace(distribution(() if too_many_spoilt(spoilt, len(values)) else values), stalled=spoilt)
