"""Hooks of the docs site: links that leave docs/ lead to the repository, or are plain text while it has no address.

A link to a file that is not there ends the build.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
_OUTSIDE = re.compile(r"\[([^\]\[]*)\]\(\.\./([^)#\s]+)(#[^)\s]*)?\)")


def on_page_markdown(markdown: str, *, config: Any, **_: Any) -> str:
    """The page with its links out of docs/ turned; called by mkdocs."""
    return turned(markdown, str(config["repo_url"] or ""))


def turned(markdown: str, repository: str) -> str:
    """The same text, its links to files beside docs/ leading to ``repository``, or without a link where that is empty.

    Raises:
        FileNotFoundError: a link leads to nothing.
    """

    def replaced(found: re.Match[str]) -> str:
        words, path, anchor = found[1], found[2], found[3] or ""
        if not (ROOT / path).exists():
            raise FileNotFoundError(f"a page links to {path}, which is not in the repository")
        return f"[{words}]({repository.rstrip('/')}/blob/main/{path}{anchor})" if repository else f"{words} (`{path}`)"

    return _OUTSIDE.sub(replaced, markdown)
