"""docs/load.md says what the code does: what it names exists."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "load.md").read_text(encoding="utf-8")


def test_every_flag_of_the_page_exists() -> None:
    """A flag that was renamed cannot stay on the page."""
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", PAGE))
    assert "--request-rate" in named
    known = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert [flag for flag in sorted(named) if f"{flag}" not in known] == []
