"""Commands over a stored run: scores with other options, and every format."""

from __future__ import annotations

import csv
import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import jsonschema_rs
import pytest
from page_reading import read_page

from vendor_verifier.cli.main import run_app
from vendor_verifier.reports import FORMATS
from vendor_verifier.reports.scores_json import scores_schema


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten simulated vendors, ten samples."""
    folder = tmp_path_factory.mktemp("demo") / "run"
    assert run_app(["demo", "-n", "10", "-q", "-o", str(folder)]) == 0
    return folder


@pytest.mark.slow  # renders the page
def test_every_format_can_be_read_as_what_it_is(demo: Path, tmp_path: Path) -> None:
    """Each is parsed by a reader of its format and names every vendor."""
    [model] = json.loads((demo / "scores.json").read_text())["models"].values()
    labels = set(model["vendors"])
    assert run_app(["report", str(demo), "--format", ",".join(FORMATS), "-o", str(tmp_path / "out")]) == 0
    texts = {path.name: path.read_text() for path in (tmp_path / "out").iterdir()}
    assert set(texts) == set(FORMATS.values())
    jsonschema_rs.validate(scores_schema(), json.loads(texts["scores.json"]))
    assert {row["label"] for row in csv.DictReader(texts["ranking.csv"].splitlines())} == labels
    assert read_page(texts["report.html"]).faults == []
    assert len(texts["report.html"].encode()) <= 200_000
    assert list(ElementTree.fromstring(texts["junit.xml"]).iter("testcase"))
    assert texts["metrics.prom"].endswith("# EOF\n")
    assert run_app(["report", str(demo), "--format", "md", "-o", str(tmp_path / "page.md")]) == 0
    assert (tmp_path / "page.md").read_text() == texts["report.md"]
    assert [(name, label) for name, text in texts.items() for label in labels if label not in text] == []
