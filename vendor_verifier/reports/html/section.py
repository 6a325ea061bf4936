"""One titled part of the page; it holds no words of its own."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from vendor_verifier.reports.html.tables import Table


@dataclass(frozen=True, slots=True)
class Section:
    """A titled part: a note, lines of text, tables, and ``folded`` ones that are shown when asked for;
    ``picture`` is drawn by :mod:`vendor_verifier.reports.html.svg`."""

    id: str
    title: str
    note: str | None = None
    lines: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    folded: tuple[Table, ...] = ()
    picture: Markup | None = None
