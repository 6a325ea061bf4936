"""Runs side by side as a page and as Markdown: every vendor of every run, and the changes as they were judged."""

from __future__ import annotations

import sample_reports
from changing import replace
from page_reading import read_page

from vendor_verifier.features.history.page import render_runs, render_runs_text
from vendor_verifier.records.estimate import Estimate
from vendor_verifier.records.history import MetricChange, RunComparison

_FIRST = sample_reports.full()
_SECOND = replace(sample_reports.single(), run="later")
_CHANGE = MetricChange("m", "<b>a</b>", "f1", "difference", 0.98, 0.91, Estimate(-0.07, -0.09, -0.05, 300), "worse")
_COMPARISON = RunComparison(_FIRST.run, "later", 300, changes=(_CHANGE,), notes=("only before: <i>x</i>",))


def test_the_page_is_well_formed_and_harmless() -> None:
    """Labels with markup stay text, there is no script, every table has a caption."""
    page = read_page(render_runs([_FIRST, _SECOND], [_COMPARISON]))  # type: ignore[arg-type]
    assert page.faults == []
    tags = [tag for tag, _ in page.elements]
    assert "script" not in tags
    assert tags.count("caption") == tags.count("table")


def test_every_vendor_of_every_run_has_a_row_for_every_figure() -> None:
    """A vendor that only one run asked has a dash in the other's column, and is not left out."""
    text = render_runs_text([_FIRST, _SECOND], [_COMPARISON])
    model = _SECOND.models[0]
    if model.model not in {each.model for each in _FIRST.models}:
        assert text.count("| only |") >= 6
    assert text.count("\n## ") == len({each.model for report in (_FIRST, _SECOND) for each in report.models}) + 1
    for vendor in model.vendors:
        rows = [line for line in text.splitlines() if line.startswith(f"| {vendor.label} |")]
        assert all(len(line.split(" | ")) == 3 for line in rows)
        assert len(rows) >= 6


def test_changes_are_told_with_their_interval_and_verdict() -> None:
    """In both forms: the verdict first, before and after, the change and what it rests on."""
    text = render_runs_text([_FIRST, _SECOND], [_COMPARISON])
    assert "- worse: m / " in text
    assert "0.9800 → 0.9100, -7.0 points (-9.0 points … -5.0 points, n 300)" in text
    page = render_runs([_FIRST, _SECOND], [_COMPARISON])
    assert "later against" in page
    assert "1 worse" in page
    assert "-7.0 points" in page
    assert "-9.0 points … -5.0 points" in page
