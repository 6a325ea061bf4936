"""What reports say of a load and of goodput."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import jsonschema_rs
import pytest
import sample_reports
from changing import replace
from sample_reports import loaded

from vendor_verifier.records.nested_dict import nested_dict
from vendor_verifier.records.score import Pace, PaceOverTime, Report
from vendor_verifier.reports import markdown, ranking, scores_json, terminal
from vendor_verifier.reports.html import page
from vendor_verifier.reports.run_conditions import load_words
from vendor_verifier.words import Texts

COURSE = PaceOverTime(8.2, (4.9, 5.0, 4.8), (12.0, 12.5, 12.3), (12.0, 12.5, 12.3), None)


def test_the_terminal_tells_load_and_goodput() -> None:
    """Shape, what a vendor was offered, how late we were, and how many requests a second were good."""
    text = "\n".join(terminal.plain_lines(loaded()))
    assert "asked again and again for 60 s" in text
    assert "load: 20 requests a second (poisson) to each vendor for 60 s; thrown away: 5 of warm-up" in text
    assert (
        "1200 requests begun, at most 31 under way, late by 0.51 ms (p50), 12.25 ms (p99), "
        "7 of them found 30 under way; warm-up 5 (2 failed)"
    ) in text
    assert "goodput: requests that keep tps >= 30 and ttft_ms <= 2000" in text
    assert "14.63 good requests/s; 900 of 1200 good (0.7500); 30 failed; 20 not measurable" in text


def test_markdown_has_a_table_of_goodput_and_a_part_about_the_load() -> None:
    """One column for each SLO; a report without either has neither."""
    text = markdown.render(loaded())
    assert "| Vendor | Good/s | Good | Share | Failed | Not measurable |" in text
    assert "| 14.63 | 900 of 1200 | 0.7500 | 30 | 20 | 1000 | 950 |" in text
    assert "### Load" in text
    plain = markdown.render(sample_reports.full())
    assert "Goodput" not in plain
    assert "### Load" not in plain


def test_the_page_tells_both() -> None:
    """Load and goodput stand among a vendor's facts, the shape at the top."""
    text = page.render(loaded())
    assert "900 of 1200 good (0.7500), 14.63 a second" in text
    assert "20 requests a second to each vendor (Poisson)" in text


def test_data_formats_hold_goodput_only_where_there_are_slos() -> None:
    """scores.json and ranking.csv grow a part, which the schema knows."""
    document = json.loads(scores_json.render(loaded()))
    jsonschema_rs.validator_for(scores_json.scores_schema()).validate(document)
    told = [
        vendor["goodput"]
        for model in document["models"].values()
        for vendor in model["vendors"].values()
        if "goodput" in vendor
    ]
    assert told[0]["per_s"] == 14.634
    assert told[1]["per_s"] is None
    rows = list(csv.DictReader(io.StringIO(ranking.render_csv(loaded()))))
    assert {row["goodput_per_s"] for row in rows} == {"14.634", ""}
    assert "goodput_per_s" not in ranking.render_csv(sample_reports.full())


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        (
            {"schedule": {"count": 9, "last_s": 2.5}, "arrival": "constant"},
            "a replayed schedule of 9 requests in 2.5 s",
        ),
        (
            {"request_rate": None, "ramp_up_s": 3.0, "warmup": 4},
            "a fixed number of requests at a time, growing over 3 s; thrown away: 4 of warm-up",
        ),
    ],
)
def test_every_shape_has_words(shape: dict[str, Any], words: str) -> None:
    """A schedule and a closed loop read as sentences too."""
    assert load_words(shape, Texts()) == words


def paced() -> Report:
    """The full report with a pace of the first vendor, and of the second one under a rate."""
    report = sample_reports.full()
    model = report.models[0]
    first, second, *others = model.vendors
    paces = (Pace(4.961, 12.34, 24.5, 5, 12.5, 840.2, 6, COURSE), Pace(17.2, 20.1, 60.0))
    vendors = (replace(first, pace=paces[0]), replace(second, pace=paces[1]), *others)
    return replace(report, models=(replace(model, vendors=vendors), *report.models[1:]))


def test_every_report_tells_how_many_were_in_flight() -> None:
    """Mean in flight, what was asked for if anything was, and answers a second: screen, Markdown, page and data."""
    report = paced()
    for text in ("\n".join(terminal.plain_lines(report)), markdown.render(report)):
        assert "4.961 of 5, 12.34 answers/s" in text
        assert " 17.2, 20.1 answers/s" in text
    assert "4.961 of 5 on average, 12.34 answers a second" in page.render(report)
    document = json.loads(scores_json.render(report))
    jsonschema_rs.validator_for(scores_json.scores_schema()).validate(document)
    model = report.models[0]
    told = document["models"][model.model]["vendors"][model.vendors[0].label]["pace"]
    figures = {"in_flight": 4.961, "answers_per_s": 12.34, "seconds": 24.5, "places": 5}
    figures |= {"requests_per_s": 12.5, "tokens_per_s": 840.2, "peak_in_flight": 6}
    assert told == {**figures, "over_time": json.loads(json.dumps(nested_dict(COURSE)))}
    for text in ("\n".join(terminal.plain_lines(report)), markdown.render(report)):
        assert "12.34 answers/s, 12.5 requests/s, 840.2 tokens/s, peak 6" in text
    shown = page.render(report)
    assert "12.5 requests begun a second, 840.2 output tokens a second, 6 at most at one moment" in shown
    assert f"Load over the run: {model.vendors[0].label}" in shown
    assert f"Load over the run: {model.vendors[1].label}" not in shown
