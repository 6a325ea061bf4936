"""Samples in an order, found by place or by id, however they are kept; it keeps none on disk and reads no file."""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, chain
from typing import overload

from vendor_verifier.values.sample import Sample


class Samples(Sequence[Sample]):
    """A sequence of samples whose ids are known without a look at the samples, which may have to be made first."""

    @property
    @abstractmethod
    def ids(self) -> Sequence[str]:
        """The ids in the order of the samples."""

    @abstractmethod
    def at(self, place: int) -> Sample:
        """The sample at a place from 0 on."""

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
        """Where the sample of that id stands, the last one if there are several; ``None`` if there is none."""
        return self._places.get(sample_id)

    def named(self, sample_id: str) -> Sample | None:
        """The sample of that id, the last one if there are several; ``None`` if there is none."""
        place = self._places.get(sample_id)
        return None if place is None else self.at(place)

    @cached_property
    def _places(self) -> dict[str, int]:
        """Made when first asked for: whoever only walks through never needs it."""
        return {sample_id: place for place, sample_id in enumerate(self.ids)}


class ListedSamples(Samples):
    """Samples that are all there."""

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


class JoinedSamples(Samples):
    """The samples of all ``parts``, one part after the other."""

    def __init__(self, parts: Sequence[Samples]) -> None:
        self._parts = parts
        self._begins = (0, *accumulate(map(len, parts)))

    @cached_property
    def ids(self) -> Sequence[str]:
        return tuple(chain.from_iterable(part.ids for part in self._parts))

    def at(self, place: int) -> Sample:
        part = bisect_right(self._begins, place) - 1
        return self._parts[part].at(place - self._begins[part])


def sample_in(by_suite: Mapping[str, Samples], suite: str, sample_id: str) -> Sample | None:
    """The sample of that id in that suite, if there is one."""
    samples = by_suite.get(suite)
    return None if samples is None else samples.named(sample_id)


def listed(samples: Sequence[Sample]) -> Samples:
    """``samples`` as they are if they can be found by id, else with that ability."""
    return samples if isinstance(samples, Samples) else ListedSamples(samples)
