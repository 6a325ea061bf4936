"""One vendor seen from several regions: success, TTFT and end-to-end time of each; it compares no two of them.

Which region a record was made in is what its worker said; a record that was lost belongs to none.

    success rate of a region = succeeded ÷ records made there that are charged to the vendor
"""

from __future__ import annotations

from collections.abc import Iterable

from vendor_verifier.compare.columns import Columns
from vendor_verifier.compare.facts import Facts
from vendor_verifier.metrics import METRICS
from vendor_verifier.metrics.distribution import distribution
from vendor_verifier.values.score import Distribution, RegionScore

_COLUMN = {metric.name: position for position, metric in enumerate(METRICS)}


def regions_of(columns: Columns) -> tuple[RegionScore, ...]:
    """By name, those that named none last; empty where nobody named any."""
    found: dict[str | None, list[Facts]] = {}
    for facts in columns.rows.values():
        found.setdefault(facts.region, []).append(facts)
    if not any(found):
        return ()
    return tuple(_region(name, found[name]) for name in sorted(found, key=lambda name: (name is None, name or "")))


def _region(name: str | None, rows: Iterable[Facts]) -> RegionScore:
    charged = [facts for facts in rows if facts.charged]
    succeeded = sum(facts.succeeded for facts in charged)
    return RegionScore(
        region=name,
        asked=len(charged),
        succeeded=succeeded,
        success_rate=succeeded / len(charged) if charged else None,
        ttft_ms=_spread(charged, "ttft_ms"),
        e2e_ms=_spread(charged, "e2e_ms"),
    )


def _spread(rows: Iterable[Facts], metric: str) -> Distribution:
    values = (facts.values[_COLUMN[metric]] for facts in rows)
    return distribution([value for value in values if value is not None])
