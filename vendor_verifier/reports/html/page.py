"""report.html: one file that is complete in itself; the page's policy forbids it to load or send anything.

Everything a stranger wrote passes ``visible`` (nothing hidden) and then the template's or the drawing's escaping. Style
and script are constant and named by their digests in the policy, so nothing that slipped into the page could run. The
page works without its script; then it does not sort or filter.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from vendor_verifier.reports.escape import visible
from vendor_verifier.reports.html import charts, ranking
from vendor_verifier.reports.html.judgement import judged_sections
from vendor_verifier.reports.html.sections import asked, latency_section, offered, regions_section
from vendor_verifier.reports.html.tables import Section, label
from vendor_verifier.reports.html.time_charts import model_charts
from vendor_verifier.reports.html.vendor_details import suite_tables, vendor_view
from vendor_verifier.reports.run_conditions import clock_lines
from vendor_verifier.reports.words import HTML_LANG, Language, Texts
from vendor_verifier.values.score import MAX_EXAMPLES, ModelScore, Report

MAX_BYTES = 400_000
# With fewer examples of each vendor until the page is small enough to be mailed.
_EXAMPLES = (MAX_EXAMPLES, 12, 8, 5, 3, 1, 0)
_MAX_LISTED = 100


def render(report: Report, language: Language = "en") -> str:
    """The whole page, UTF-8-encodable; examples are left out, and that is said, where it would pass 400,000 bytes."""
    page = ""
    for most in _EXAMPLES:
        page = _page(report, Texts(language), most)
        if len(page.encode()) <= MAX_BYTES:
            break
    return page


def policy(style: str, script: str) -> str:
    """The content security policy that allows exactly these two texts and nothing else."""
    return (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _page(report: Report, t: Texts, most: int) -> str:
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    style, script = part("page.css"), part("page.js")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(part("table.html.j2") + part("page.html.j2"))
    text: str = template.render(
        t=t,
        lang=HTML_LANG[t.language],
        policy=policy(style, script),
        # Ours, constant, and held by the policy to exactly these bytes.
        style=Markup(style),  # noqa: S704
        script=Markup(script),  # noqa: S704
        icon=charts.icon,
        patterns=charts.patterns(),
        **_content(report, t, most),
    )
    return text


def part(name: str) -> str:
    """One of the constant texts of the pages."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _content(report: Report, t: Texts, most: int) -> dict[str, Any]:
    models = [model for model in report.models if model.vendors]
    shortened = most < MAX_EXAMPLES and report.details is not None
    return {
        "run": label(report.run),
        "meta": _meta(report, t),
        "verdicts": [ranking.sentence(model, report.verdicts.get(model.model), t) for model in models]
        or [t("nothing")],
        "warnings": _warnings(report, t),
        "models": [_model(position, model, report, t, most) for position, model in enumerate(models)],
        "dataset": _listed(report.dataset, t),
        "method": [*_method(report, t), *([t("excerpts_cut")] if shortened else [])],
    }


def _meta(report: Report, t: Texts) -> list[str]:
    told = [asked(report, t)]
    if report.details is not None and report.details.started_at is not None:
        told.append(t("started", when=_minute(report.details.started_at)))
    tool = report.manifest.get("tool")
    if isinstance(tool, dict) and tool.get("name") and tool.get("version"):
        told.append(t("made_by", tool=label(str(tool["name"])), version=label(str(tool["version"]))))
    return told


def _minute(moment: str) -> str:
    """``2026-03-04 05:06 UTC`` of an ISO 8601 time in UTC."""
    return f"{moment[:10]} {moment[11:16]} UTC"


def _warnings(report: Report, t: Texts) -> list[str]:
    return [*([] if report.complete else [t("incomplete")]), *_listed(report.warnings, t)]


def _listed(texts: tuple[str, ...], t: Texts) -> list[str]:
    shown = [visible(text) for text in texts[:_MAX_LISTED]]
    return [*shown, t("and_more", n=len(texts) - _MAX_LISTED)] if len(texts) > _MAX_LISTED else shown


def _model(position: int, model: ModelScore, report: Report, t: Texts, most: int) -> dict[str, Any]:
    verdict = report.verdicts.get(model.model)
    details = report.details.models.get(model.model, {}) if report.details is not None else {}
    return {
        "id": f"m{position}",
        "name": label(model.model),
        "baseline": None if model.baseline is None else label(model.baseline),
        "ranking": ranking.ranking(model, verdict, t),
        "footnotes": ranking.footnotes(model, report, t),
        "charts": model_charts(model, verdict, details, t),
        "sections": [*latency_section(model, t), *regions_section(model, t), *judged_sections(model, verdict, t)],
        "suites": suite_tables(model, t),
        "vendors": [
            vendor_view(index, vendor, model, details.get(vendor.label), offered(vendor, model, report, t), t, most)
            for index, vendor in enumerate(model.vendors)
        ],
    }


def _method(report: Report, t: Texts) -> list[str]:
    names = t("comma").join(name for name in report.rank_metrics if name.isidentifier())
    return [
        t("method_irf", k=report.k, metrics=names),
        t("method_success"),
        t("method_f1", undecided=t(f"undecided_{report.undecided}")),
        t("method_schema", policy=report.schema_policy),
        t("method_tokens"),
        t("method_ttft"),
        t("method_tps"),
        *map(visible, clock_lines(report, t)),
        t("method_place"),
        t("method_missing"),
        *([t("method_contents")] if report.details is not None else []),
    ]


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
        icon=charts.icon,
        title=title,
        verdicts=verdicts,
        meta=meta,
        sections=sections,
        method=method,
    )
    return text
