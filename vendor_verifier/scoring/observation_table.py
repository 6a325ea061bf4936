"""One entry's facts as columns, counts and distributions over them, and which repetitions are compared.

Numbers are kept in columns, everything else once for all rows that share it. A row that is asked for by key is made
anew. Whoever walks over all asks for :meth:`Rows.entries` and for columns, which make none. It counts and sums up
nothing.

Every repetition of the baseline is compared with every one of the vendor, which is a square. Where a run was planned,
all are. Where it lasted a stated time, thousands may have been begun: of the whole ones at most ``MOST`` are taken,
spread evenly over the time, and a part of one only if there is nothing else.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, fields, replace
from operator import attrgetter
from typing import Any

from vendor_verifier.metrics import METRICS
from vendor_verifier.metrics.distribution import distribution
from vendor_verifier.metrics.inter_chunk_latency import ICL, Gaps, merged
from vendor_verifier.metrics.latency import FROM_SCHEDULE
from vendor_verifier.metrics.lateness import too_many_spoilt
from vendor_verifier.metrics.outcome import response_validity, schema_counts
from vendor_verifier.metrics.throughput import Decoding, pooled_tps
from vendor_verifier.scoring.observation import Facts
from vendor_verifier.scoring.provider_names import same_provider
from vendor_verifier.values.record import supersedes
from vendor_verifier.values.score import Decision, Distribution, SchemaCounts, SchemaPolicy

Key = tuple[str, str, int]
"""Suite, sample and repetition."""

_NUMBERS = ("values", "decoding", "delivery", "sent_s")
_SHARED = tuple(field.name for field in fields(Facts) if field.name not in _NUMBERS)
_shared_of = attrgetter(*_SHARED)
_KINDS: Mapping[type, int] = {type(None): 0, int: 1, bool: 1, float: 2}
_REAL = _KINDS[float]
# Of METRICS in their order, then tokens and seconds of decoding, and of delivery, and the moment of sending.
_WIDTH = len(METRICS) + 5
_POSITION = {metric.name: position for position, metric in enumerate(METRICS)}


class Numbers:
    """Rows of as many numbers each, any of which may be ``None``; whole numbers stay whole."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._numbers = array("d")
        self._kinds = bytearray()

    def __len__(self) -> int:
        return len(self._kinds) // self._width

    def put(self, place: int, row: Sequence[float | None]) -> None:
        """Set the row at ``place``, which is at most the next one."""
        numbers = [0.0 if value is None else value for value in row]
        kinds = map(_KINDS.__getitem__, map(type, row))
        begin = place * self._width
        if begin == len(self._kinds):
            self._numbers.fromlist(numbers)
            self._kinds.extend(kinds)
        else:
            self._numbers[begin : begin + self._width] = array("d", numbers)
            self._kinds[begin : begin + self._width] = bytes(kinds)

    def at(self, place: int, column: int) -> float | None:
        """One number."""
        at = place * self._width + column
        kind = self._kinds[at]
        return self._numbers[at] if kind == _REAL else int(self._numbers[at]) if kind else None

    def row(self, place: int) -> tuple[float | None, ...]:
        """All numbers of a row."""
        return tuple([self.at(place, column) for column in range(self._width)])

    def known(self, places: Iterable[int], column: int) -> list[float]:
        """The numbers of one column at ``places`` that there are."""
        kinds, numbers, width = self._kinds, self._numbers, self._width
        return [
            numbers[at] if kind == _REAL else int(numbers[at])
            for place in places
            if (kind := kinds[at := place * width + column])
        ]


