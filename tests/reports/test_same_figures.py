"""One figure has one name and one value wherever a program reads it; OpenMetrics alone has names of its own."""

from __future__ import annotations

import csv
import io
import json
import re
from xml.etree import ElementTree as ET

import pytest
import synthetic_run

from vendor_verifier.features.history.figures import history_run
from vendor_verifier.records.score import Report
from vendor_verifier.reports import ci, openmetrics, ranking, scores_json
from vendor_verifier.scoring.irf import RANK_METRICS

# Base units, and the unit at the end of the name, are that format's rules.
OPENMETRICS = {
    "f1": ("f1_ratio", 1),
    "success_rate": ("success_ratio", 1),
    "schema_accuracy": ("schema_accuracy_ratio", 1),
    "avg_tokens": ("request_tokens", 1),
    "avg_ttft_ms": ("ttft_mean_seconds", 1e-3),
    "tps": ("decoding_tokens_per_second", 1),
}
Figures = dict[tuple[str, str], float]


@pytest.fixture(scope="module")
def judged() -> Report:
    """Ten vendors and their figures."""
    return synthetic_run.report(200)


def from_scores(report: Report) -> Figures:
    """(label, metric) → value in scores.json."""
    vendors = json.loads(scores_json.render(report))["models"][synthetic_run.MODEL]["vendors"]
    return {(label, name): each[name] for label, each in vendors.items() for name in RANK_METRICS if each[name]}


def from_csv(report: Report) -> Figures:
    rows = csv.DictReader(io.StringIO(ranking.render_csv(report)))
    return {(row["label"], name): float(row[name]) for row in rows for name in RANK_METRICS if row[name]}


def from_junit(report: Report) -> Figures:
    root = ET.fromstring(ci.render_junit(report))
    return {
        (str(suite.get("name")).removeprefix(f"{synthetic_run.MODEL} / "), str(each.get("name"))): float(
            str(each.get("value"))
        )
        for suite in root
        for each in suite.iter("property")
        if each.get("name") in RANK_METRICS
    }


def from_history(report: Report) -> Figures:
    entries = history_run(report, "folder").entries
    return {
        (each.label, name): each.figures[name][0] for each in entries for name in RANK_METRICS if name in each.figures
    }


def from_openmetrics(report: Report) -> Figures:
    found = {}
    for name, (family, scale) in OPENMETRICS.items():
        pattern = rf'^agent_vendor_verifier_{family}\{{.*vendor="([^"]+)"\}} (\S+)$'
        for label, value in re.findall(pattern, openmetrics.render(report), re.MULTILINE):
            found[label, name] = float(value) / scale
    return found


def test_every_format_for_programs_tells_the_same_figures_under_the_same_names(judged: Report) -> None:
    """scores.json, CSV and JUnit agree on all; history and OpenMetrics leave out the baseline's F1 with itself only."""
    stated = from_scores(judged)
    assert len(stated) > 40
    assert from_csv(judged) == pytest.approx(stated)
    assert from_junit(judged) == pytest.approx(stated)
    baselines = {vendor.label for vendor in judged.models[0].vendors if vendor.is_baseline}
    measured = {key: value for key, value in stated.items() if not (key[0] in baselines and key[1] == "f1")}
    assert from_history(judged) == pytest.approx(measured)
    assert from_openmetrics(judged) == pytest.approx(measured)
