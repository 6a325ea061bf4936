"""A report as a notebook shows it: the verdict in one sentence, and a small table of the vendors of each model."""

from __future__ import annotations

from markupsafe import Markup

from vendor_verifier.records.score import ModelScore, Report
from vendor_verifier.reports.escape import visible
from vendor_verifier.reports.html.charts import tag
from vendor_verifier.reports.ranking import ranking
from vendor_verifier.reports.tables import page_label
from vendor_verifier.reports.verdicts import first_line
from vendor_verifier.words import Texts

_MOST_VENDORS = 20


def report_html(report: Report) -> str:
    """A piece of HTML without style or script; every text of strangers in it is escaped."""
    t = Texts("narrow")
    told = tag("p", tag("strong", first_line(report, t, page_label)))
    return str(Markup().join([told, *(_table(model, report, t) for model in report.models if model.vendors)]))


def _table(model: ModelScore, report: Report, t: Texts) -> Markup:
    """The ranking of a model with the columns that Markdown has."""
    shown = ranking(report, [model], t).of("markdown")
    head = tag("tr", *(tag("th", title) for title in (shown.head, *shown.titles)))
    rows = [
        tag("tr", tag("th", page_label(row.head)), *(tag("td", visible(cell.text)) for cell in row.cells))
        for row in shown.rows[:_MOST_VENDORS]
    ]
    left = len(shown.items) - len(rows)
    more = [tag("tr", tag("td", t("and_more_here", n=left), colspan=len(shown.columns) + 1))] if left else []
    return tag("table", tag("caption", page_label(model.model)), tag("thead", head), tag("tbody", *rows, *more))
