"""Formats figures for tables, the same in every output.

``None`` (never measured) and a number that is not finite are both written "–", never 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from vendor_verifier.metrics import FIGURES, METRICS, SPREADS, is_share
from vendor_verifier.records.estimate import Estimate
from vendor_verifier.records.score import ModelScore, VendorScore
from vendor_verifier.words import Texts

MISSING = "–"
BY_DEFINITION = "†"
FEWER_METRICS = "‡"

# The product page's columns after "Vendor" and "IRF Score", in its order.
PAGE_METRICS = tuple(figure.name for figure in sorted(FIGURES, key=lambda figure: figure.column))
# Times and speeds of single requests (of single gaps for ICL) in reading order, by the field's names.
SPEED_METRICS = tuple(metric.name for metric in SPREADS)
PERCENTILES = ("p50", "p90", "p95", "p99")
REGION_PERCENTILES = ("p50", "p95")


def suites_of(*models: ModelScore) -> tuple[str, ...]:
    """The names of the evaluations that took part, in the order in which they were requested."""
    return tuple(dict.fromkeys(name for model in models for vendor in model.vendors for name in vendor.suites))


def figure_title(name: str, t: Texts) -> str:
    """A ranked figure's heading; a suite's own name where there is none."""
    figure = next((each for each in FIGURES if each.name == name), None)
    if figure is None:
        return name
    return figure.page_title if t.room == "wide" else figure.title


def speed_title(name: str) -> str:
    """The heading of a time, speed or number of tokens of single requests."""
    return next((each.title for each in METRICS if each.name == name), name)


def finite(value: float | None) -> float | None:
    """``value`` if it is a finite number, else None."""
    return value if value is not None and math.isfinite(value) else None


def rate(value: float | None) -> str:
    """A share of 1 with four decimals, written 1 or 0 only when it is exactly that."""
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


def money(usd: float | None) -> str:
    """US dollars as people write them: ``$1,250``, ``$0.37``, ``$0.0037``; "–" when not known."""
    usd = finite(usd)
    if usd is None:
        return MISSING
    if abs(usd) >= 1000:
        return f"${usd:,.0f}"
    if abs(usd) >= 0.095 or usd == 0:
        return f"${usd:,.2f}"
    return f"${usd:.{1 - math.floor(math.log10(abs(usd)))}f}"


def count(value: int | None) -> str:
    return MISSING if value is None else str(value)


def of(part: int | None, whole: int, t: Texts) -> str:
    """``part of whole``; "–" when the part is not known."""
    return MISSING if part is None else t("of", part=part, whole=whole)


def measured(number: int | None, stalled: int, t: Texts, whole: int | None = None) -> str:
    """``188 of 200 (12 stalled)``: the rows a figure was taken over, and those that our own lateness took out."""
    shown = count(number) if whole is None else of(number, whole, t)
    return shown + t("in_brackets", text=t("stalled", n=stalled)) if stalled else shown


def taken(vendor: VendorScore, metric: str, t: Texts, whole: int | None = None) -> str:
    """The same for a rank metric of a vendor; with the reason where it cannot be measured at this vendor."""
    reason = withheld(vendor, metric, t)
    if reason is None:
        return measured(vendor.measured.get(metric), vendor.stalled.get(metric, 0), t, whole)
    return measured(vendor.measured.get(metric), 0, t, whole) + t("in_brackets", text=reason)


def withheld(vendor: VendorScore, metric: str, t: Texts) -> str | None:
    """The reason why a metric cannot be measured at a vendor; None where it can."""
    return t(f"withheld_{vendor.withheld[metric]}") if metric in vendor.withheld else None


def tally(counts: Mapping[str, int], escape: Callable[[str], str]) -> str:
    """``word 3, other 1``: most frequent first, then by name; the words go through ``escape``."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{escape(word)} {number}" for word, number in ordered) or MISSING


def written(metric: str, value: float | None) -> str:
    """A figure as its metric is written: a share of 1, or a quantity."""
    return rate(value) if is_share(metric) else quantity(value)


def metric(vendor: VendorScore, name: str) -> str:
    """One metric of one vendor; the baseline's F1 carries its mark."""
    value = vendor.metrics.get(name)
    given = vendor.is_baseline and not (vendor.trigger is not None and vendor.trigger.measured_on_itself)
    return written(name, value) + (BY_DEFINITION if name == "f1" and given and finite(value) is not None else "")


def irf(vendor: VendorScore, model: ModelScore) -> str:
    """The vendor's IRF, marked when it sums fewer metrics than another vendor's of the same model.

    A sum over no metric is no score.
    """
    if finite(vendor.irf) is None or not vendor.irf_metrics:
        return MISSING
    most = max(other.irf_metrics for other in model.vendors)
    return fusion(vendor.irf) + (FEWER_METRICS if vendor.irf_metrics < most else "")


def percent(share: float | None) -> str:
    """``12.3 %`` of a share, with a true minus sign."""
    return MISSING if share is None else f"{100 * share:.3g} %".replace("-", "−")


def spread(estimate: Estimate, *, signed: bool = False) -> str:
    """``value, low … high``; an open side is ∞, nothing measured is "–"."""
    if finite(estimate.value) is None:
        return MISSING
    value, low, high = (_number(each, signed) for each in (estimate.value, estimate.low, estimate.high))
    return f"{value}, {low or '−∞'} … {high or '∞'}"


def _number(value: float | None, signed: bool) -> str:
    if finite(value) is None:
        return ""
    return (f"{value:+.4f}" if signed else f"{value:.4g}").replace("-", "−")


def interval(found: Estimate | None, *, as_share: bool = True) -> str | None:
    """``low–high``; None when there is no interval. Beside a minus sign a bare dash would be hard to read."""
    if found is None or found.low is None or found.high is None:
        return None
    low, high = (f"{end:.3f}" if as_share else quantity(end) for end in (found.low, found.high))
    return low + (" … " if found.low < 0 else "–") + high


def ranks(low: float | None, high: float | None) -> str:
    """``2`` or ``2–4``."""
    if low is None or high is None:
        return MISSING
    return f"{low:g}" if low == high else f"{low:g}–{high:g}"
