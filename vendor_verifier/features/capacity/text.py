"""A search for capacity as plain lines: a sentence and a table of levels a vendor; it prints and computes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from vendor_verifier.features.capacity import words_en
from vendor_verifier.features.capacity.values import CapacityReport, Point, VendorCapacity
from vendor_verifier.reports import number_format
from vendor_verifier.reports.escape import plain

_MAX_LABEL = 60
_COLUMNS: tuple[tuple[str, Callable[[Point], str]], ...] = (
    ("requests", lambda point: str(point.requests)),
    ("success", lambda point: _success(point)),
    ("429", lambda point: str(point.rate_limited)),
    ("TTFT p50", lambda point: number_format.quantity(point.ttft_p50_ms)),
    ("p95 ms", lambda point: number_format.quantity(point.ttft_p95_ms)),
    ("TPS", lambda point: number_format.quantity(point.tps)),
    ("req/s", lambda point: number_format.quantity(point.requests_per_s)),
    ("tok/s", lambda point: number_format.quantity(point.tokens_per_s)),
    ("at once", lambda point: number_format.quantity(point.in_flight)),
    ("F1", lambda point: _rate(point.f1)),
    ("schema", lambda point: _rate(point.schema_accuracy)),
    ("", words_en.mark),
)


def capacity_lines(report: CapacityReport) -> Iterator[str]:
    """Everything, one vendor after the other; no line ends inside."""
    for warning in report.warnings:
        yield f"warning: {plain(warning)}"
    for vendor in report.vendors:
        yield plain(f"{vendor.model} / {vendor.label}: {words_en.verdict(vendor, report.kind)}", 600)
        yield from vendor_lines(vendor, report)
        for note in vendor.notes:
            yield f"  note: {plain(note)}"
        yield ""
    yield "limits: " + "; ".join(map(str, report.thresholds)) + " (ceiling: the vendor's own unloaded answers)"
    yield from words_en.shown_needs(report)
    yield words_en.LEGEND


def vendor_lines(vendor: VendorCapacity, report: CapacityReport) -> Iterator[str]:
    """The table of levels; what a level misses stands at its end."""
    points = [*vendor.points, *([vendor.afterwards] if vendor.afterwards is not None else [])]
    if not points:
        return
    head = [words_en.unit(report.kind), *(title for title, _ in _COLUMNS), ""]
    rows = [[f"{point.level:g}", *(write(point) for _, write in _COLUMNS), words_en.why(point)] for point in points]
    yield from _aligned([head, *rows])


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Right-aligned columns; the last one is prose."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)][:-1]
    for row in rows:
        cells_of_row = (f"{cell:>{width}}" for cell, width in zip(row[:-1], widths, strict=True))
        yield ("  " + "  ".join(cells_of_row) + "  " + row[-1]).rstrip()


def _success(point: Point) -> str:
    return _rate(point.succeeded / point.requests if point.requests else None)


def _rate(value: float | None) -> str:
    """Three digits: a column of the table is narrow, and the interval wider than the fourth."""
    if value is None:
        return number_format.MISSING
    return f"{value:.3f}" if 0 < value < 1 else f"{value:g}"


def level_line(label: str, point: Point, report_unit: str) -> str:
    """One level as it is told while the search goes on."""
    figures = [
        f"success {_success(point)}",
        f"TTFT p95 {number_format.quantity(point.ttft_p95_ms)} ms",
        f"F1 {_rate(point.f1)}",
    ]
    words = words_en.why(point)
    return plain(
        f"{label[:_MAX_LABEL]}: {point.level:g} {report_unit}, {point.requests} requests: {', '.join(figures)} "
        f"{words_en.mark(point)} {words}".rstrip()
    )
