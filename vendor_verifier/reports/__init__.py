"""A scored run as text: pure functions from Report to str, one format a file. Nothing here reads, writes or scores.

The terminal's table is in :mod:`vendor_verifier.reports.terminal`, because it is a renderable and not a file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from vendor_verifier.reports import markdown, ranking_csv, scores_json
from vendor_verifier.values.score import Report


@dataclass(frozen=True, slots=True)
class ReportFormat:
    """One file of a run folder: what ``--format`` calls it, what the file is called, and the function that fills it."""

    name: str
    file_name: str
    render: Callable[[Report], str]


REPORTS: tuple[ReportFormat, ...] = (
    ReportFormat("json", "scores.json", scores_json.render),
    ReportFormat("csv", "ranking.csv", ranking_csv.render),
    ReportFormat("md", "report.md", markdown.render),
)
