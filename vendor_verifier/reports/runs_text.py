"""Several runs side by side as Markdown: vendors × runs for every figure, then what changed; it judges nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vendor_verifier.reports import cells
from vendor_verifier.reports.comparison_text import change_words, summary
from vendor_verifier.reports.escape import markdown
from vendor_verifier.reports.html.judged import estimate_of
from vendor_verifier.reports.html.runs_page import labels_of, metrics_of, models_of, vendor_of
from vendor_verifier.reports.html.tables import interval, is_rate
from vendor_verifier.values.comparison import RunComparison
from vendor_verifier.values.score import Report

_TITLES = {name: title for title, name in cells.PAGE_COLUMNS}


def render(reports: Sequence[Report], comparisons: Sequence[RunComparison]) -> str:
    """The page of ``reports`` in the order given; ``comparisons`` are of each with the one before it."""
    lines = ["# Runs side by side", ""]
    lines += [f"- {markdown(summary(found))}" for found in comparisons]
    for model in models_of(reports):
        lines += ["", f"## {markdown(model)}"]
        for metric in metrics_of(reports, model):
            lines += ["", *_table(model, metric, reports)]
    for found in comparisons:
        told = [f"- {change.verdict}: {markdown(change_words(change))}" for change in found.changes]
        lines += ["", f"## {markdown(f'{found.before} → {found.after}')}", "", *told]
        lines += [f"- note: {markdown(note)}" for note in found.notes]
    return "\n".join(lines) + "\n"


def _table(model: str, metric: str, reports: Sequence[Report]) -> Iterator[str]:
    heads = [_TITLES.get(metric, metric), *(report.run for report in reports)]
    yield "| " + " | ".join(map(markdown, heads)) + " |"
    yield "|---" + "|---:" * len(reports) + "|"
    for name in labels_of(reports, model):
        figures = [_figure(report, model, name, metric) for report in reports]
        yield "| " + " | ".join([markdown(name), *figures]) + " |"


def _figure(report: Report, model: str, name: str, metric: str) -> str:
    vendor = vendor_of(report, model, name)
    if vendor is None:
        return cells.MISSING
    estimate = None if metric == "f1" and vendor.is_baseline else estimate_of(report.verdicts.get(model), name, metric)
    around = interval(estimate, rate=is_rate(metric))
    return cells.metric(vendor, metric) + (f" ({around})" if around else "")
