"""A scored run as text: pure functions from Report to str, one format a file. It does no I/O.

The terminal's table is in :mod:`vendor_verifier.reports.terminal`, because it is a renderable and not a file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from vendor_verifier.lazy_import import late

if TYPE_CHECKING:
    from vendor_verifier.records.score import Report


class ReportFormat(msgspec.Struct, frozen=True):
    """One file of a run folder: its name for ``--format``, its file name, and the function that renders it.

    ``by_default`` ones are written for every run, the others when asked for. ``renderer`` is
    ``module:function`` of this package, loaded when it is needed.
    """

    name: str
    file_name: str
    renderer: str
    by_default: bool = True

    def text(self, report: Report) -> str:
        """The file's content."""
        render: Callable[[Report], str] = late(f"vendor_verifier.reports.{self.renderer}")
        return render(report)


REPORTS: tuple[ReportFormat, ...] = (
    ReportFormat("json", "scores.json", "scores_json:render"),
    ReportFormat("csv", "ranking.csv", "ranking:render_csv"),
    ReportFormat("md", "report.md", "markdown:render"),
    ReportFormat("failed", "failed_samples.jsonl", "failed_samples:render"),
    ReportFormat("html", "report.html", "html.page:render"),
    ReportFormat("junit", "junit.xml", "ci:render_junit", by_default=False),
    ReportFormat("openmetrics", "metrics.prom", "openmetrics:render", by_default=False),
)
