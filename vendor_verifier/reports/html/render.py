"""report.html: one file that is complete in itself; the page's policy forbids it to load or send anything.

Everything a stranger wrote passes ``visible`` (nothing hidden) and then the escaping of elements and drawings. Style
and script are constant and named by their digests in the policy, so nothing that slipped into the page could run. The
page works without its script; then it does not sort or filter.
"""

from __future__ import annotations

from markupsafe import Markup

from vendor_verifier.reports.clock import clock_lines
from vendor_verifier.reports.escape import visible
from vendor_verifier.reports.html import charts, ranking
from vendor_verifier.reports.html.document import document, part
from vendor_verifier.reports.html.elements import element, lines, void
from vendor_verifier.reports.html.judged import judged_sections
from vendor_verifier.reports.html.latency import latency_section
from vendor_verifier.reports.html.load import asked, offered
from vendor_verifier.reports.html.pictures import Chart, model_charts
from vendor_verifier.reports.html.pieces import (
    badge,
    definitions,
    folded,
    framed,
    head,
    kicker,
    listed,
    note,
    run_name,
    table,
    warned,
)
from vendor_verifier.reports.html.regions import regions_section
from vendor_verifier.reports.html.section import Section
from vendor_verifier.reports.html.tables import label
from vendor_verifier.reports.html.texts import HTML_LANG, Language, Texts
from vendor_verifier.reports.html.vendors import ExampleView, VendorView, suite_tables, vendor_view
from vendor_verifier.values.details import MAX_EXAMPLES
from vendor_verifier.values.score import ModelScore, Report

MAX_BYTES = 400_000
# With fewer examples of each vendor until the page is small enough to be mailed.
_EXAMPLES = (MAX_EXAMPLES, 12, 8, 5, 3, 1, 0)
_MAX_LISTED = 100
_MAX_OPEN = 5


def render(report: Report, language: Language = "en") -> str:
    """The whole page, UTF-8-encodable; examples are left out, and that is said, where it would pass 400,000 bytes."""
    page = ""
    for most in _EXAMPLES:
        page = _page(report, Texts(language), most)
        if len(page.encode()) <= MAX_BYTES:
            break
    return page


def _page(report: Report, t: Texts, most: int) -> str:
    run = label(report.run)
    models = [model for model in report.models if model.vendors]
    dataset = listed(_listed(report.dataset, t))
    shortened = most < MAX_EXAMPLES and report.details is not None
    method = [*_method(report, t), *([t("excerpts_cut")] if shortened else [])]
    main = [_model(f"m{position}", model, report, t, most) for position, model in enumerate(models)]
    main += [element("section", element("h2", t("dataset")), dataset, class_="card")] if dataset is not None else []
    body = (
        charts.patterns(),
        element("a", t("skip"), class_="skip", href="#m0") if models else None,
        _header(run, models, report, t),
        element("main", lines(main)),
        element("footer", element("h2", t("method")), listed(method), class_="card"),
    )
    return document(f"{t('title')} · {run}", HTML_LANG[t.language], body, script=part("page.js"))


def _header(run: str, models: list[ModelScore], report: Report, t: Texts) -> Markup:
    verdicts = [ranking.sentence(model, report.verdicts.get(model.model), t) for model in models] or [t("nothing")]
    tools = element("div", _button(t("theme"), id="theme"), _button(t("print"), id="print"), class_="tools")
    links = [element("a", label(model.model), href=f"#m{position}") for position, model in enumerate(models)]
    warnings = _warnings(report, t)
    return head(
        element("div", kicker(t("title")), tools, class_="bar"),
        verdicts,
        [run_name(run, t), *_meta(report, t)],
        element("nav", *links, aria_label=t("models")) if len(models) > 1 else None,
        warned(warnings, t, is_open=len(warnings) <= _MAX_OPEN),
    )


def _button(words: str, **attributes: str) -> Markup:
    return element("button", words, type="button", **attributes)


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


