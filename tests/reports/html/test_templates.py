"""Templates are compiled once, and what they compile to is kept where Python keeps compiled modules."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from vendor_verifier.reports.html.page import plain_page
from vendor_verifier.words import Texts

ROOT = Path(__file__).parents[3]
_PROGRAM = """
from jinja2 import Environment
from vendor_verifier.reports.html.page import plain_page
from vendor_verifier.words import Texts

compiled = []
usual = Environment.compile
Environment.compile = lambda *given, **named: compiled.append(given) or usual(*given, **named)
pages = [plain_page("title", [], [], [], Texts()) for _ in range(2)]
assert pages[0] == pages[1]
print(len(compiled))
print(pages[0])
"""


def made(prefix: Path, **environment: str) -> tuple[int, str]:
    """The templates compiled by a process of its own that makes a page twice, and that page."""
    usual = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True,
        env={**usual, "PYTHONPATH": str(ROOT), "PYTHONPYCACHEPREFIX": str(prefix), **environment},
    )  # fmt: skip
    count, _, page = done.stdout.partition("\n")
    return int(count), page.removesuffix("\n")


def test_the_first_page_compiles_each_template_once_and_later_starts_none(tmp_path: Path) -> None:
    """Compiling takes longer than everything else about a page. What was cut off on the disk is compiled anew."""
    first, page = made(tmp_path)
    assert first == len(list(tmp_path.rglob("__jinja2_*"))) > 0
    assert made(tmp_path) == (0, page)
    for kept in tmp_path.rglob("__jinja2_*"):
        kept.write_bytes(kept.read_bytes()[:40])
    assert made(tmp_path) == (first, page)
    assert page == plain_page("title", [], [], [], Texts())


@pytest.mark.parametrize("writes", [False, True])
def test_a_page_is_made_where_nothing_may_be_kept(writes: bool, tmp_path: Path) -> None:
    """Where Python is told to keep nothing none is kept, and where it cannot each start compiles anew."""
    prefix = tmp_path / "kept"
    environment = {}
    if writes:
        prefix.write_text("no folder")
    else:
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
    first, page = made(prefix, **environment)
    assert first > 0
    assert made(prefix, **environment) == (first, page)
    assert list(tmp_path.rglob("__jinja2_*")) == []
