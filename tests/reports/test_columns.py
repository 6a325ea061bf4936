"""One list says what stands in the ranking, for every output."""

from __future__ import annotations

import io

import pytest
import sample_reports
from rich.console import Console

from vendor_verifier.reports import REPORTS, ranking
from vendor_verifier.reports.tables import Cell, Column
from vendor_verifier.reports.terminal import plain_lines, render
from vendor_verifier.words import entries


@pytest.fixture
def invented(monkeypatch: pytest.MonkeyPatch) -> None:
    """A column more in the list and a text for its heading."""
    column = Column("invented", lambda entry: Cell(f"[{entry.vendor.attempts}]", entry.vendor.attempts))
    monkeypatch.setattr(ranking, "COLUMNS", (*ranking.COLUMNS, column))
    monkeypatch.setitem(entries(), "invented", "Invented")  # type: ignore[arg-type]


def shown(form: str) -> str:
    """One of the files of the full report."""
    [found] = [each for each in REPORTS if each.name == form]
    return found.text(sample_reports.full())


@pytest.mark.usefixtures("invented")
def test_a_column_of_the_list_stands_in_every_output() -> None:
    """Terminal, Markdown and page, and CSV, with the figure of each vendor."""
    out = io.StringIO()
    Console(file=out, width=160).print(render(sample_reports.full()))
    assert "Invented" in out.getvalue()
    assert "Avg token 1816; Invented [11]" in "\n".join(plain_lines(sample_reports.full()))
    assert "| Avg Token | Invented |" in shown("md")
    assert "| 1816 | [11] |" in shown("md")
    assert ">Invented</button>" in shown("html")
    assert '<td data-n="11">[11]</td>' in shown("html")
    head, first, *_ = shown("csv").splitlines()
    assert head.endswith(",invented")
    assert first.endswith(",11")


def test_without_it_no_output_has_it() -> None:
    """The test above would fail if the list were not what is read."""
    assert not [form.name for form in REPORTS if "nvented" in form.text(sample_reports.full())]
