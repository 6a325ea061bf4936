"""A sample: one chat-completions request body with an identity; it knows nothing of vendors or files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from vendor_verifier.values.kept import Kept
from vendor_verifier.values.request import Turn

# Characters of canonical JSON of tool declarations, of which a data set repeats a few sets thousands of times.
_MOST_TOOLS = 4 * 2**20
_CANONICAL = json.JSONEncoder(sort_keys=True, ensure_ascii=True, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Source:
    """Where a sample came from: dataset name (no path) and 1-based physical line."""

    dataset: str
    line: int


@dataclass(frozen=True, slots=True)
class Sample:
    """One thing to ask every vendor.

    ``id`` is ``<16 hex digits>-<occurrence>``: a digest of the content plus which repetition of the same content this
    is (1 = first), never a line number, so files with lost or reordered rows still join.
    ``expected`` is what one suite understands; ``tags`` hold category, difficulty and the like and are never sent.
    """

    id: str
    turn: Turn
    expected: Mapping[str, Any] = field(default_factory=dict)
    tags: Mapping[str, Any] = field(default_factory=dict)
    source: Source | None = None


def content_digest(turn: Turn) -> str:
    """First 16 hex digits of SHA-256 over canonical JSON of (messages, tools, tool_choice).

    Temperature, limits and everything else a vendor entry may override stay out, so that the same question asked with
    other settings keeps its identity.
    """
    return Digests().of(turn)


class Digests:
    """Content digests of many turns. Tools that are the same object in several are written once: change none."""

    def __init__(self) -> None:
        self._written: Kept[int, tuple[object, str]] = Kept(_MOST_TOOLS)

    def of(self, turn: Turn) -> str:
        """As :func:`content_digest`."""
        messages, choice = map(_CANONICAL.encode, (list(turn.messages), turn.parameters.get("tool_choice")))
        content = f"[{messages},{self._tools(turn)},{choice}]"
        return hashlib.sha256(content.encode()).hexdigest()[:16]

    def _tools(self, turn: Turn) -> str:
        known = self._written.get(id(turn.tools))
        if known is None:
            # Kept with the object, whose identity is then nobody else's.
            known = (turn.tools, _CANONICAL.encode(list(turn.tools)))
            self._written.keep(id(turn.tools), known, len(known[1]))
        return known[1]


def numbered(digest: str, occurrence: int) -> str:
    """The identity of the ``occurrence``-th (1-based) sample with this content digest."""
    return f"{digest}-{occurrence}"
