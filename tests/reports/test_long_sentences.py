"""A sentence of ours is told to its end, which says what to do, in every output that people read."""

from __future__ import annotations

from html import unescape

import pytest
import sample_reports
from advising import advised
from changing import replace

from vendor_verifier.records.score import Report
from vendor_verifier.reports import REPORTS, terminal
from vendor_verifier.words import english

READ_BY_PEOPLE = ("md", "html")


def warned() -> Report:
    """A report with a warning that names twelve vendors."""
    told = ", ".join(f"reseller-{number} 1234" for number in range(12))
    warning = english("warn_lost", model="m", told=told, lost=told, most="20%")
    return replace(advised(sample_reports.single()), warnings=(warning,))


@pytest.mark.parametrize("form", [form for form in REPORTS if form.name in READ_BY_PEOPLE], ids=lambda form: form.name)
def test_a_long_warning_keeps_its_end_in_files(form: object) -> None:
    """The advice behind the names of twelve vendors is there."""
    assert "with fewer requests at a time" in unescape(form.text(warned()))  # type: ignore[attr-defined]


def test_a_long_warning_keeps_its_end_on_a_screen() -> None:
    """The same without colours."""
    assert "with fewer requests at a time" in " ".join(terminal.plain_lines(warned()))


def test_a_long_reason_keeps_its_end() -> None:
    """What points to the template stands behind all that may differ, and is what a reader acts upon."""
    report = warned()
    [(model, found)] = report.advice.items()
    long = "weights, precision, hardware, batching, sampling; " * 10 + "points to the template"
    vendors = {
        label: replace(verdict, facets=tuple(replace(each, status="doubtful", reason=long) for each in verdict.facets))
        for label, verdict in found.vendors.items()
    }
    report = replace(report, advice={model: replace(found, vendors=vendors)})
    for text in (*(form.text(report) for form in REPORTS if form.name in READ_BY_PEOPLE),
                 "\n".join(terminal.plain_lines(report))):  # fmt: skip
        assert "points to the template" in text
