"""Samples: chat-completions requests with an identity by content, and sequences of them that are found by id."""

from __future__ import annotations

import hashlib
import json
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, overload

import msgspec

from vendor_verifier.records.request import Turn


class Source(msgspec.Struct, frozen=True):
    """The origin of a sample: dataset name (no path) and 1-based physical line."""

    dataset: str
    line: int


class Sample(msgspec.Struct, frozen=True):
    """One thing to ask every vendor.

    ``id`` is ``<16 hex digits>-<occurrence>``: a digest of the content plus which repetition of the same content this
    is (1 = first), never a line number, so files with lost or reordered rows still join.
    ``expected`` is what one suite understands; ``tags`` hold category, difficulty and the like and are never sent.
    """

    id: str
    turn: Turn
    expected: Mapping[str, Any] = {}
    tags: Mapping[str, Any] = {}
    source: Source | None = None


def content_digest(turn: Turn) -> str:
    """First 16 hex digits of SHA-256 over canonical JSON of (messages, tools, tool_choice).

    Temperature, limits and everything else a vendor entry may override stay out, so that the same question asked with
    other settings keeps its identity.
    """
    content = [list(turn.messages), list(turn.tools), turn.parameters.get("tool_choice")]
    return hashlib.sha256(_canonical(content).encode()).hexdigest()[:16]


_canonical = json.JSONEncoder(sort_keys=True, ensure_ascii=True, separators=(",", ":")).encode


def numbered(digest: str, occurrence: int) -> str:
    """The identity of the ``occurrence``-th (1-based) sample with this content digest."""
    return f"{digest}-{occurrence}"


class Samples(Sequence[Sample]):
    """A sequence of samples whose ids are known without the samples, which may have to be made first."""

    @property
    @abstractmethod
    def ids(self) -> Sequence[str]:
        """The ids in the order of the samples."""

    @abstractmethod
    def at(self, place: int) -> Sample:
        """The sample at a position from 0 on."""

    @overload
    def __getitem__(self, place: int) -> Sample: ...

    @overload
    def __getitem__(self, place: slice) -> Samples: ...

    def __getitem__(self, place: int | slice) -> Sample | Samples:
        if isinstance(place, slice):
            return ChosenSamples(self, range(len(self))[place])
        return self.at(range(len(self))[place])

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[Sample]:
        return map(self.at, range(len(self)))

    def place_of(self, sample_id: str) -> int | None:
        """The position of the sample with that id, the last one if there are several; ``None`` if there is none."""
        return self._places.get(sample_id)

    def named(self, sample_id: str) -> Sample | None:
        """The sample of that id, the last one if there are several; ``None`` if there is none."""
        place = self._places.get(sample_id)
        return None if place is None else self.at(place)

    @cached_property
    def _places(self) -> dict[str, int]:
        """Positions by id, made when first asked for, as plain iteration never needs them."""
        return {sample_id: place for place, sample_id in enumerate(self.ids)}


class ListedSamples(Samples):
    """Samples that are all in memory."""

    def __init__(self, samples: Sequence[Sample]) -> None:
        self._samples = samples

    @cached_property
    def ids(self) -> Sequence[str]:
        return tuple(sample.id for sample in self._samples)

    def at(self, place: int) -> Sample:
        return self._samples[place]


class ChosenSamples(Samples):
    """Some of ``whole``, or all in another order, by their ``places`` in it."""

    def __init__(self, whole: Samples, places: Sequence[int]) -> None:
        self.whole = whole
        self.places = places

    @cached_property
    def ids(self) -> Sequence[str]:
        known = self.whole.ids
        return tuple(known[place] for place in self.places)

    def at(self, place: int) -> Sample:
        return self.whole.at(self.places[place])


def listed(samples: Sequence[Sample]) -> Samples:
    """``samples`` themselves if they can be found by id, else a sequence of them that can."""
    return samples if isinstance(samples, Samples) else ListedSamples(samples)
