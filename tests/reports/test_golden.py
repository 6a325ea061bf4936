"""Every file format against a golden file. Regenerate after a wanted change, then read the difference:

``UPDATE_GOLDEN=1 .venv/bin/pytest tests/reports/test_golden.py && git diff tests/reports/golden``
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import ModuleType

import pytest
from page_reading import section_lines
from sample_reports import regional
from synthetic_run import LABELS, MODEL, report

from vendor_verifier.reports import REPORTS, ReportFormat
from vendor_verifier.reports.terminal import plain_lines

GOLDEN = Path(__file__).parent / "golden"


def agree(file_name: str, text: str) -> None:
    """Compare with, or under UPDATE_GOLDEN replace, one golden file."""
    path = GOLDEN / file_name
    if os.environ.get("UPDATE_GOLDEN") == "1":
        path.write_bytes(text.encode())
    assert path.read_bytes().decode() == text


JUDGED = report(12, LABELS[:3])
# The page's own tests look at its structure: its style may change without a golden file.
TEXTS = [form for form in REPORTS if form.name != "html"]


@pytest.mark.parametrize("case", ["full", "empty", "single"])
@pytest.mark.parametrize("form", TEXTS, ids=lambda form: form.name)
def test_files_are_byte_for_byte_the_golden_ones(reports: ModuleType, form: ReportFormat, case: str) -> None:
    """A renderer's output changes only when somebody means it to."""
    agree(f"{case}.{form.file_name}", form.text(getattr(reports, case)()))


@pytest.mark.parametrize("case", ["full", "empty", "single"])
def test_plain_lines_are_the_golden_ones(reports: ModuleType, case: str) -> None:
    """The text for pipes and CI logs changes only when somebody means it to."""
    agree(f"{case}.plain.txt", "\n".join(plain_lines(getattr(reports, case)())) + "\n")


def test_a_judged_runs_part_of_the_markdown_is_the_golden_one() -> None:
    """Order, ceiling, gates, money, blame and findings of three vendors; the figures around them have their own."""
    text = next(form for form in REPORTS if form.name == "md").text(JUDGED)
    begin, end = text.index("### What can be said"), text.index("### Ranks behind")
    agree("judged.report.md", text[begin:end])


def test_a_runs_part_about_regions_is_the_golden_one() -> None:
    """A row for each vendor and region; what a stranger named is harmless, and what was not measured is a dash."""
    text = next(form for form in REPORTS if form.name == "md").text(regional())
    begin, end = text.index("### Latency by region"), text.index("### Distributions")
    agree("regional.report.md", text[begin:end])


def test_a_judged_runs_part_of_the_json_is_the_golden_one() -> None:
    """Everything under `judgement`."""
    document = json.loads(next(form for form in REPORTS if form.name == "json").text(JUDGED))
    agree("judged.judgement.json", json.dumps(document["models"][MODEL]["judgement"], indent=1) + "\n")


def test_a_judged_run_on_a_terminal_is_the_golden_one() -> None:
    """Four lines of judgement below the ranking."""
    agree("judged.plain.txt", "\n".join(plain_lines(JUDGED)) + "\n")


def test_the_judged_sections_of_the_page_say_what_the_golden_file_says() -> None:
    """How they are drawn is the page's own business."""
    [page] = [form for form in REPORTS if form.name == "html"]
    text = page.text(JUDGED)
    parts = [section_lines(text, f"m0{name}") for name in ("gates", "stability", "noise", "blame", "money")]
    assert all(parts)
    agree("judged.page.txt", "\n".join(line for part in parts for line in [*part, ""]))


def test_formats_have_distinct_names_and_files() -> None:
    """A format can be asked for by name, and no two write the same file."""
    every_run = [form.file_name for form in REPORTS if form.by_default]
    assert every_run == ["scores.json", "ranking.csv", "report.md", "failed_samples.jsonl", "report.html"]
    assert len({form.name for form in REPORTS}) == len({form.file_name for form in REPORTS}) == len(REPORTS)
