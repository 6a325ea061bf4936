"""The terminal table: width, colour and hostile text."""

from __future__ import annotations

import io
import re
from types import ModuleType

import pytest
from changing import replace
from rich.cells import cell_len
from rich.console import Console

from vendor_verifier.records.score import Report
from vendor_verifier.reports import markdown, scores_json, terminal
from vendor_verifier.reports.html.page import render as html


def drawn(report: Report, width: int = 100, **options: bool) -> str:
    """What a console of ``width`` columns would show."""
    out = io.StringIO()
    Console(file=out, width=width, **options).print(terminal.render(report))  # type: ignore[arg-type]
    return out.getvalue()


@pytest.mark.parametrize("case", ["full", "empty", "single"])
def test_fits_in_100_columns(reports: ModuleType, case: str) -> None:
    """No line is wider than the screen the product promises to fit."""
    assert max(cell_len(line) for line in drawn(getattr(reports, case)()).splitlines()) <= 100


def test_figures_are_never_cut(reports: ModuleType) -> None:
    """In 100 columns every figure and title of the widest table is whole; only labels fold."""
    big = reports.vendor("2000 samples and a long name", planned=2000, succeeded=1999, irf=1.0)
    report = reports.full()
    model = replace(report.models[0], vendors=(big, *report.models[0].vendors))
    text = drawn(replace(report, models=(model,)))
    for figure in (
        "0.8690",
        "1999/2000",
        "10/10",
        "0.8427",
        "92.81",
        "0.9985",
        "777.2",
        "1816",
        ">0.9999",
        "12346",
        "Avg token",
    ):
        assert figure in text
    assert "…" not in text


def test_the_table_fits_the_usual_terminal(reports: ModuleType) -> None:
    """In 80 columns a label of a dozen characters stands in one piece beside whole figures."""
    vendors = tuple(reports.vendor(label, planned=500, succeeded=499) for label in ("text-leaker", "atlas-cloud"))
    report = replace(reports.single(), models=(replace(reports.single().models[0], vendors=vendors),))
    text = drawn(report, width=80)
    assert "Avg token" in text
    assert "text-leaker" in text
    assert "499/500" in text
    assert max(cell_len(line) for line in text.splitlines()) <= 80


@pytest.mark.parametrize("width", [30, 50, 60])
def test_a_narrow_screen_gets_lines_instead_of_cut_figures(reports: ModuleType, width: int) -> None:
    """Where the table does not fit, no label vanishes and no figure loses a digit."""
    words = " ".join(drawn(reports.full(), width=width).split())
    assert "…" not in words
    for line in terminal.plain_lines(reports.full()):
        figures = [word for word in line.split() if word.rstrip(";").replace(".", "", 1).isdigit()]
        assert all(figure in words for figure in figures)


def test_no_terminal_no_escape_codes(reports: ModuleType) -> None:
    """Without a terminal nothing but text comes out; a vendor's escape codes never do."""
    assert "\x1b" not in drawn(reports.full())
    coloured = drawn(reports.full(), force_terminal=True, no_color=True)
    assert not re.search(r"\x1b\](8|0)|\x1b\[2J", coloured)


def test_markup_in_labels_is_text(reports: ModuleType) -> None:
    """Brackets in a model's name are shown, not obeyed."""
    assert "[link=https://evil.example]click[/link] [red]" in drawn(reports.full(), width=200)


def test_plain_lines_are_single_lines_without_orders(reports: ModuleType) -> None:
    """Each entry is one line, and none starts a workflow command."""
    for line in terminal.plain_lines(reports.full()):
        assert len(line.splitlines()) == 1
        assert "::" not in line


def test_vendor_without_records_is_not_a_failure(reports: ModuleType) -> None:
    """A vendor that was never asked stands in the table as not measured, not as 0 of n."""
    silent = reports.vendor("silent", recorded=0, succeeded=0, metrics={}, measured={}, irf=None, irf_metrics=0)
    report = replace(reports.single(), models=(replace(reports.single().models[0], vendors=(silent,)),))
    lines = terminal.plain_lines(report)
    assert "  –. silent: IRF –; succeeded –; Success –; F1 –; TPS –; Schema –; TTFT ms –; Avg token –" in lines
    assert "  silent: not measured, there is no record of it (10 planned)" in lines


def test_every_format_says_what_was_sent_again(reports: ModuleType) -> None:
    """How many requests went out twice stands in each format a person or a program reads, and not where none did."""
    full = reports.full()
    lossy = reports.vendor("lossy", attempts=200, resent=3)
    model = replace(full.models[0], vendors=(lossy, *full.models[0].vendors))
    report = replace(full, models=(model, *full.models[1:]))
    said = "3 requests of 203 sent again on a new connection"
    assert said in drawn(report, width=400)
    assert any(said in line for line in terminal.plain_lines(report))
    assert "| lossy | 3 of 203 |" in markdown.render(report)
    assert "Of these again, because a kept connection ended unanswered" in html(report)
    counts = scores_json.scores(report)["models"][model.model]["vendors"]["lossy"]["counts"]
    assert (counts["attempts"], counts["resent"]) == (200, 3)
    for silent in (drawn(full, width=400), markdown.render(full), html(full)):
        assert "unanswered" not in silent


def test_notes_tell_what_is_behind_a_figure(reports: ModuleType) -> None:
    """Short measurements, pairs left out and failures are named beside the table."""
    text = "\n".join(terminal.plain_lines(reports.full()))
    assert "measured, of 10 planned: TPS 0, Schema Accuracy 0, TTFT (ms) 0, Avg Token 0" in text
    assert "TP 0 FP 0 FN 10 TN 0, 10 of FN by failure" in text
    assert "failures: http_5xx 4, timeout_total 4, auth 2" in text
