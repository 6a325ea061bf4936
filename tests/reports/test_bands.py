"""The bands of MCPToolBench++ in the report."""

from __future__ import annotations

import html
from pathlib import Path

import pytest

from vendor_verifier.cli.main import run_app


def test_the_report_says_what_the_page_calls_good(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Single-step and multi-step apart, vendor by vendor, below the ranking: on screen, in both reports."""
    assert run_app(["demo", "--suite", "mcptoolbench", "-q", "-o", str(tmp_path / "run")]) == 0
    page = html.unescape((tmp_path / "run" / "report.html").read_text("utf-8"))
    for told in (capsys.readouterr().out, (tmp_path / "run" / "report.md").read_text("utf-8"), page):
        assert "mcptoolbench, single-step, in its page's words: " in told
        assert "mcptoolbench, multi-step, in its page's words: " in told
        assert "official 1 good" in told
