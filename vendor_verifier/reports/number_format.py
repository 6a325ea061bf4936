"""How a figure is written in a table; it computes nothing and knows no output format.

``None`` (never measured) and a number that is not finite are both written "–", never 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from vendor_verifier.metrics import FIGURES, SPREADS, is_share
from vendor_verifier.values.score import ModelScore, VendorScore

MISSING = "–"
BY_DEFINITION = "†"
FEWER_METRICS = "‡"

# The product page's columns after "Vendor" and "IRF Score", in its order: title and metric.
_ON_PAGE = sorted(FIGURES, key=lambda figure: figure.column)
PAGE_COLUMNS: tuple[tuple[str, str], ...] = tuple((figure.page_title, figure.name) for figure in _ON_PAGE)
# The same under narrower titles, so that a table with six-digit figures fits in 100 columns.
SHORT_COLUMNS: tuple[tuple[str, str], ...] = tuple((figure.titles[0], figure.name) for figure in _ON_PAGE)

# Times and speeds of single requests (of single gaps for ICL) in reading order, by the field's names.
REGION_PERCENTILES = ("p50", "p95")
SPEED_METRICS: Mapping[str, str] = {metric.name: metric.title() for metric in SPREADS}


def suite_columns(model: ModelScore) -> tuple[tuple[str, str], ...]:
    """Columns of the evaluations that took part, after the page's: the suite's name twice, title and metric."""
    names = dict.fromkeys(name for vendor in model.vendors for name in vendor.suites)
    return tuple((name, name) for name in names)


def finite(value: float | None) -> float | None:
    """``value`` if it is a finite number, else None."""
    return value if value is not None and math.isfinite(value) else None


def rate(value: float | None) -> str:
    """A share of 1 with four decimals; 1 and 0 only when it is exactly that."""
    value = finite(value)
    if value is None:
        return MISSING
    if value in (0, 1):
        return str(int(value))
    if 0.99995 <= value < 1:
        return ">0.9999"
    return "<0.0001" if 0 < value < 0.00005 else f"{value:.4f}"


def fusion(value: float | None) -> str:
    """An IRF score: always four decimals."""
    value = finite(value)
    return MISSING if value is None else f"{value:.4f}"


def quantity(value: float | None) -> str:
    """A number with a unit: four significant digits, whole from a thousand on, no trailing zeros."""
    value = finite(value)
    if value is None:
        return MISSING
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def count(value: int | None) -> str:
    return MISSING if value is None else str(value)


def of(part: int | None, whole: int) -> str:
    """``part of whole``; "–" when the part is not known."""
    return MISSING if part is None else f"{part} of {whole}"


def measured(number: int | None, stalled: int, whole: int | None = None) -> str:
    """``188 of 200 (12 stalled)``: over how many a figure was taken, and how many our own lateness took out."""
    told = count(number) if whole is None else of(number, whole)
    return f"{told} ({stalled} stalled)" if stalled else told


def tally(counts: Mapping[str, int], escape: Callable[[str], str]) -> str:
    """``word 3, other 1``: most frequent first, then by name; the words go through ``escape``."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{escape(word)} {number}" for word, number in ordered) or MISSING


def metric(vendor: VendorScore, name: str) -> str:
    """One metric of one vendor; the baseline's F1 carries its mark."""
    value = vendor.metrics.get(name)
    if not is_share(name):
        return quantity(value)
    given = vendor.is_baseline and not (vendor.trigger is not None and vendor.trigger.measured_on_itself)
    mark = BY_DEFINITION if name == "f1" and given and finite(value) is not None else ""
    return rate(value) + mark


def irf(vendor: VendorScore, model: ModelScore) -> str:
    """The vendor's IRF, marked when it sums fewer metrics than another vendor's of the same model.

    A sum over no metric is no score.
    """
    if finite(vendor.irf) is None or not vendor.irf_metrics:
        return MISSING
    most = max(other.irf_metrics for other in model.vendors)
    return fusion(vendor.irf) + (FEWER_METRICS if vendor.irf_metrics < most else "")


def samples_asked(count: int) -> str:
    """``1 sample``, ``20 samples``."""
    return f"{count} sample" if count == 1 else f"{count} samples"
