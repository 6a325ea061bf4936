"""A scored run as text: pure functions from its figures to str, one for each file of a run folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vendor_verifier.scoring.figures import ScoredRun

FORMATS: Mapping[str, str] = {
    "json": "scores.json",
    "csv": "ranking.csv",
    "md": "report.md",
    "html": "report.html",
    "junit": "junit.xml",
    "openmetrics": "metrics.prom",
}
"""Name for ``--format`` → file name."""

# Written for every run; the others when asked for.
BY_DEFAULT: tuple[str, ...] = ("scores.json", "ranking.csv", "report.md", "report.html")


def rendered(scored: ScoredRun, names: Iterable[str]) -> dict[str, str]:
    """File name → its text, for these of :data:`FORMATS`; they share their tables."""
    # Loaded here, because commands that write no report use parts of this package.
    from vendor_verifier.reports import html, junit, markdown, openmetrics, ranking_csv, scores_json
    from vendor_verifier.reports.tables import ModelTables

    models = {name: ModelTables(scored, name) for name in scored.report.models}
    renders = {
        "scores.json": lambda: scores_json.render(scored.report),
        "ranking.csv": lambda: ranking_csv.render(models),
        "report.md": lambda: markdown.render(scored, models),
        "report.html": lambda: html.render(scored, models),
        "junit.xml": lambda: junit.render(scored),
        "metrics.prom": lambda: openmetrics.render(scored, models),
    }
    return {name: renders[name]() for name in names}
