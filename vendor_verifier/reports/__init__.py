"""A scored run as text: pure functions from Report to str, one format a file. It does no I/O.

The terminal's table is in :mod:`vendor_verifier.reports.terminal`, because it is a renderable and not a file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from vendor_verifier.lazy_import import late

if TYPE_CHECKING:
    from vendor_verifier.values.score import Report
    from vendor_verifier.words import Language


class ReportFormat(msgspec.Struct, frozen=True):
    """One file of a run folder: its name for ``--format``, its file name, and the function that renders it.

    ``by_default`` ones are written for every run, the others when asked for. ``is_translated`` marks formats in more
    languages than English. ``renderer`` is ``module:function`` of this package, loaded when it is needed.
    """

    name: str
    file_name: str
    renderer: str
    by_default: bool = True
    is_translated: bool = False

    @property
    def render(self) -> Callable[..., str]:
        """The function from a report to the file's content; one that is translated also takes the language."""
        found: Callable[..., str] = late(f"vendor_verifier.reports.{self.renderer}")
        return found

    def text(self, report: Report, language: Language = "en") -> str:
        """The file's content in the given language, or in English where the format is not translated."""
        return self.render(report, language) if self.is_translated else self.render(report)


REPORTS: tuple[ReportFormat, ...] = (
    ReportFormat("json", "scores.json", "scores_json:render"),
    ReportFormat("csv", "ranking.csv", "ranking:render_csv"),
    ReportFormat("md", "report.md", "markdown:render", is_translated=True),
    ReportFormat("failed", "failed_samples.jsonl", "failed_samples:render"),
    ReportFormat("html", "report.html", "html.page:render", is_translated=True),
    ReportFormat("junit", "junit.xml", "ci:render_junit", by_default=False),
    ReportFormat("summary", "summary.md", "ci:render_step_summary", by_default=False, is_translated=True),
    ReportFormat("openmetrics", "metrics.prom", "openmetrics:render", by_default=False),
)
