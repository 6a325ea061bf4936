"""A scored run as text: pure functions from ScoredRun to str, one for each file of a run folder.

The screen's lines are made by :mod:`vendor_verifier.reports.terminal`, because they are no file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from vendor_verifier.lazy_import import late

if TYPE_CHECKING:
    from vendor_verifier.scoring.scored_run import ScoredRun

Render = Callable[["ScoredRun"], str]


def _from(target: str) -> Render:
    """The function ``module:name`` of this package, loaded when it is called."""

    def render(scored: ScoredRun) -> str:
        made: Render = late(f"vendor_verifier.reports.{target}")
        return made(scored)

    return render


REPORTS: Mapping[str, Render] = {
    "scores.json": _from("scores_json:render"),
    "ranking.csv": _from("ranking_csv:render"),
    "report.md": _from("markdown:render"),
    "report.html": _from("html:render"),
    "junit.xml": _from("junit:render"),
    "metrics.prom": _from("openmetrics:render"),
}
"""File name → the function that renders it."""

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
