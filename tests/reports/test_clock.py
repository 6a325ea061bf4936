"""Every report says how far the run's clock is to be trusted, or that nobody measured it."""

from __future__ import annotations

from types import ModuleType

from vendor_verifier.reports import markdown, terminal
from vendor_verifier.reports.html.page import render
from vendor_verifier.reports.run_conditions import clock_lines
from vendor_verifier.words import Texts


def test_every_report_shows_it(reports: ModuleType) -> None:
    """Markdown, the terminal's lines and the page, hold the sentences."""
    report = reports.single()
    for told in (markdown.render(report), terminal.plain_lines(report), render(report)):
        assert all(line in told for line in clock_lines(report, Texts()))


def test_an_imported_run_knows_of_neither(reports: ModuleType) -> None:
    """Without a word in the manifest nothing is said."""
    assert clock_lines(reports.empty(), Texts()) == []
