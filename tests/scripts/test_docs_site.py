"""The documentation site: links that leave docs/, and every page in its navigation."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
_SPEC = importlib.util.spec_from_file_location("docs_site", ROOT / "scripts/docs_site.py")
assert _SPEC is not None
assert _SPEC.loader is not None
docs_site = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(docs_site)


def test_links_out_of_docs_lead_to_the_repository_or_are_plain() -> None:
    """Links between pages stay."""
    text = "See [it](../CONTRIBUTING.md#add-a-metric) and [that](metrics.md)."
    assert docs_site.turned(text, "") == "See it (`CONTRIBUTING.md`) and [that](metrics.md)."
    assert docs_site.turned(text, "https://git.example/x/") == (
        "See [it](https://git.example/x/blob/main/CONTRIBUTING.md#add-a-metric) and [that](metrics.md)."
    )


def test_a_link_to_nothing_ends_the_build() -> None:
    """The message names the file."""
    with pytest.raises(FileNotFoundError, match=r"gone\.md"):
        docs_site.turned("[x](../gone.md)", "")


def test_every_page_stands_in_the_navigation() -> None:
    """And no other."""
    site = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))

    def pages(entries: object) -> list[str]:
        if isinstance(entries, str):
            return [entries]
        parts = entries if isinstance(entries, list) else list(entries.values())  # type: ignore[attr-defined]
        return [page for part in parts for page in pages(part)]

    found = pages(site["nav"])
    assert sorted(found) == sorted(path.name for path in (ROOT / "docs").glob("*.md"))
