"""What each format promises beyond its golden file."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from changing import replace
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.records.manifest import EntryInfo
from vendor_verifier.records.score import ModelScore, Report, SuiteScore, VendorScore
from vendor_verifier.reports import REPORTS, markdown, ranking, scores_json, sentences
from vendor_verifier.scoring.score_run import score_run
from vendor_verifier.words import Texts

PAGE_HEADER = "| Vendor | IRF Score | Success Rate | F1 Score | TPS | Schema Accuracy | TTFT (ms) | Avg Token |"


def strict_json(text: str) -> Any:
    """Parse, refusing what RFC 8259 has no word for."""

    def refuse(word: str) -> None:
        raise AssertionError(word)

    return json.loads(text, parse_constant=refuse)


def with_metric(make: Callable[..., VendorScore], value: float) -> Report:
    """A report of one vendor with ``value`` wherever a float may stand."""
    suite = SuiteScore(1, 1, {"y": value}, {"y": 1})
    vendor = make("v", metrics={"tps": value}, irf=value, e2e_tps=value, suites={"x": suite})
    return Report("r", (ModelScore("m", None, (vendor,)),), ("tps",), 5, "missed", "lenient", 1)


@given(value=st.floats(allow_nan=True, allow_infinity=True))
def test_json_never_holds_nan(reports: ModuleType, value: float) -> None:
    """Any float at all gives RFC 8259 JSON: a number that is not finite becomes null."""
    found = strict_json(scores_json.render(with_metric(reports.vendor, value)))["models"]["m"]["vendors"]["v"]
    expected = value if math.isfinite(value) else None
    assert [found["tps"], found["irf"], found["e2e_tps"], found["suites"]["x"]["values"]["y"]] == [
        expected, expected, expected, expected,
    ]  # fmt: skip


def test_json_keeps_hostile_labels_apart_and_whole(reports: ModuleType) -> None:
    """Data stays data: labels are keys as they are, but the file itself is pure ASCII."""
    text = scores_json.render(reports.full())
    assert text.isascii()
    vendors = strict_json(text)["models"]["kimi-k2"]["vendors"]
    assert set(reports.HOSTILE) <= set(vendors)


def test_json_distinguishes_zero_from_not_measured(reports: ModuleType) -> None:
    """The dead vendor's success is 0 and its speed is null."""
    found = scores_json.scores(reports.full())["models"]["kimi-k2"]["vendors"][reports.dead().label]
    assert found["success_rate"] == 0
    assert found["tps"] is None
    assert found["counts"]["failed"] == 10
    assert found["measured"]["tps"] == 0


def test_json_suite_score_cannot_replace_a_fact(reports: ModuleType) -> None:
    """A suite score that is called like a fixed key is kept under another name."""
    vendor = reports.vendor("v", metrics={"irf": 0.125}, irf=0.5)
    report = Report("r", (ModelScore("m", None, (vendor,)),), (), 5, "missed", "lenient", 1)
    found = scores_json.scores(report)["models"]["m"]["vendors"]["v"]
    assert (found["irf"], found["metric_irf"]) == (0.5, 0.125)


def test_csv_numbers_are_numbers_and_text_is_no_formula(reports: ModuleType) -> None:
    """Every row has the header's columns; figures parse as numbers or are empty; no text starts a formula."""
    rows = list(csv.DictReader(io.StringIO(ranking.render_csv(reports.full()))))
    texts = {"model", "label", "vendor", "provider", "model_id", "is_baseline"}
    assert len(rows) == sum(len(model.vendors) for model in reports.full().models)
    for row in rows:
        assert None not in row
        for name, cell in row.items():
            if name in texts:
                assert cell[:1] not in {"=", "+", "-", "@", "\t", "\r"}
            elif cell:
                assert math.isfinite(float(cell))


def test_csv_negative_number_stays_a_number(reports: ModuleType) -> None:
    """Defusing formulas does not turn measurements into text."""
    row = next(csv.DictReader(io.StringIO(ranking.render_csv(with_metric(reports.vendor, -1.5)))))
    assert row["tps"] == "-1.5"


