"""The recipes of CONTRIBUTING, done in one copy of the package: a change goes to the place that the recipe names."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = "vendor_verifier"
SHIPPED = (PACKAGE, "vendors", "datasets", "scripts", "config_example.yaml", "config_simulated.yaml")
# File, the new text, and the line of the file before which it goes.
INSERTED = (
    # A metric is a row and a formula.
    ("scoring/metrics.py", '    Metric("tea_ms", "Tea", "ms", "lower", "half of TTFT", "time"),\n', '    Metric("irf"'),
    ("scoring/metrics.py", '    "tea_ms": (lambda rows: rows["ttft_ms"] / 2, "ttft_ms"),\n', '    "ttft_ms": ('),
    # A column of the reports is a line.
    ("reports/tables.py", '    Column("recorded", "Cups", formats.quantity),\n', '    Column("irf", "IRF Score"'),
    # A kind of failure is a row.
    (
        "records/failures.py",
        '    Kind("tea_break", "headers", "The vendor is at tea.", "Wait until five.", retried="once",\n'
        '         charge="rate_limit", statuses=(418,), pauses=True, declines=True),\n',
        ")  # fmt: skip",
    ),
    # An evaluation is a file and a line.
    (
        "suites/__init__.py",
        '    SuiteKind("tea", "suites.tea:TeaSuite", "suites.tea:tea_samples", "served"),\n',
        '    SuiteKind("bfcl"',
    ),
    # A format of data sets is a file and a name.
    ("loaders/__init__.py", '"tea", ', '"tool_rows"'),
    # An option of a run is a field.
    (
        "config/run_config.py",
        '    sugar: Annotated[int, option("Lumps of sugar.", PACE), Field(ge=0)] = 0\n',
        "    retries: Annotated[int",
    ),
)
WRITTEN = {
    f"{PACKAGE}/suites/tea.py": """
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
    f"{PACKAGE}/loaders/tea.py": """
from vendor_verifier.loaders.base import Loader
from vendor_verifier.loaders.building import read_question

FORMATS = (
    Loader("tea", lambda row: read_question({"messages": [{"role": "user", "content": row["cup"]}]}),
           lambda row: "cup" in row, "cup"),
)
""",
    "cups.jsonl": '{"cup": "Earl Grey?"}\n',
}
RUN = (
    "-c config_simulated.yaml --model simulated-model --vendor reseller-a -n 3 -q -o r --history none "
    "--suite trigger --test-file-path cups.jsonl --suite tea --set tea.cups=2 --set run.sugar=2 --gate tea_ms<=60000"
)
# What is then in which file of the run.
FOUND = {
    "scores.json": ('"tea_ms', '"served": 1.0'),
    "manifest.json": ('"sugar": 2', '"cups": '),
    "samples/trigger.jsonl": ("Earl Grey?",),
    "report.md": ("Cups",),
    "report.html": ("Cups",),
}


def typed(folder: Path, *words: str) -> str:
    environ = {"PYTHONPATH": str(folder), "HOME": str(folder)}
    done = subprocess.run(
        [sys.executable, *words], cwd=folder, env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow  # copies the package and runs it
def test_every_recipe_works(tmp_path: Path) -> None:
    """Each is seen where a user would look: gate, pages, samples, help, manifest and reference."""
    for name in SHIPPED:
        copied = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copied(ROOT / name, tmp_path / name)
    for name, text in WRITTEN.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    for name, text, before in INSERTED:
        file = tmp_path / PACKAGE / name
        whole = file.read_text(encoding="utf-8")
        assert before in whole, f"{name} has no {before!r} any more: the recipe has moved"
        file.write_text(whole.replace(before, text + before, 1), encoding="utf-8")
    typed(tmp_path, "-m", PACKAGE, *RUN.split())
    for name, words in FOUND.items():
        text = (tmp_path / "r" / name).read_text(encoding="utf-8")
        assert [each for each in words if each not in text] == [], name
    assert "Lumps of sugar." in typed(tmp_path, "-m", PACKAGE, "run", "--help")
    row = "| `tea_break` | The vendor is at tea. | Wait until five. | once | the rate limit |"
    assert row in typed(tmp_path, "scripts/docs_site.py")
