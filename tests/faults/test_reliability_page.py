"""The page of promises names tests that exist, and every row of the matrix."""

from __future__ import annotations

import re
from pathlib import Path

from matrix import ROWS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")


def test_every_test_named_on_the_page_exists() -> None:
    """A promise without its test is none."""
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", PAGE)
    assert len(named) > 80
    for file, test in named:
        source = (ROOT / file).read_text(encoding="utf-8") if (ROOT / file).exists() else None
        assert source is not None, file
        assert not test or re.search(rf"^(async )?def {test}\(", source, re.MULTILINE), f"{file}::{test}"


def test_rows_of_the_page_are_rows_of_the_matrix() -> None:
    """The page maps every row of the matrix, and none that there is not."""
    tables = "\n".join(line for line in PAGE.splitlines() if line.startswith("| "))
    quoted = set(re.findall(r'"([^"]+)"', tables)) - {"n/a"}
    assert quoted == {row.name for row in ROWS}


def test_the_seven_promises_are_there() -> None:
    """Each invariant stands on the page with at least one test."""
    for number in range(1, 8):
        (line,) = [line for line in PAGE.splitlines() if line.startswith(f"| {number}. ")]
        assert "`tests/" in line


def test_make_targets_of_the_page_exist() -> None:
    """What the page tells to run can be run."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in set(re.findall(r"`make (\w+)`", PAGE)):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
