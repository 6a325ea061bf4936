"""Samples: chat-completions requests with an identity by content, and sequences of them that are found by id."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import msgspec

from vendor_verifier.records.request import Turn


class Source(msgspec.Struct, frozen=True):
    """The origin of a sample: dataset name (no path) and 1-based physical line."""

    dataset: str
    line: int


class Sample(msgspec.Struct, frozen=True):
    """One thing to ask every vendor.

    ``id`` is ``<16 hex digits>-<occurrence>``: a digest of the content, and which repetition of it this is, never a
    line number: files with lost or reordered rows still join. ``expected`` is what one suite understands; ``tags`` hold
    category, difficulty and the like and are never sent.
    """

    id: str
    turn: Turn
    expected: Mapping[str, Any] = {}
    tags: Mapping[str, Any] = {}
    source: Source | None = None


def content_digest(turn: Turn) -> str:
    """The digest of (messages, tools, tool_choice): the same question asked with other settings keeps its identity."""
    return digest_of([list(turn.messages), list(turn.tools), turn.parameters.get("tool_choice")])


def digest_of(content: object) -> str:
    """First 16 hex digits of SHA-256 over canonical JSON."""
    return hashlib.sha256(_canonical(content).encode()).hexdigest()[:16]


_canonical = json.JSONEncoder(sort_keys=True, ensure_ascii=True, separators=(",", ":")).encode


def numbered(digest: str, occurrence: int) -> str:
    """The identity of the ``occurrence``-th (1-based) sample with this content digest."""
    return f"{digest}-{occurrence}"


class Samples(tuple[Sample, ...]):
    """Samples in order, which are found by their ids, too; of several with one id the last."""

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The ids in the order of the samples."""
        return tuple(sample.id for sample in self)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {sample_id: place for place, sample_id in enumerate(self.ids)}

    def place_of(self, sample_id: str) -> int | None:
        """The position of the sample with that id, or None."""
        return self._places.get(sample_id)

    def named(self, sample_id: str) -> Sample | None:
        """The sample of that id, or None."""
        place = self.place_of(sample_id)
        return None if place is None else self[place]
