"""Every format of the demo's run and of three real result files: each readable as what it claims to be."""

from __future__ import annotations

import csv
import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import jsonschema_rs
import pytest
from page_reading import read_page

from vendor_verifier.cli.main import run_app
from vendor_verifier.reports import FORMATS, REPORTS
from vendor_verifier.reports.scores_json import scores_schema

REAL = Path(__file__).parents[2].parent / "shared" / "data" / "llmvv"
FILES = {
    "official": "results-deepseek-official-deepseek-v3.2-exp.jsonl.gz",
    "novita": "results-openrouter-novita-deepseek-v3.2-exp.jsonl.gz",
    "ppio": "results-ppio-deepseek-v3.2-exp.jsonl.gz",
}


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten simulated vendors, ten samples."""
    folder = tmp_path_factory.mktemp("demo") / "run"
    assert run_app(["demo", "-n", "10", "-q", "-o", str(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What three vendors answered to 2,000 samples, imported."""
    if not REAL.is_dir():
        pytest.skip("needs the published result files of three vendors in ../shared/data/llmvv, which are not here")
    folder = tmp_path_factory.mktemp("real") / "run"
    named = [f"{label}={REAL / name}" for label, name in FILES.items()]
    command = ["import", *named[1:], "--baseline", named[0], "--model", "deepseek-v3.2-exp", "-o", str(folder)]
    assert run_app([*command, "--test-file-path", str(REAL / "samples.jsonl"), "--no-history"]) == 0
    return folder


def _is_what_it_claims(folder: Path, labels: set[str]) -> None:
    """Every file there, each parsed by a reader of its format, each naming every vendor."""
    assert {path.name for path in folder.iterdir()} == set(REPORTS)
    texts = {path.name: path.read_text() for path in folder.iterdir()}
    scores = json.loads(texts["scores.json"])
    jsonschema_rs.validate(scores_schema(), scores)
    [model] = scores["models"].values()
    assert set(model["vendors"]) == labels
    assert {row["label"] for row in csv.DictReader(texts["ranking.csv"].splitlines())} == labels
    assert read_page(texts["report.html"]).faults == []
    assert len(texts["report.html"].encode()) <= 200_000
    cases = ElementTree.fromstring(texts["junit.xml"]).iter("testcase")
    assert sum(1 for _ in cases) > 0
    assert texts["metrics.prom"].endswith("# EOF\n")
    for name, text in texts.items():
        assert [label for label in labels if label not in text] == [], name


def _render(run: Path, into: Path) -> None:
    assert run_app(["report", str(run), "--format", ",".join(FORMATS), "-o", str(into)]) == 0


@pytest.mark.slow  # whole runs
def test_every_format_of_the_demo(demo: Path, tmp_path: Path) -> None:
    """A run of our own, with times, failures, gates and findings."""
    _render(demo, tmp_path / "out")
    [model] = json.loads((demo / "scores.json").read_text())["models"].values()
    _is_what_it_claims(tmp_path / "out", set(model["vendors"]))


@pytest.mark.slow  # whole runs
def test_every_format_of_real_result_files(real: Path, tmp_path: Path) -> None:
    """Results of others, without first tokens: what was not measured is missing and breaks no format."""
    _render(real, tmp_path / "out")
    _is_what_it_claims(tmp_path / "out", set(FILES))


@pytest.mark.slow  # whole runs
def test_the_terminal_names_every_vendor(demo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The eighth form writes no file."""
    assert run_app(["report", str(demo)]) == 0
    told = capsys.readouterr().out
    assert all(label in told for label in ("official", "substitute"))
