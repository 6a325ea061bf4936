"""README and guides say what is so: commands, flags, files, links and the report excerpt are held against the code."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from vendor_verifier.cli.main import run_app
from vendor_verifier.console.output import TABLE
from vendor_verifier.metrics import METRICS, RANKED

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    *(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")),
]


def test_the_readme_fits_its_limit() -> None:
    """Under 150 lines, so that people read it."""
    assert len(README.splitlines()) < 150


@pytest.mark.parametrize("page", PAGES)
def test_every_relative_link_leads_to_a_file(page: str) -> None:
    """No page points into the void."""
    text = (ROOT / page).read_text(encoding="utf-8")
    targets = re.findall(r"\]\((?!https?:|#)([^)#]+)", text)
    assert [target for target in targets if not ((ROOT / page).parent / target).exists()] == []


def test_every_make_target_of_the_readme_exists() -> None:
    """The two commands of a newcomer are really there."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"make (\w+)", README))
    assert {"demo", "test"} <= targets
    assert [target for target in targets if f"\n{target}:" not in makefile] == []


def test_every_flag_of_the_readme_is_known_to_its_command(capsys: pytest.CaptureFixture[str]) -> None:
    """Flags in examples are the command line's own."""
    known = ""
    for command in ([], ["score"], ["report"], ["import"], ["demo"], ["trend"], ["compare"], ["init"]):
        run_app([*command, "--help-all"])
        known += capsys.readouterr().out
    flags = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", README.replace("uvx --from .", "")))
    assert flags
    assert [flag for flag in flags if not re.search(rf"{flag}\b", known)] == []


def test_the_report_excerpt_has_the_demonstration_s_columns_and_vendors(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the README shows is what the demonstration makes: its columns, and vendors that take part in it."""
    assert run_app(["demo", "-n", "2", "--quiet", "--json", "-o", str(tmp_path / "run")]) == 0
    vendors = json.loads(capsys.readouterr().out)["models"]["simulated-model"]["vendors"]
    report = (tmp_path / "run" / "report.md").read_text(encoding="utf-8")
    assert "<script src" not in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    figures = ("IRF Score", "Success Rate", "F1 Score", "TPS", "Schema Accuracy", "TTFT (ms)", "Avg Token")
    header = f"| {' | '.join(('Vendor', 'Verdict', *figures))} |"
    assert header in README
    assert header in report
    excerpt = README.split(header)[1].split("†")[0]
    shown = [row.split("|")[1].strip() for row in excerpt.splitlines() if row.startswith("| ")]
    assert shown
    assert [label for label in shown if label not in vendors] == []


def test_the_plugin_example_is_a_shipped_vendor() -> None:
    """The nine lines in the README are a real file."""
    example = re.search(r"```python\n(.*?)```", README, re.DOTALL)
    assert example is not None
    assert example[1] == (ROOT / "vendors" / "together.py").read_text(encoding="utf-8")


def test_exit_codes_are_the_documented_ones() -> None:
    """README and help print the same table."""
    table = TABLE.removeprefix("Exit codes: ")
    assert " ".join(table.split()) in " ".join(README.split())


def test_every_rank_metric_has_a_row_in_the_readme() -> None:
    """A metric that ranks is explained where people first look."""
    names = {
        "f1": "F1",
        "success_rate": "Success rate",
        "schema_accuracy": "Schema accuracy",
        "avg_tokens": "Avg token",
        "avg_ttft_ms": "Avg TTFT",
        "tps": "TPS",
    }
    assert RANKED.keys() <= set(names)
    assert METRICS
    assert [title for title in names.values() if f"\n| {title} |" not in README] == []


def test_nothing_in_the_repository_s_requirements_names_an_index() -> None:
    """Constraints hold names and versions only: no index, no host, no download address."""
    text = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert lines
    assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9_.-]+==[\w.+!-]+", line)] == []
