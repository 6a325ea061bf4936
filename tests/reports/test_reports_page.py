"""docs/reports.md says what the code does: its formats, files and limits are the code's."""

from __future__ import annotations

import re
from pathlib import Path

from vendor_verifier.reports import REPORTS
from vendor_verifier.reports.ci import MAX_BYTES as MAX_SUMMARY
from vendor_verifier.reports.html.page import MAX_BYTES, MOST_BYTES
from vendor_verifier.values.details import MAX_ANSWERS, MAX_CASES, MAX_EXAMPLES, MAX_POINTS

PAGE = (Path(__file__).parents[2] / "docs" / "reports.md").read_text(encoding="utf-8")


def test_the_formats_are_those_of_the_code() -> None:
    """Names, files and what every run gets, in the code's order."""
    rows = re.findall(r"^\| `(\w+)` \| `([\w.]+)` \|.*\| (yes|no) \|$", PAGE, re.MULTILINE)
    assert rows == [(form.name, form.file_name, "yes" if form.by_default else "no") for form in REPORTS]


def test_limits_are_those_of_the_code() -> None:
    """Every number the page promises is the constant behind it."""
    for number in (MAX_BYTES, MOST_BYTES, MAX_ANSWERS, MAX_SUMMARY, MAX_CASES, MAX_POINTS, MAX_EXAMPLES):
        assert f"{number:,}" in PAGE


def test_the_judged_examples_are_what_is_printed() -> None:
    """Every line of the page's examples stands in the golden files of the judged run."""
    golden = Path(__file__).parent / "golden"
    printed = [(golden / name).read_text(encoding="utf-8") for name in ("judged.plain.txt", "judged.report.md")]
    known = {line for text in printed for line in text.splitlines()}
    section = PAGE.partition("## What a judged run looks like")[2].partition("\n## ")[0]
    examples = re.findall(r"^```text\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    shown = [line for example in examples if example in section for line in example.splitlines() if line]
    assert len(shown) >= 8
    assert set(shown) <= known
