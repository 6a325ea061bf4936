"""Keeps equal tool declarations once: a data set repeats a few sets thousands of times. It changes none of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from vendor_verifier.values.kept import Kept
from vendor_verifier.values.request import Turn

Tools = tuple[Mapping[str, Any], ...]


# Declarations as JSON, bytes; as objects they take five times as much.
MOST_TOOLS_BYTES = 4 * 2**20


class ToolSets:
    """The sets met lately. Nobody may change what was given to it or came from it."""

    def __init__(self) -> None:
        self._known: Kept[bytes, Tools] = Kept(MOST_TOOLS_BYTES)

    def shared(self, turn: Turn) -> Turn:
        """The same turn, its tools those of the first turn that declared the same."""
        if not turn.tools:
            return turn
        try:
            written = msgspec.json.encode(turn.tools)
        except (msgspec.MsgspecError, UnicodeError, OverflowError, TypeError, RecursionError):
            return turn
        known = self._known.get(written)
        if known is None:
            self._known.keep(written, turn.tools, len(written))
            return turn
        # As dataclasses.replace would have it, at a fifth of its cost: every sample of a data set comes here.
        return Turn(turn.messages, known, turn.parameters, turn.stream, turn.thinking, turn.fixed)
