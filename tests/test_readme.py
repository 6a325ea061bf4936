"""README and guides say what is so: commands, flags, files, links and the report excerpt are held against the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    *(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")),
]


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


def test_the_plugin_example_is_a_shipped_vendor() -> None:
    """The nine lines in the README are a real file."""
    example = re.search(r"```python\n(.*?)```", README, re.DOTALL)
    assert example is not None
    assert example[1] == (ROOT / "vendors" / "together.py").read_text(encoding="utf-8")


def test_nothing_in_the_repository_s_requirements_names_an_index() -> None:
    """Constraints hold names and versions only: no index, no host, no download address."""
    text = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert lines
    assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9_.-]+==[\w.+!-]+", line)] == []