class Rows(MutableMapping[Key, Facts]):
    """Facts by key, in the order in which keys came."""

    def __init__(self) -> None:
        self._places: dict[Key, int] = {}
        self._shared: list[Facts] = []
        self._known: dict[tuple[Any, ...], Facts] = {}
        self._numbers = Numbers(_WIDTH)

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[Key]:
        return iter(self._places)

    def __contains__(self, key: object) -> bool:
        return key in self._places

    def __getitem__(self, key: Key) -> Facts:
        place = self._places[key]
        return replace(
            self._shared[place],
            values=tuple(self._numbers.at(place, column) for column in range(len(METRICS))),
            decoding=self.decoding(place),
            delivery=self.delivery(place),
            sent_s=self.sent_s(place),
        )

    def __setitem__(self, key: Key, facts: Facts) -> None:
        shared = self._without_numbers(facts)
        place = self._places.setdefault(key, len(self._shared))
        if place == len(self._shared):
            self._shared.append(shared)
        else:
            self._shared[place] = shared
        values = facts.values or (None,) * len(METRICS)
        self._numbers.put(place, (*values, *_told(facts.decoding), *_told(facts.delivery), facts.sent_s))

    def __delitem__(self, key: Key) -> None:
        # Its numbers stay behind unseen: few rows are ever taken out.
        del self._places[key]

    def entries(self) -> Iterator[tuple[Key, Facts, int]]:
        """Key, what the row is without its numbers, and their place, of every row."""
        shared = self._shared
        return ((key, shared[place], place) for key, place in self._places.items())

    def shared(self) -> Iterator[Facts]:
        """What every row is without its numbers."""
        return map(self._shared.__getitem__, self._places.values())

    def places(self) -> Iterable[int]:
        """Where the numbers of every row are."""
        return self._places.values()

    def value(self, metric: str, place: int) -> float | None:
        """What was measured there of one of ``METRICS``."""
        return self._numbers.at(place, _POSITION[metric])

    def values_of(self, metric: str, places: Iterable[int]) -> list[float]:
        """What was measured of one of ``METRICS`` at those of ``places`` that measured it."""
        return self._numbers.known(places, _POSITION[metric])

    def decoding(self, place: int) -> Decoding | None:
        """Tokens and seconds of decoding there."""
        return self._sums(place, len(METRICS))

    def delivery(self, place: int) -> Decoding | None:
        """Tokens and seconds from sending on there."""
        return self._sums(place, len(METRICS) + 2)

    def sent_s(self, place: int) -> float | None:
        """When the row there was first sent, in seconds since the epoch."""
        return self._numbers.at(place, len(METRICS) + 4)

    def _sums(self, place: int, column: int) -> Decoding | None:
        tokens, seconds = self._numbers.at(place, column), self._numbers.at(place, column + 1)
        return None if tokens is None or seconds is None else Decoding(tokens, seconds)

    def shared_at(self, key: Key) -> Facts | None:
        """What the row of ``key`` is without its numbers."""
        place = self._places.get(key)
        return None if place is None else self._shared[place]

    def _without_numbers(self, facts: Facts) -> Facts:
        told = _shared_of(facts)
        known = self._known.get(told)
        if known is None:
            known = self._known[told] = replace(facts, values=(), decoding=None, delivery=None, sent_s=None)
        return known


def _told(sums: Decoding | None) -> tuple[float | None, float | None]:
    return (None, None) if sums is None else (sums.tokens, sums.seconds)


