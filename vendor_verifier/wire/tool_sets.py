"""Keeps equal tool declarations once: a data set repeats a few sets thousands of times. It changes none of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec

from vendor_verifier.values.request import Turn

Tools = tuple[Mapping[str, Any], ...]


class ToolSets:
    """The sets met so far. Nobody may change what was given to it or came from it."""

    def __init__(self) -> None:
        self._known: dict[bytes, Tools] = {}

    def shared(self, turn: Turn) -> Turn:
        """The same turn, its tools those of the first turn that declared the same."""
        if not turn.tools:
            return turn
        try:
            known = self._known.setdefault(msgspec.json.encode(turn.tools), turn.tools)
        except (msgspec.MsgspecError, UnicodeError, OverflowError, TypeError, RecursionError):
            return turn
        return turn if known is turn.tools else replace(turn, tools=known)
