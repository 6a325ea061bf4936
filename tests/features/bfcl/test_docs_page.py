"""The page docs/bfcl.md says what the code does."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from vendor_verifier.cli.main import run_app
from vendor_verifier.suites.bfcl.categories import GROUPS, SINGLE_TURN, canonical
from vendor_verifier.suites.bfcl.custom_rows import read_custom
from vendor_verifier.suites.bfcl.job import read_job

PAGE = (Path(__file__).parents[3] / "docs" / "bfcl.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_the_pages_custom_row_is_read() -> None:
    """The page's job and its row are each one line of JSON that the readers take."""
    job, block = blocks("json")
    assert [task.name for task in read_job(json.loads(job)).tasks] == ["task1", "task2"]
    assert json.loads(block)
    loaded = read_custom([block.encode()], dataset="page", file=Path("page"), infer_tools=True)
    assert [call["name"] for call in loaded.samples[0].expected["calls"]] == ["book_table"]


def test_the_page_names_every_category_and_only_real_ones() -> None:
    """Each single-turn category and each group the page mentions exists."""
    table = PAGE.split("| category", 1)[1].split("\n\n", 1)[0]
    named = set(re.findall(r"`([a-z_]+)`", table)) - {"bfcl_eval", "nvidia_bfcl", "mpmath"}
    plain = {name for name in named if not name.startswith("_")}
    assert set(SINGLE_TURN) <= {canonical(name) for name in plain}
    groups = PAGE.split("Groups: ", 1)[1].split(" and more", 1)[0]
    assert set(re.findall(r"`([a-z_*]+)`", groups)) <= set(GROUPS)


def test_every_flag_of_the_page_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    """Flags in the page's examples are the command line's own."""
    assert run_app(["--help"]) == run_app(["bfcl", "--help"]) == 0
    known = capsys.readouterr().out
    flags = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", PAGE)) - {"--no-deps"}
    assert flags >= {"--bfcl-data", "--bfcl-category", "--bfcl-version", "--limit-per-category", "--job"}
    assert [flag for flag in flags if not re.search(rf"{flag}\b", known)] == []
