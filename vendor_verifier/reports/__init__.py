"""A scored run as text: pure functions from Report to str, one format a file. Nothing here reads, writes or scores.

The terminal's table is in :mod:`vendor_verifier.reports.terminal`, because it is a renderable and not a file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from vendor_verifier.reports import junit, markdown, openmetrics, ranking_csv, scores_json, step_summary
from vendor_verifier.reports.html import render as html
from vendor_verifier.reports.html.texts import Language
from vendor_verifier.values.score import Report


@dataclass(frozen=True, slots=True)
class ReportFormat:
    """One file of a run folder: what ``--format`` calls it, what the file is called, and the function that fills it.

    ``by_default`` ones are written beside every run, the others when asked for. ``translated`` is there for formats
    that speak more than English.
    """

    name: str
    file_name: str
    render: Callable[[Report], str]
    by_default: bool = True
    translated: Callable[[Report, Language], str] | None = None

    def text(self, report: Report, language: Language = "en") -> str:
        """The file's content in that language, or in English where the format knows no other."""
        return self.render(report) if self.translated is None else self.translated(report, language)


REPORTS: tuple[ReportFormat, ...] = (
    ReportFormat("json", "scores.json", scores_json.render),
    ReportFormat("csv", "ranking.csv", ranking_csv.render),
    ReportFormat("md", "report.md", markdown.render),
    ReportFormat("html", "report.html", html.render, translated=html.render),
    ReportFormat("junit", "junit.xml", junit.render, by_default=False),
    ReportFormat("summary", "summary.md", step_summary.render, by_default=False),
    ReportFormat("openmetrics", "metrics.prom", openmetrics.render, by_default=False),
)
