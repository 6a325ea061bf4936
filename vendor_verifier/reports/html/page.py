"""report.html: one file that is complete in itself; the page's policy forbids it to load or send anything.

All text written by strangers passes ``visible`` (nothing hidden) and then the template's or the drawing's escaping.
Style and script are constant and named by their digests in the policy, so nothing injected into the page could run. The
page works without its script, but then it does not sort or filter.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from vendor_verifier.reports import number_format, sentences, vendor_tables
from vendor_verifier.reports.escape import visible
from vendor_verifier.reports.html import charts
from vendor_verifier.reports.html.model_charts import model_charts
from vendor_verifier.reports.html.vendor_details import vendor_view
from vendor_verifier.reports.judged import judged_sections
from vendor_verifier.reports.ranking import ranking
from vendor_verifier.reports.run_conditions import asked, clock_lines, offered
from vendor_verifier.reports.tables import (
    Column,
    Section,
    Table,
    field_columns,
    measured,
    page_label,
    table,
    vendor_items,
)
from vendor_verifier.values.details import MAX_EXAMPLES
from vendor_verifier.values.judgement import ModelVerdict
from vendor_verifier.values.score import ModelScore, Report, VendorScore
from vendor_verifier.words import HTML_LANG, Language, Texts

MAX_BYTES = 400_000
# Numbers of examples per vendor, tried in turn until the page is small enough to be mailed.
_EXAMPLES = (MAX_EXAMPLES, 12, 8, 5, 3, 1, 0)
_MAX_LISTED = 100
_CHIEF = ("ttft_ms", "tps", "e2e_ms")


def render(report: Report, language: Language = "en") -> str:
    """The whole page, UTF-8-encodable; where it would pass 400,000 bytes it has fewer examples and a note of it."""
    page = ""
    for most in _EXAMPLES:
        page = _page(report, Texts(language), most)
        if len(page.encode()) <= MAX_BYTES:
            break
    return page


def policy(style: str, script: str = "") -> str:
    """The content security policy that allows exactly these two texts and nothing else."""
    return (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def part(name: str) -> str:
    """One of the constant texts of the pages."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def drawn(template: str, t: Texts, script: str = "", **content: Any) -> str:
    """A page made by one of the templates here, UTF-8-encodable."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined
    from markupsafe import Markup

    style = part("page.css")
    environment = Environment(
        loader=FunctionLoader(part), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["label"] = page_label
    text: str = environment.get_template(template).render(
        t=t,
        lang=HTML_LANG[t.language],
        policy=policy(style, script),
        # Safe to mark: both are constant files of ours, and the policy allows exactly these bytes.
        style=Markup(style),  # noqa: S704
        script=Markup(script),  # noqa: S704
        icon=charts.icon,
        **content,
    )
    return text


def _page(report: Report, t: Texts, most: int) -> str:
    script = part("page.js")
    return drawn("page.html.j2", t, script, patterns=charts.patterns(), **_content(report, t, most))


def _content(report: Report, t: Texts, most: int) -> dict[str, Any]:
    models = [model for model in report.models if model.vendors]
    shortened = most < MAX_EXAMPLES and report.details is not None
    return {
        "run": page_label(report.run),
        "meta": _meta(report, t),
        "verdicts": [_verdict(model, report.verdicts.get(model.model), t) for model in models] or [t("nothing")],
        "warnings": _warnings(report, t),
        "models": [_model(position, model, report, t, most) for position, model in enumerate(models)],
        "dataset": _listed(report.dataset, t),
        "method": [*_method(report, t), *([t("excerpts_cut")] if shortened else [])],
    }


def _meta(report: Report, t: Texts) -> list[str]:
    lines = [asked(report, t)]
    if report.details is not None and report.details.started_at is not None:
        lines.append(t("started", when=_minute(report.details.started_at)))
    tool = report.manifest.tool
    if tool is not None and tool.name and tool.version:
        lines.append(t("made_by", tool=page_label(tool.name), version=page_label(tool.version)))
    return lines


def _minute(moment: str) -> str:
    """``2026-03-04 05:06 UTC`` of an ISO 8601 time in UTC."""
    return f"{moment[:10]} {moment[11:16]} UTC"


def _warnings(report: Report, t: Texts) -> list[str]:
    return [*([] if report.complete else [t("incomplete")]), *_listed(report.warnings, t)]


def _listed(texts: Sequence[str], t: Texts) -> list[str]:
    shown = [visible(t.said(text)) for text in texts[:_MAX_LISTED]]
    return [*shown, t("and_more", n=len(texts) - _MAX_LISTED)] if len(texts) > _MAX_LISTED else shown


def _model(position: int, model: ModelScore, report: Report, t: Texts, most: int) -> dict[str, Any]:
    verdict = report.verdicts.get(model.model)
    details = report.details.models.get(model.model, {}) if report.details is not None else {}
    return {
        "id": f"m{position}",
        "name": page_label(model.model),
        "ranking": ranking(report, [model], t),
        "footnotes": _footnotes(model, verdict, t),
        "charts": model_charts(model, verdict, details, t),
        "sections": [*_speed_sections(model, t), *judged_sections(model, verdict, t, page_label)],
        "suites": [_suite(model, suite, t) for suite in number_format.suites_of(model)],
        "vendors": [
            vendor_view(index, vendor, model, details.get(vendor.label), offered(vendor, model, report, t), t, most)
            for index, vendor in enumerate(model.vendors)
        ],
    }


def _suite(model: ModelScore, suite: str, t: Texts) -> tuple[str, list[Table]]:
    """An evaluation's title with the tables of its scores and, where it checks features, of the checks."""
    scores = [vendor.suites[suite] for vendor in model.vendors if suite in vendor.suites]
    values = [vendor_tables.suite_values(model, suite, t)] if any(score.values for score in scores) else []
    checks = [vendor_tables.check_matrix(model, suite, t)] if any(score.checks for score in scores) else []
    return t("evaluation", name=page_label(suite)), [*values, *checks]


