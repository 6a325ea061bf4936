"""A page of sections without a script, under the same policy and in the same style as report.html; it has no words.

Everything a stranger wrote has passed ``visible`` before it comes here; the template escapes all of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from vendor_verifier.reports.html import svg
from vendor_verifier.reports.html.render import part, policy
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
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    style = part("page.css")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(part("table.html.j2") + part("plain_page.html.j2"))
    text: str = template.render(
        t=t,
        lang=HTML_LANG[t.language],
        policy=policy(style, ""),
        # Ours, constant, and held by the policy to exactly these bytes.
        style=Markup(style),  # noqa: S704
        icon=svg.icon,
        title=title,
        verdicts=verdicts,
        meta=meta,
        sections=sections,
        method=method,
    )
    return text
