"""Pieces that pages are made of, each drawn from plain values: headings, lists, folded parts, tables; it computes none.

The words for what a piece says itself come as ``t``, from the catalogue of the page's language.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from markupsafe import Markup

from vendor_verifier.reports.html import svg
from vendor_verifier.reports.html.elements import element, lines
from vendor_verifier.reports.html.tables import Cell, Column, Row, Table

Words = Callable[..., str]


def head(kicker: Markup, verdicts: Iterable[str], meta: Iterable[str], *more: Markup | None) -> Markup:
    """The head of a page: what it is, what it found, of what run."""
    told = element("p", *(element("span", each) for each in meta), class_="meta")
    found = element("h1", *(element("span", verdict, class_="verdict") for verdict in verdicts))
    return element("header", lines((kicker, found, told, *more)))


def kicker(title: str) -> Markup:
    return element("p", title, class_="kicker")


def run_name(run: str, t: Words) -> Markup:
    return Markup("{} {}").format(t("run"), element("code", run))


def note(text: str, css: str = "note") -> Markup:
    return element("p", text, class_=css)


def listed(texts: Iterable[str]) -> Markup | None:
    """A list, unless there is nothing in it."""
    items = [element("li", text) for text in texts]
    return element("ul", *items) if items else None


def warned(warnings: Sequence[str], t: Words, *, is_open: bool) -> Markup | None:
    """The warnings below the head, unless there are none."""
    if not warnings:
        return None
    summary = element("summary", f"{t('warnings')} ({len(warnings)})")
    return element("details", summary, listed(warnings), class_="warnings", open=is_open)


def folded(summary: str, tables: Iterable[Table], t: Words, prefix: str | None = None) -> Markup:
    """Tables that are shown when asked for."""
    drawn = lines(table(each, t, prefix) for each in tables)
    return element("details", element("summary", summary), drawn, class_="data")


def framed(picture: Markup | None) -> Markup | None:
    return None if picture is None else element("div", picture, class_="frame")


def definitions(pairs: Iterable[tuple[str, str]], css: str | None = None) -> Markup:
    """Names and what they stand for; ``css`` is the class of the latter."""
    return element("dl", *(element("div", element("dt", n), element("dd", v, class_=css)) for n, v in pairs))


def badge(t: Words) -> Markup:
    """What marks the baseline, after a name."""
    return Markup(" ") + element("span", t("baseline"), class_="badge")


def table(drawn: Table, t: Words, prefix: str | None = None, name: str | None = None) -> Markup:
    """A table in a frame that scrolls. With ``prefix``, the model's id, rows lead to their vendor's details; ``name``
    is the table's own id."""
    titles = (_column(column, t, is_first=at == 0, sortable=drawn.sortable) for at, column in enumerate(drawn.columns))
    first = element("th", _sorting(drawn.head, "text", "asc") if drawn.sortable else drawn.head, scope="col")
    whole = element(
        "table",
        element("caption", drawn.caption),
        element("thead", element("tr", first, *titles)),
        element("tbody", lines(_row(row, drawn.columns, t, prefix) for row in drawn.rows)),
        class_="sortable" if drawn.sortable else None,
        id=name,
    )
    return element("div", whole, class_="scroll", tabindex=0, role="region", aria_label=drawn.caption)


def _sorting(title: str, kind: str, first: str, hint: str | None = None) -> Markup:
    return element("button", title, type="button", data_sort=kind, data_first=first, title=hint)


def _column(column: Column, t: Words, *, is_first: bool, sortable: bool) -> Markup:
    title: str = column.title
    if sortable:
        title = _sorting(column.title, "number", column.direction, t("sort_by", name=column.title))
    order = "ascending" if sortable and is_first else None
    return element("th", title, scope="col", class_="prose" if column.prose else None, aria_sort=order)


def _row(row: Row, columns: Sequence[Column], t: Words, prefix: str | None) -> Markup:
    name: str = row.head
    if row.vendor is not None and prefix:
        name = element("a", row.head, href=f"#{prefix}v{row.vendor}")
    mark = None if row.vendor is None else svg.icon(row.vendor)
    heading = element("th", mark, name, badge(t) if row.baseline else None, scope="row")
    drawn = (_cell(cell, is_prose=column.prose) for cell, column in zip(row.cells, columns, strict=False))
    return element("tr", heading, *drawn, data_v=row.vendor)


def _cell(cell: Cell, *, is_prose: bool) -> Markup:
    css = " ".join(filter(None, (cell.css, "prose" if is_prose else None)))
    small = element("small", cell.small) if cell.small else None
    return element("td", cell.text, small, class_=css or None, data_n=cell.sort)