def _speed_sections(model: ModelScore, t: Texts) -> list[Section]:
    """A table for each metric that a vendor measured, the chief ones in sight; then the regions, if there are any."""
    made = {name: _percentiles(name, model, t) for name in number_format.SPEED_METRICS}
    known = {name: found for name, found in made.items() if found.items}
    chief = tuple(found for name, found in known.items() if name in _CHIEF)
    others = tuple(found for name, found in known.items() if name not in _CHIEF)
    regions = vendor_tables.regions(model, t)
    return [
        *([Section("latency", t("latency"), t("latency_note"), tables=chief, folded=others)] if known else []),
        *([Section("regions", t("regions"), t("regions_note"), tables=(regions,))] if regions.items else []),
    ]


def _percentiles(name: str, model: ModelScore, t: Texts) -> Table:
    columns = [Column("n", lambda found: measured(found, t)), *field_columns(number_format.PERCENTILES)]
    found = vendor_items(model.vendors, lambda vendor: vendor.distributions.get(name))
    title = number_format.speed_title(name, t)
    return table(title, title, columns, (item for item in found if item.about.n or item.about.stalled), t)


def _footnotes(model: ModelScore, verdict: ModelVerdict | None, t: Texts) -> list[str]:
    notes = sentences.footnotes(model, t)
    if verdict is not None and (verdict.intervals or verdict.ranking):
        return [*notes, t("interval_note", level="95 %")]
    return [*notes, t("no_intervals")] if len(model.vendors) > 1 else notes


def _verdict(model: ModelScore, verdict: ModelVerdict | None, t: Texts) -> str:
    """The page's verdict on a model as plain text: the leading vendors and the certainty of their lead."""
    name, count = page_label(model.model), len(model.vendors)
    if sentences.nobody_answered(model):
        return t("nobody_answered", n=count, model=name)
    if count == 1:
        return t("only", label=page_label(model.vendors[0].label), model=name)
    leaders = [vendor for vendor in model.vendors if sentences.place(vendor, model) == 1]
    if not leaders:
        return t("unranked", n=count, model=name)
    words = {
        "label": t.listed([page_label(vendor.label) for vendor in leaders]),
        "n": count,
        "model": name,
        "irf": number_format.fusion(leaders[0].irf),
        "tie": _tie(leaders, verdict, t),
        "gates": _gates(verdict, t),
    }
    return t("share", **words) if len(leaders) > 1 else t("leads", figures=_figures(leaders[0], t), **words)


def _figures(leader: VendorScore, t: Texts) -> str:
    figures = []
    if (success := number_format.finite(leader.metrics.get("success_rate"))) is not None:
        figures.append(t("leads_success", value=f"{success * 100:.4g}\u00a0%"))
    if (first := number_format.finite(leader.metrics.get("avg_ttft_ms"))) is not None:
        figures.append(t("leads_ttft", value=number_format.quantity(first)))
    return t("leads_figures", figures=t.joined(figures)) if figures else ""


def _tie(leaders: Sequence[VendorScore], verdict: ModelVerdict | None, t: Texts) -> str:
    """Whether the lead is clear, or with which vendors it is tied, in words; "" without statistics."""
    if verdict is None or verdict.ranking is None:
        return ""
    first = {vendor.label for vendor in leaders}
    tied = sorted({name for pair in verdict.ranking.not_distinguishable if first & set(pair) for name in pair} - first)
    return t("tied_with", others=t.listed([page_label(name) for name in tied])) if tied else t("clear_lead")


def _gates(verdict: ModelVerdict | None, t: Texts) -> str:
    if verdict is None or not verdict.gates:
        return ""
    outcomes = [gate.outcome for gate in verdict.gates]
    return t("gates_said", n=len(outcomes), failed=outcomes.count("FAIL"), undecided=outcomes.count("UNDECIDED"))


def _method(report: Report, t: Texts) -> list[str]:
    names = t.joined(name for name in report.rank_metrics if name.isidentifier())
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
    """A page of sections below each other, without a script."""
    return drawn("plain_page.html.j2", t, title=title, verdicts=verdicts, meta=meta, sections=sections, method=method)
