"""A page of sections without a script, under the same policy and in the same style as report.html; it has no words.

Everything a stranger wrote has passed ``visible`` before it comes here; the elements escape all of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from vendor_verifier.reports.html.document import document
from vendor_verifier.reports.html.elements import element, lines
from vendor_verifier.reports.html.pieces import folded, framed, head, kicker, listed, note, table
from vendor_verifier.reports.html.section import Section
from vendor_verifier.reports.html.texts import HTML_LANG, Texts


def plain_page(
    title: str,
    verdicts: Sequence[str],
    meta: Sequence[str],
    sections: Sequence[Section],
    t: Texts,
    method: Sequence[str] = (),
) -> str:
    """The whole page, UTF-8-encodable."""
    how = element("footer", element("h2", t("method")), listed(method), class_="card") if method else None
    main = element("main", lines(_section(section, t) for section in sections))
    return document(title, HTML_LANG[t.language], (head(kicker(title), verdicts, meta), main, how))


def _section(section: Section, t: Texts) -> Markup:
    parts = (
        element("h2", section.title),
        note(section.note) if section.note else None,
        listed(section.lines),
        framed(section.picture),
        *(table(each, t) for each in section.tables),
        folded(t("as_table"), section.folded, t) if section.folded else None,
    )
    return element("section", lines(parts), class_="card", id=section.id)