def test_csv_missing_is_empty_not_zero(reports: ModuleType) -> None:
    """What was never measured leaves its cell empty."""
    rows = csv.DictReader(io.StringIO(ranking.render_csv(reports.full())))
    row = next(row for row in rows if row["label"] == reports.dead().label)
    assert (row["tps"], row["success_rate"], row["precision"]) == ("", "0.0", "")


def test_markdown_tables_are_whole(reports: ModuleType) -> None:
    """Every row of every table has as many cells as its header, whatever the labels contain."""
    blocks = markdown.render(reports.full()).split("\n\n")
    tables = [block.splitlines() for block in blocks if block.startswith("| ")]
    assert [table[0] for table in tables if table[0].startswith(PAGE_HEADER.rstrip(" |"))] == [
        PAGE_HEADER,
        PAGE_HEADER + " toolbench |",
    ]
    for table in tables:
        widths = {line.replace("\\\\", "").replace("\\|", "").count("|") for line in table}
        assert len(widths) == 1, table[0]


def test_markdown_prints_n_measured_of_n_planned(reports: ModuleType) -> None:
    """A figure taken over successes says over how many of how many."""
    text = markdown.render(reports.full())
    dead = next(line for line in text.splitlines() if line.startswith("| totdürr") and "of 10" in line and "40" in line)
    assert dead.count("0 of 10") >= 4
    assert "6 of 6" in text
    assert "2 of 6" in text


def test_markdown_holds_no_html_and_no_link(reports: ModuleType) -> None:
    """Nothing a vendor wrote becomes markup."""
    text = markdown.render(reports.full())
    assert "<" not in text.replace("<0.0001", "")
    assert "](" not in text.replace("\\](", "")
    assert "://" not in text


def test_tied_vendors_share_the_place(reports: ModuleType) -> None:
    """Equal IRFs get the same place and the next one is counted past them; no IRF, no place."""
    model = ModelScore("m", None, tuple(reports.vendor(str(n), irf=irf) for n, irf in enumerate((3.0, 3.0, 1.0, None))))
    assert [sentences.place(vendor, model) for vendor in model.vendors] == [1, 1, 3, None]


def test_first_attempt_rate_uses_the_denominator_of_the_success_rate(reports: ModuleType) -> None:
    """What the success rate leaves out (never sent, not charged) the first-attempt rate leaves out too."""
    vendor = reports.vendor("v", planned=10, measured={"success_rate": 8}, succeeded_first_try=5)
    assert sentences.first_attempt_success_rate(vendor) == 0.625
    assert sentences.first_attempt_success_rate(replace(vendor, measured={"success_rate": 0})) is None


@pytest.mark.parametrize(
    ("asked", "served", "told"),
    [
        ("acme/Model-1", "model-1", False),
        ("model-1", "acme/model-1-20250101", False),
        ("acme/model-1-20250101", "model-1", False),
        ("acme/model-1", "cheap-substitute", True),
        ("acme/model-1", "", True),
    ],
)
def test_another_served_model_is_told(reports: ModuleType, asked: str, served: str, told: bool) -> None:
    """A vendor that answers under another model's name does not do so unseen."""
    line = sentences.served_line(reports.vendor("v", model_id=asked, served_models={served: 3}), Texts(), str)
    assert (line is not None) == told
    assert line is None or line == f"asked for {asked}, answered as {served} 3"


def test_real_scores_render(reports: ModuleType) -> None:
    """What scoring hands over for vendors without a single record goes through every format."""
    entries = [EntryInfo("m", "official", "official", "m-1", None, True), EntryInfo("m", "silent", "acme", "m-1")]
    report = score_run(entries, [], [], repeat=1, run="r", complete=True)
    for form in REPORTS:
        assert ("silent" in form.text(report)) == (form.name != "failed")
    found = strict_json(scores_json.render(report))["models"]["m"]["vendors"]["silent"]
    assert {found[name] for name in (*reports.RANK_METRICS, "irf", "place", "first_attempt_success_rate")} == {None}
