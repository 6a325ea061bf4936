"""The ranking on a screen: a rich table per model, or plain lines where nobody draws tables. It never prints.

Colour, width and whether there is a terminal at all are the caller's console's business (``NO_COLOR`` included).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vendor_verifier.reports import number_format, sentences
from vendor_verifier.reports.escape import plain
from vendor_verifier.reports.judgement_text import short_lines
from vendor_verifier.reports.run_conditions import clock_lines, goodput_lines, load_lines, pace_lines
from vendor_verifier.values.score import ModelScore, Report, VendorScore

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.table import Table

_MAX_LABEL = 60
_LEAST_LABEL_WIDTH, _LABEL_WIDTH = 12, 28
_ANY_WIDTH = 10_000


def render(report: Report) -> RenderableType:
    """Everything as one renderable: summary, warnings, then per model a table and its notes."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    parts: list[RenderableType] = [Text(sentences.summary(report, _label))]
    parts += [Text(f"warning: {plain(text)}", style="yellow") for text in sentences.cautions(report)]
    for model in report.models:
        parts += [Text(), Text(_title(model), style="bold")]
        if model.vendors:
            parts.append(_Fitting(_table(model), _vendor_lines(model)))
        parts += [Padding(Text(note, style="dim"), (0, 0, 0, 2)) for note in _notes(model, report)]
    parts += [Text(plain(line), style="dim") for line in clock_lines(report)]
    return Group(*parts)


def plain_lines(report: Report) -> list[str]:
    """The same as text without colour or box, one line per vendor with named figures; no line ends inside."""
    lines = [sentences.summary(report, _label)]
    lines += [f"warning: {plain(text)}" for text in sentences.cautions(report)]
    for model in report.models:
        lines += [_title(model), *_vendor_lines(model)]
        lines += [f"  {note}" for note in _notes(model, report)]
    return [*lines, *map(plain, clock_lines(report))]


@dataclass(frozen=True, slots=True)
class _Fitting:
    """A table, or lines that say the same where its figures would have to be cut."""

    table: Table
    lines: Sequence[str]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        from rich.text import Text

        needed = console.measure(self.table, options=options.update(max_width=_ANY_WIDTH)).minimum
        yield self.table if needed <= options.max_width else Text("\n".join(self.lines))


def _label(text: str) -> str:
    return plain(text, _MAX_LABEL)


def _title(model: ModelScore) -> str:
    baseline = f"baseline {_label(model.baseline)}" if model.baseline is not None else "no baseline"
    return f"model {_label(model.model)}, {baseline}"


def _table(model: ModelScore) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=0)
    drawn.add_column("#", justify="right", no_wrap=True)
    drawn.add_column("Vendor", min_width=_LEAST_LABEL_WIDTH, max_width=_LABEL_WIDTH, overflow="fold")
    titles = ("IRF", "Done", *(title for title, _ in _columns(model)))
    figures = [_figures(vendor, model) for vendor in model.vendors]
    for title, column in zip(titles, zip(*figures, strict=True), strict=True):
        # Without a least width rich would count the longest word only, and cut a title of two.
        drawn.add_column(title, justify="right", no_wrap=True, min_width=max(map(len, (title, *column))))
    for vendor, row in zip(model.vendors, figures, strict=True):
        place = sentences.place(vendor, model)
        # Text, not str: brackets in a label are not rich markup.
        words = map(Text, (number_format.count(place), _label(vendor.label), *row))
        drawn.add_row(*words, style="bold" if place == 1 else None)
    return drawn


def _columns(model: ModelScore) -> tuple[tuple[str, str], ...]:
    return (
        *number_format.SHORT_COLUMNS,
        *((_label(title), name) for title, name in number_format.suite_columns(model)),
    )


def _figures(vendor: VendorScore, model: ModelScore) -> list[str]:
    done = f"{vendor.succeeded}/{vendor.planned}" if vendor.recorded else number_format.MISSING
    return [
        number_format.irf(vendor, model),
        done,
        *(number_format.metric(vendor, name) for _, name in _columns(model)),
    ]


def _vendor_lines(model: ModelScore) -> list[str]:
    return [f"  {_vendor_line(vendor, model)}" for vendor in model.vendors]


def _vendor_line(vendor: VendorScore, model: ModelScore) -> str:
    titles = ("IRF", "succeeded", *(title for title, _ in _columns(model)))
    figures = "; ".join(f"{title} {figure}" for title, figure in zip(titles, _figures(vendor, model), strict=True))
    return f"{number_format.count(sentences.place(vendor, model))}. {_label(vendor.label)}: {figures}"


def _notes(model: ModelScore, report: Report) -> list[str]:
    """What a reader must know about single figures: marks, pairs left out, short measurements, failures."""
    verdict = report.verdicts.get(model.model)
    judged = [] if verdict is None else short_lines(verdict, _label)
    notes = [*judged, *sentences.footnotes(model), *sentences.category_lines(model, _label)]
    notes += [*goodput_lines(model, _label), *load_lines(model, report, _label), *pace_lines(model, _label)]
    for vendor in model.vendors:
        if not vendor.recorded and not vendor.suites:
            notes.append(f"{_label(vendor.label)}: not measured, there is no record of it ({vendor.planned} planned)")
            continue
        told = [
            sentences.trigger_line(vendor) if not vendor.is_baseline else None,
            sentences.measured_line(vendor),
            sentences.served_line(vendor, _label),
            sentences.broken_line(vendor, _label),
            sentences.resent_line(vendor),
        ]
        if vendor.failures:
            told.append(f"failures: {number_format.tally(vendor.failures, _label)}")
        if vendor.anomalies:
            told.append(f"anomalies: {number_format.tally(vendor.anomalies, _label)}")
        said = [line for line in told if line]
        if said:
            notes.append(f"{_label(vendor.label)}: " + "; ".join(said))
    return notes
