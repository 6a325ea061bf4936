"""docs/load.md says what the code does: its Python runs, and what it names exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "load.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("code", BLOCKS)
def test_the_pages_python_runs(code: str) -> None:
    """Every block stands on its own and its assertions hold."""
    exec(compile(code, "docs/load.md", "exec"), {})


def test_the_page_has_python() -> None:
    """So that the test above cannot pass by finding nothing."""
    assert len(BLOCKS) == 3


def test_every_flag_of_the_page_exists() -> None:
    """A flag that was renamed cannot stay on the page."""
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", PAGE))
    assert "--request-rate" in named
    known = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert [flag for flag in sorted(named) if f"{flag}" not in known] == []
