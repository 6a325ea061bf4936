"""docs/coverage.md, the ledger of the pages' statements, is whole, and every row is held by a test that exists."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [
    tomllib.loads(path.read_text(encoding="utf-8")) for path in sorted((ROOT / "docs" / "coverage").glob("*.toml"))
]
ROWS: list[dict[str, Any]] = [row for page in PAGES for row in page.get("row", ())]
KEYS = {"number", "statement", "ours", "status", "reason", "test"}


def named_by(row: dict[str, Any]) -> list[str]:
    """The tests that a row names."""
    named = row["test"]
    return [named] if isinstance(named, str) else list(named)


def test_the_pages_have_every_statement_once() -> None:
    """Each page's rows, and those it still owes, are its numbers; together they are 1 to 110."""
    for page in PAGES:
        there = [row["number"] for row in page.get("row", ())]
        assert sorted([*there, *page.get("still_open", ())]) == list(range(page["first"], page["last"] + 1))
    assert sum(page["last"] - page["first"] + 1 for page in PAGES) == 110


@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row["number"]))
def test_a_row_is_judged_and_tested(row: dict[str, Any]) -> None:
    """It says same, better or differs, why it differs where it does, and names tests that are there."""
    assert set(row) <= KEYS
    assert row["statement"]
    assert row["ours"]
    assert row["status"] in ("same", "better", "differs")
    assert bool(row.get("reason")) == (row["status"] == "differs")
    for name in named_by(row):
        file, _, function = name.partition("::")
        assert f"def {function}(" in (ROOT / file).read_text(encoding="utf-8"), name
    assert named_by(row)
