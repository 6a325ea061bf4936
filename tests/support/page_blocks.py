"""The code blocks of the pages, as a Markdown parser finds them, and the command lines in them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = "agent-vendor-verifier"
PAGES = (
    "README.md",
    "CONTRIBUTING.md",
    # docs/reference.md is written when the site is built.
    *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md") if path.name != "reference.md"),
)
# What is typed, at the beginning of a line of a block without a language.
_TYPED = re.compile(
    r"(agent-vendor-verifier|make|cp|pip|pipx|uvx|sudo|docker|kubectl|journalctl|chmod|export|openssl|dask)\b"
)
_SHELLS = ("sh", "bash")


@dataclass(frozen=True, slots=True)
class Block:
    """One block of a page: where it begins, the word behind its fence ("" where it is only indented), its text."""

    page: str
    line: int
    info: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def kind(self) -> str:
        """The language; of a block without one ``sh`` where it is typed, else ``text``."""
        if self.info:
            kind = self.info.split()[0]
            return "sh" if kind in _SHELLS else kind
        return "sh" if _TYPED.match(self.text) else "text"

    def lines(self) -> Iterator[str]:
        """The commands of a shell's block, each on one line, without comments."""
        for line in self.text.replace("\\\n", " ").splitlines():
            if words := shlex.split(line, comments=True):
                yield shlex.join(words) if "$" not in line and ">" not in line else line.strip()


@cache
def blocks() -> tuple[Block, ...]:
    return tuple(block for page in PAGES for block in _of(page))


def _of(page: str) -> Iterator[Block]:
    parser = MarkdownIt("commonmark").enable("table")
    for token in parser.parse((ROOT / page).read_text(encoding="utf-8")):
        if token.type in ("fence", "code_block"):
            assert token.map is not None
            yield Block(page, token.map[0] + 1, token.info.strip(), token.content)


def of_kind(*kinds: str) -> list[Block]:
    return [block for block in blocks() if block.kind in kinds]