def _model(name: str, model: ModelScore, report: Report, t: Texts, most: int) -> Markup:
    """Everything about one model; ``name`` is the id that its parts begin with."""
    verdict = report.verdicts.get(model.model)
    details = report.details.models.get(model.model, {}) if report.details is not None else {}
    sections = [*latency_section(model, t), *regions_section(model, t), *judged_sections(model, verdict, t)]
    vendors = [
        vendor_view(index, vendor, model, details.get(vendor.label), offered(vendor, model, report, t), t, most)
        for index, vendor in enumerate(model.vendors)
    ]
    parts = (
        element("h2", label(model.model), id=f"{name}h"),
        _ranking(name, model, report, t),
        *(_section(section, name, t) for section in sections if section.id == "gates"),
        *(_chart(chart, name, t) for chart in model_charts(model, verdict, details, t)),
        *(_section(section, name, t) for section in sections if section.id != "gates"),
        *(
            element("section", element("h3", title), lines(table(each, t) for each in tables), class_="card")
            for title, tables in suite_tables(model, t)
        ),
        _vendors(name, vendors, t),
    )
    return element("section", lines(parts), class_="model", id=name, aria_labelledby=f"{name}h")


def _ranking(name: str, model: ModelScore, report: Report, t: Texts) -> Markup:
    search = void("input", type="search", data_filter=name, autocomplete="off", spellcheck="false")
    bar = element(
        "div",
        element("h3", t("ranking")),
        element("label", element("span", t("filter")), Markup(" "), search, class_="filter"),
        element("output", data_shown=t("shown", n="#", all=len(model.vendors)), aria_live="polite"),
        class_="bar",
    )
    rows = ranking.ranking(model, report.verdicts.get(model.model), t)
    footnotes = map(note, ranking.footnotes(model, report, t))
    screen = note(t("ranking_note"), "note screen")
    return element("section", lines((bar, screen, table(rows, t, name, f"{name}r"), *footnotes)), class_="card")


def _section(section: Section, name: str, t: Texts) -> Markup:
    more = folded(t("more_figures", n=len(section.folded)), section.folded, t, name) if section.folded else None
    parts = (
        element("h3", section.title),
        note(section.note) if section.note else None,
        listed(section.lines),
        *(table(each, t, name) for each in section.tables),
        more,
    )
    return element("section", lines(parts), class_="card", id=f"{name}{section.id}")


def _chart(chart: Chart, name: str, t: Texts) -> Markup:
    parts = (
        element("h3", chart.title),
        note(chart.note),
        framed(chart.picture),
        folded(t("as_table"), [chart.table], t),
    )
    return element("section", lines(parts), class_="card", id=f"{name}{chart.id}")


def _vendors(name: str, vendors: list[VendorView], t: Texts) -> Markup:
    tools = element("div", _button(t("open_all"), data_open=name, data_other=t("close_all")), class_="tools")
    bar = element("div", element("h3", t("vendors")), tools, class_="bar")
    return element("section", lines((bar, *(_vendor(name, vendor, t) for vendor in vendors))), class_="card vendors")


def _vendor(name: str, vendor: VendorView, t: Texts) -> Markup:
    summary = element(
        "summary",
        vendor.icon,
        element("strong", vendor.label),
        badge(t) if vendor.is_baseline else None,
        Markup(" "),
        element("span", vendor.headline, class_="quiet"),
    )
    inside = (
        note(vendor.subtitle),
        definitions(vendor.facts),
        table(vendor.distributions, t) if vendor.distributions.rows else None,
        element("h4", t("examples")) if vendor.examples_note or vendor.examples else None,
        note(vendor.examples_note) if vendor.examples_note else None,
        *map(_example, vendor.examples),
        element("p", element("a", t("back"), href=f"#{name}"), class_="note screen"),
    )
    return element(
        "details",
        summary,
        element("div", lines(inside), class_="inside"),
        class_="vendor",
        id=f"{name}v{vendor.index}",
        data_v=vendor.index,
    )


def _example(example: ExampleView) -> Markup:
    reason = Markup(" ") + element("code", example.reason) if example.reason else None
    where = element("span", example.where, class_="quiet")
    summary = element("summary", example.title, reason, Markup(" "), where)
    return element("details", summary, definitions(example.parts, "said"), class_="example")


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
