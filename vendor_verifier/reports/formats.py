"""How numbers, states and tables are written, the same in every output.

What was never measured (None, NaN) and what is not finite is written "–", never 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from vendor_verifier.records.results import FACETS, WORST_FIRST, FacetName, Status

if TYPE_CHECKING:
    import pandas as pd

MISSING = "–"
Format = Callable[[Any], str]
"""A value that is not missing → its text."""

Meaning = Literal["good", "doubtful", "bad", "unusable", "unknown", "hint", "aside", "title"]
# Colours of the terminal by meaning. Words say the same, so nobody needs to see them.
COLOURS: Mapping[Meaning, str] = {
    "good": "green",
    "doubtful": "yellow",
    "bad": "red",
    "unusable": "bold red",
    "unknown": "dim",
    "hint": "cyan",
    "aside": "dim",
    "title": "bold",
}
STATUS_MEANINGS: Mapping[Status, Meaning] = {
    "matches": "good",
    "check": "doubtful",
    "differs": "bad",
    "down": "unusable",
    "not_tested": "unknown",
    "reference": "aside",
}
STATUS_WORDS: Mapping[Status, str] = {status: status.replace("_", " ") for status in WORST_FIRST}
# A mark next to the word, for who sees no colour.
STATUS_SIGNS: Mapping[Status, str] = {
    "matches": "✔",
    "check": "△",
    "differs": "✘",
    "down": "⊘",
    "not_tested": "?",
    "reference": "•",
}
FACET_TITLES: Mapping[FacetName, str] = {name: name.replace("_", " ").capitalize() for name in FACETS}


def finite(value: Any) -> float | None:
    """``value`` as a float if it is a finite number, else None."""
    return float(value) if isinstance(value, (int, float)) and math.isfinite(value) else None


def written(value: Any, form: Format) -> str:
    """``value`` as ``form`` writes it; "–" where it is missing."""
    return MISSING if value is None or (isinstance(value, float) and not math.isfinite(value)) else form(value)


def rate(value: float) -> str:
    """A share of 1 with four decimals, written 1 or 0 only when it is exactly that."""
    if value in (0, 1):
        return str(int(value))
    if 0.99995 <= value < 1:
        return ">0.9999"
    return "<0.0001" if 0 < value < 0.00005 else f"{value:.4f}".replace("-", "−")


def short_rate(value: float) -> str:
    """A share of 1 with three decimals; 1.000 and 0.000 only when it is exactly that."""
    if 0.9995 <= value < 1:
        return "0.999"
    return "0.001" if 0 < value < 0.0005 else f"{value:.3f}"


def irf(value: float) -> str:
    """An IRF score: four decimals, as on the product's page."""
    return f"{value:.4f}"


def quantity(value: float) -> str:
    """A number with a unit: four significant digits, whole from a thousand on."""
    text = f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return text.replace("-", "−")


def short_quantity(value: float) -> str:
    """A number with a unit in a narrow column: whole from a hundred on."""
    return f"{value:.0f}" if abs(value) >= 99.95 else f"{value:.1f}" if abs(value) >= 1 else f"{value:.2f}"


def percent(value: float) -> str:
    """``12.3 %`` of a share of 1."""
    return f"{100 * value:.3g} %".replace("-", "−")


def usd(value: float) -> str:
    """US dollars: ``$1,250``, ``$0.37``, ``$0.0037``."""
    if abs(value) >= 1000:
        return f"${value:,.0f}"
    if abs(value) >= 0.095 or value == 0:
        return f"${value:,.2f}"
    return f"${value:.{1 - math.floor(math.log10(abs(value)))}f}"


def p_value(value: float) -> str:
    """A p-value: ``0.03``, ``1e-05``, ``<1e-9``."""
    if value < 1e-9:
        return "<1e-9"
    return f"{value:.2g}" if value >= 1e-4 else f"{value:.0e}"


def interval(low: float | None, high: float | None, form: Format = quantity) -> str:
    """``low … high``; an open side is ∞, and "" without both."""
    if low is None and high is None:
        return ""
    return f"{'−∞' if low is None else form(low)} … {'∞' if high is None else form(high)}"


def status_word(status: Status) -> str:
    """The sign and the word of a status: ``✘ differs``."""
    return f"{STATUS_SIGNS[status]} {STATUS_WORDS[status]}"


def tally(counts: Mapping[str, int]) -> str:
    """``word 3, other 1``: most frequent first, then by name; "–" without any."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{word} {number}" for word, number in ordered) or MISSING


def aligned(rows: Sequence[Sequence[str]], *, left: int = 0, prose: int = 0) -> Iterator[str]:
    """Lines of columns as wide as their widest cell; all but the first ``left`` and the last ``prose`` are aligned to
    the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            cell if place >= len(row) - prose else cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(cells)


class Column(NamedTuple):
    """A column: its name in the rows, its heading, and how its values are written; text without a format."""

    key: str
    head: str
    form: Format = str


@dataclass(frozen=True)
class Table:
    """Named rows of values, the columns that are shown, in their order, the heading of the names, and a note.

    Names may repeat; a value that a row lacks was not measured.
    """

    title: str
    rows: Sequence[tuple[str, Mapping[str, Any]]]
    columns: Sequence[Column]
    head: str = "Vendor"
    note: str = ""

    @property
    def heads(self) -> list[str]:
        """The headings, that of the names first."""
        return [self.head, *(column.head for column in self.columns)]

    def texts(self) -> Iterator[list[str]]:
        """The texts of every row, its name first; not escaped."""
        for name, values in self.rows:
            yield [name, *(written(values.get(column.key), column.form) for column in self.columns)]

    @property
    def without_empty(self) -> Table:
        """The table without the columns in which nothing was measured."""
        kept = [
            column
            for column in self.columns
            if any(written(values.get(column.key), str) != MISSING for _, values in self.rows)
        ]
        return replace(self, columns=kept)


def rows_of(frame: pd.DataFrame) -> list[tuple[str, Mapping[str, Any]]]:
    """The rows of a frame, named by its index."""
    rows: list[dict[str, Any]] = frame.to_dict("records")  # type: ignore[assignment]
    return list(zip(map(str, frame.index), rows, strict=True))