@dataclass(slots=True)
class Columns:
    """Facts of one entry by (suite, sample, repetition).

    ``misrouted`` are keys whose answer another provider served than the pinned one; their rows are taken out.
    ``gaps`` are by the provider that served them, as far as it is known, ``gapped`` the rows they are of.
    """

    rows: Rows = field(default_factory=Rows)
    misrouted: set[Key] = field(default_factory=set)
    gaps: dict[str | None, Gaps] = field(default_factory=dict)
    gapped: Counter[str | None] = field(default_factory=Counter)
    _spoilt: Counter[str] = field(default_factory=Counter)

    def add(self, sample: str, repetition: int, facts: Facts, gaps: Sequence[int] = ()) -> None:
        """Keep ``facts`` unless what is known under the key stands; ``gaps`` are a success's, ns."""
        key = (facts.suite, sample, repetition)
        known = self.rows.shared_at(key)
        if known is None or supersedes(facts, known):
            self.rows[key] = facts
            # Nothing replaces a success, so what is counted here never has to be taken back.
            self._spoilt.update(facts.spoilt)
            if gaps and ICL not in facts.spoilt:
                self.gaps.setdefault(facts.served_provider, Gaps()).add(gaps)
                self.gapped[facts.served_provider] += 1

    def set_misrouted_aside(self, pin: str) -> str | None:
        """Take out the rows served by others than ``pin``; who served them, or None.

        If one name that is not the pin's served every row, it is taken for a spelling nobody told us, and only named.
        """
        served = {facts.served_provider for facts in self.rows.shared() if facts.served_provider}
        others = {name for name in served if not same_provider(pin, name)}
        if not others or (served == others and len(others) == 1):
            return next(iter(others), None)
        self.misrouted = {key for key, facts, _ in self.rows.entries() if facts.served_provider in others}
        for key in self.misrouted:
            found = self.rows.shared_at(key)
            self._spoilt.subtract(() if found is None else found.spoilt)
            del self.rows[key]
        for name in others:
            self.gaps.pop(name, None)
            self.gapped.pop(name, None)
        return ", ".join(sorted(others))

    def knows(self, key: Key) -> bool:
        """Whether there is a record, the vendor's own or not."""
        return key in self.rows or key in self.misrouted

    def of_suite(self, suite: str) -> list[Facts]:
        """The rows of one evaluation, without their numbers."""
        return [facts for facts in self.rows.shared() if facts.suite == suite]

    def run(self, suite: str, repetition: int, missing: Iterable[str] = ()) -> dict[str, Decision]:
        """Decisions of one repetition of a suite by sample id, without what is not charged.

        Samples in ``missing`` that have no record count as undecided: in a complete run a lost row is a failure.
        """
        decided: dict[str, Decision] = {
            sample: facts.decision
            for (name, sample, number), facts, _ in self.rows.entries()
            if name == suite and number == repetition and facts.charged
        }
        lost = [sample for sample in missing if not self.knows((suite, sample, repetition))]
        return {**decided, **dict.fromkeys(lost, "undecided")}

    def values(self, metric: str) -> list[float]:
        """What was measured of one of ``METRICS``; nothing where our own lateness spoilt too many rows."""
        found = self.rows.values_of(metric, self.rows.places())
        return [] if too_many_spoilt(self.spoilt(metric), len(found)) else found

    def spoilt(self, metric: str) -> int:
        """Rows that our own lateness took out of a metric, or out of the gaps."""
        return self._spoilt[metric]

    def is_lost(self, metric: str) -> bool:
        """Whether it took out so many that the metric is not measurable."""
        # Nearly always there is nothing to count.
        measured = len(self.rows.values_of(metric, self.rows.places())) if self.spoilt(metric) else 0
        return too_many_spoilt(self.spoilt(metric), measured)

    def distributions(self) -> dict[str, Distribution]:
        """All of ``METRICS`` but ``success``, whose share is the success rate; and the gaps between pieces.

        What is timed from a schedule stands there only where there was one.
        """
        names = [metric.name for metric in METRICS if metric.name != "success"]
        single = {name: replace(distribution(self.values(name)), stalled=self.spoilt(name)) for name in names}
        missing = {name for name in FROM_SCHEDULE if not single[name].n and not single[name].stalled}
        return {name: found for name, found in single.items() if name not in missing} | {ICL: self._gaps()}

    def _gaps(self) -> Distribution:
        spoilt = self.spoilt(ICL)
        lost = too_many_spoilt(spoilt, self.gapped.total())
        return replace(merged(() if lost else self.gaps.values()).distribution(), stalled=spoilt)

    def tally(self, fact: str) -> dict[str, int]:
        """How often each value of a text column occurs, most frequent first."""
        return _by_frequency(filter(None, map(attrgetter(fact), self.rows.shared())))

    def anomalies(self) -> dict[str, int]:
        """In how many records each anomaly was noticed."""
        return _by_frequency(name for facts in self.rows.shared() for name in facts.anomalies)

    def schema(self, policy: SchemaPolicy) -> SchemaCounts:
        return schema_counts((facts.classes for facts in self.rows.shared()), policy)

    def judged_responses(self, policy: SchemaPolicy) -> int:
        """Responses with at least one call that counts under ``policy``."""
        return sum(response_validity(facts.classes, policy) is not None for facts in self.rows.shared())

    def tps(self) -> float | None:
        """Σ tokens ÷ Σ decoding seconds."""
        return None if self.is_lost("tps") else self._pooled(self.rows.decoding)

    def e2e_tps(self) -> float | None:
        """Σ tokens ÷ Σ seconds from sending to the last token."""
        return None if self.is_lost("e2e_tps") else self._pooled(self.rows.delivery)

    def _pooled(self, sums: Callable[[int], Decoding | None]) -> float | None:
        return pooled_tps(filter(None, map(sums, self.rows.places())))

    def count(self, fact: str) -> int:
        """The sum of a number or truth column."""
        return sum(map(attrgetter(fact), self.rows.shared()))

    def asked(self, planned: int, *, complete: bool) -> int:
        """What success is divided by: all that was planned, or recorded if the run was interrupted; charged only."""
        whole = planned - len(self.misrouted) if complete and self.rows else len(self.rows)
        return whole - (len(self.rows) - self.count("charged"))


def _by_frequency(words: Iterable[str] | Iterator[str]) -> dict[str, int]:
    counts: Mapping[str, int] = Counter(words)
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


MOST = 8


def compared(repeat: int, begun: int | None, samples: int) -> Sequence[int]:
    """Numbers of the repetitions, from 0; ``samples`` is how many one of them holds, ``begun`` as in ``EntryInfo``."""
    if begun is None:
        return range(repeat)
    whole = min(repeat, begun // samples if samples else 0)
    if whole <= 1:
        return range(min(repeat, 1))
    if whole <= MOST:
        return range(whole)
    return [place * (whole - 1) // (MOST - 1) for place in range(MOST)]
