"""One entry's facts as columns: counts, sums and distributions over them; it knows no other entry."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter

from vendor_verifier.compare.facts import Facts
from vendor_verifier.compare.routing import same_provider
from vendor_verifier.compare.rows import Key, Rows
from vendor_verifier.metrics import METRICS
from vendor_verifier.metrics.decoding import Decoding
from vendor_verifier.metrics.distribution import distribution
from vendor_verifier.metrics.gaps import ICL, Gaps, merged
from vendor_verifier.metrics.lateness import too_many_spoilt
from vendor_verifier.metrics.schedule import FROM_SCHEDULE
from vendor_verifier.metrics.schema_accuracy import response_validity, schema_counts
from vendor_verifier.metrics.tps import pooled_tps
from vendor_verifier.values.record import supersedes
from vendor_verifier.values.score import Decision, Distribution, SchemaCounts, SchemaPolicy


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
