"""The colours of the terminal, each by what it means. Words and signs say the same, so nobody needs to see them.

Nothing else in the package names a colour of the terminal; ``NO_COLOR`` and pipes are rich's business.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Meaning = Literal["good", "doubtful", "bad", "unusable", "unknown", "hint", "aside", "title"]

COLOURS: Mapping[Meaning, str] = {
    "good": "green",
    "doubtful": "yellow",
    "bad": "red",
    "unusable": "bold red",
    "unknown": "dim",
    "hint": "cyan",
    "aside": "dim",
    "title": "bold",
}
