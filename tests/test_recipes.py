"""The recipes of CONTRIBUTING, each done in a copy of the package: a change goes to the place that the recipe names."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SHIPPED = ("vendor_verifier", "vendors", "datasets", "scripts", "config_example.yaml", "config_simulated.yaml")
pytestmark = pytest.mark.slow  # each copies the package and runs it
DEMO = "from vendor_verifier.cli.main import run_app; assert run_app([{words}]) == 0"
RUN = (
    '"run", "-c", "config_simulated.yaml", "--model", "simulated-model", "--vendor", "reseller-a", "-n", "3", "-q", '
    '"-o", "r", "--history", "none"'
)


class Copy:
    """A copy of the package; ``insert`` puts text before a line of a file, ``run`` runs a program in the copy."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in SHIPPED:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(ROOT / name, folder)

    def write(self, file: str, text: str) -> None:
        (self.folder / file).write_text(text, encoding="utf-8")

    def insert(self, file: str, text: str, before: str) -> None:
        whole = (self.folder / file).read_text(encoding="utf-8")
        assert before in whole, f"{file} has no {before!r} any more: the recipe has moved"
        self.write(file, whole.replace(before, text + before, 1))

    def run(self, code: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=self.folder, capture_output=True, text=True, check=False,
            env={"PYTHONPATH": str(self.folder), "HOME": str(self.folder)},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    return Copy(tmp_path)


def test_a_metric_is_a_row_and_a_formula(copy: Copy) -> None:
    copy.insert(
        "vendor_verifier/scoring/metrics.py",
        '    Metric("tea_ms", "Tea", "ms", "lower", "half of TTFT", "time"),\n',
        '    Metric("irf"',
    )
    copy.insert(
        "vendor_verifier/scoring/metrics.py",
        '    "tea_ms": (lambda rows: rows["ttft_ms"] / 2, "ttft_ms"),\n',
        '    "ttft_ms": (',
    )
    copy.run(DEMO.format(words=f'{RUN}, "--gate", "tea_ms <= 60000"'))
    assert '"text": "tea_ms <= 60000"' in (copy.folder / "r" / "scores.json").read_text(encoding="utf-8")


def test_a_report_column_is_one_line(copy: Copy) -> None:
    copy.insert(
        "vendor_verifier/reports/tables.py",
        '    Column("recorded", "Cups of Tea", formats.count),\n',
        '    Column("irf", "IRF Score"',
    )
    copy.run(DEMO.format(words=RUN))
    for report in ("report.md", "report.html"):
        assert "Cups of Tea" in (copy.folder / "r" / report).read_text(encoding="utf-8")


def test_a_failure_kind_is_one_row(copy: Copy) -> None:
    copy.insert(
        "vendor_verifier/records/failures.py",
        '    Kind("tea_break", "headers", "The vendor is at tea.", "Wait until five.", retried="once",\n'
        '         charge="rate_limit", statuses=(418,), pauses=True, declines=True),\n',
        ")  # fmt: skip",
    )
    page = copy.run("import runpy; runpy.run_path('scripts/docs_site.py', run_name='__main__')")
    assert "| `tea_break` | The vendor is at tea. | Wait until five. | once | the rate limit |" in page


def test_an_evaluation_is_a_file_and_a_line(copy: Copy) -> None:
    copy.write(
        "vendor_verifier/suites/tea.py",
        """
from dataclasses import dataclass
from functools import partial

from vendor_verifier.records.request import Turn
from vendor_verifier.records.sample import Sample
from vendor_verifier.records.record import Score


@dataclass(frozen=True, slots=True)
class TeaSuite:
    name: str = "tea"
    cups: int = 1

    def play(self, sample):
        attempt = yield sample.turn
        return partial(Score, self.name, values={"served": float(attempt.succeeded)})


def tea_samples():
    return (Sample("tea-1", Turn(({"role": "user", "content": "Tea?"},))),)
""",
    )
    copy.insert(
        "vendor_verifier/suites/__init__.py",
        '    SuiteKind("tea", "tea:TeaSuite", "tea:tea_samples", "served"),\n',
        '    SuiteKind("contract"',
    )
    copy.run(DEMO.format(words=f'{RUN}, "--suite", "tea", "--set", "tea.cups=2"'))
    assert '"served": 1.0' in (copy.folder / "r" / "scores.json").read_text(encoding="utf-8")


def test_a_data_format_is_a_file_and_a_name(copy: Copy) -> None:
    copy.write(
        "vendor_verifier/loaders/tea.py",
        """
from vendor_verifier.loaders.base import Loader
from vendor_verifier.loaders.building import read_question

FORMATS = (
    Loader("tea", lambda row: read_question({"messages": [{"role": "user", "content": row["cup"]}]}),
           lambda row: "cup" in row, "cup"),
)
""",
    )
    copy.insert("vendor_verifier/loaders/__init__.py", 'FILES = ("tea", ', '("tool_rows"')
    file = copy.folder / "vendor_verifier" / "loaders" / "__init__.py"
    file.write_text(file.read_text().replace('FILES = FILES = ("tea", (', 'FILES = ("tea", '), encoding="utf-8")
    copy.write("cups.jsonl", '{"cup": "Earl Grey?"}\n')
    copy.run(DEMO.format(words=f'{RUN}, "--test-file-path", "cups.jsonl"'))
    assert "Earl Grey?" in (copy.folder / "r" / "samples" / "trigger.jsonl").read_text(encoding="utf-8")


def test_an_option_is_one_field(copy: Copy) -> None:
    copy.insert(
        "vendor_verifier/config/run_config.py",
        '    sugar: Annotated[int, option("Lumps of sugar.", PACE), Field(ge=0)] = 0\n',
        "    retries: Annotated[int",
    )
    assert "Lumps of sugar." in copy.run(DEMO.format(words='"run", "--help"'))
    copy.run(DEMO.format(words=f'{RUN}, "--set", "run.sugar=2"'))
    assert '"sugar": 2' in (copy.folder / "r" / "manifest.json").read_text(encoding="utf-8")
