"""Samples: chat-completions requests with an identity by content, and sequences of them that are found by id."""

from __future__ import annotations

import hashlib
import json
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, overload

import msgspec

from vendor_verifier.records.bounded_cache import BoundedCache
from vendor_verifier.records.request import Turn

# Characters of canonical JSON of tool declarations, of which a data set repeats a few sets thousands of times.
_MOST_TOOLS = 4 * 2**20
_CANONICAL = json.JSONEncoder(sort_keys=True, ensure_ascii=True, separators=(",", ":"))


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
    return Digests().of(turn)


class Digests:
    """Content digests of many turns. Tools that are the same object in several are written once: change none."""

    def __init__(self) -> None:
        self._written: BoundedCache[int, tuple[object, str]] = BoundedCache(_MOST_TOOLS)

    def of(self, turn: Turn) -> str:
        """As :func:`content_digest`."""
        choice = turn.parameters.get("tool_choice")
        written = "null" if choice is None else _CANONICAL.encode(choice)
        content = f"[{_canonical(turn.messages)},{self._tools(turn)},{written}]"
        return hashlib.sha256(content.encode()).hexdigest()[:16]

    def _tools(self, turn: Turn) -> str:
        known = self._written.get(id(turn.tools))
        if known is None:
            # Kept with the object, so that no other object can get its identity.
            known = (turn.tools, _CANONICAL.encode(list(turn.tools)))
            self._written.keep(id(turn.tools), known, len(known[1]))
        return known[1]


_written = msgspec.json.Encoder(order="sorted").encode


def _canonical(messages: Sequence[Mapping[str, Any]]) -> str:
    return _of_plain_text(messages) or _CANONICAL.encode(list(messages))


def _of_plain_text(messages: Sequence[Mapping[str, Any]]) -> str | None:
    """Canonical JSON of messages in which everything is ASCII text, in a fifth of the time; None of others.

    Both encoders write such text alike, but for DEL; tests/records/test_samples.py holds them against each other.
    """
    for message in messages:
        for value in message.values():
            if type(value) is not str:
                return None
    try:
        written = _written(messages)
    except UnicodeEncodeError:
        return None
    return written.decode() if written.isascii() and b"\x7f" not in written else None


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


Tools = tuple[Mapping[str, Any], ...]


# Declarations as JSON, bytes; as objects they take five times as much.
MOST_TOOLS_BYTES = 4 * 2**20


class ToolSets:
    """A cache of sets of tools; neither what is given to it nor what comes from it may be changed."""

    def __init__(self) -> None:
        self._known: BoundedCache[bytes, Tools] = BoundedCache(MOST_TOOLS_BYTES)
        # The same sets, which callers often have themselves.
        self._by_identity: BoundedCache[int, Tools] = BoundedCache(MOST_TOOLS_BYTES)

    def shared(self, turn: Turn) -> Turn:
        """The same turn with the tools of the first turn that declared the same."""
        if not turn.tools or self._by_identity.get(id(turn.tools)) is not None:
            return turn
        try:
            written = msgspec.json.encode(turn.tools)
        except (msgspec.MsgspecError, UnicodeError, OverflowError, TypeError, RecursionError):
            return turn
        known = self._known.get(written)
        if known is None:
            self._known.keep(written, turn.tools, len(written))
            self._by_identity.keep(id(turn.tools), turn.tools, len(written))
            return turn
        # As dataclasses.replace would have it, at a fifth of its cost: every sample of a data set comes here.
        return Turn(turn.messages, known, turn.parameters, turn.stream, turn.thinking, turn.fixed)
