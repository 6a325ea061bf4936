"""One entry's observations as columns, and counts and distributions over them.

Numbers are columns; traits are stored once for all rows that share them. ``NaN`` means "not measured".
"""

from __future__ import annotations

import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, repeat
from typing import TYPE_CHECKING, Literal

from msgspec import structs

from vendor_verifier.metrics import METRICS, POOLED, RECORD_METRICS
from vendor_verifier.metrics.answer import too_many_spoilt
from vendor_verifier.metrics.base import distribution
from vendor_verifier.metrics.inter_chunk_latency import ICL, Gaps, merged
from vendor_verifier.metrics.outcome import response_validity, schema_counts
from vendor_verifier.records.event import Usage
from vendor_verifier.records.manifest import SchemaPolicy
from vendor_verifier.records.score import Decision, Distribution, SchemaCounts, Withheld
from vendor_verifier.scoring.answer_rows import AnswerRows, counted, each_of
from vendor_verifier.scoring.number_columns import NumberColumns
from vendor_verifier.scoring.observation import FakedStream, Observation, Traits, Try, same_provider
from vendor_verifier.scoring.packed_texts import PackedTexts
from vendor_verifier.scoring.row_keys import Key, Question, RowKeys, Unit, Units
from vendor_verifier.scoring.try_table import TokenPart, TryTable

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

Standing = Literal["first", "replaces", "void"]
"""The fate of a row that is added: the first under its key, in place of a failure, or of no account."""
_NAN = math.nan
_POSITION = {metric.name: position for position, metric in enumerate(RECORD_METRICS)}
_SUMS = {metric.name: len(RECORD_METRICS) + 2 * place for place, metric in enumerate(POOLED)}
_SENT = len(RECORD_METRICS) + 2 * len(POOLED)
_WHOLE = frozenset(metric.name for metric in METRICS if metric.unit == "tokens")
_NO_SUMS, _NO_VALUES, _NO_POOLED = (None, None), (None,) * len(RECORD_METRICS), (None,) * len(POOLED)


class ObservationTable:
    """Observations of one entry by (suite, sample, repetition), in the order in which keys arrived.

    ``misrouted`` are keys whose answer came from another provider than the pinned one; all methods but :meth:`every`
    leave them out. ``tries`` are the attempts of all records, ``duplicates`` those of records made a second time.
    ``gaps`` are grouped by serving provider, as far as it is known; ``gapped`` are the rows that they belong to.
    ``withheld`` names metrics that are not measurable at this vendor, each with the reason; they have no values.
    ``faked`` is what shows that its streams are faked. ``cap``: so many requests at a time held others back, so
    that times that rank count from when requests were due (:mod:`vendor_verifier.scoring.ranked_times`); else None.
    """

    def __init__(self) -> None:
        self._keys = RowKeys()
        # Nearly all rows share their traits: a row has their number.
        self._numbers_of: dict[Traits, int] = {}
        self._known: list[Traits] = []
        self._codes = array("i")
        self._numbers = NumberColumns(_SENT + 1)
        self._response_ids = PackedTexts()
        # 0 stands for none.
        self._digests = array("Q")
        self._finals = array("i")
        self._counted: Mapping[Traits, int] | None = None
        self.misrouted: set[Key] = set()
        self.withheld: dict[str, Withheld] = {}
        self.faked: FakedStream | None = None
        self.cap: int | None = None
        self.tries, self.duplicates = TryTable(), TryTable()
        self.gaps: dict[str | None, Gaps] = defaultdict(Gaps)
        self.gapped: Counter[str | None] = Counter()

    def __len__(self) -> int:
        return len(self._keys) - len(self.misrouted)

    def lacking(self, suite: str, samples: Iterable[str], repetition: int) -> list[str]:
        """Those of a suite's samples that have no row of a repetition."""
        return self._keys.lacking(suite, samples, repetition)

    def add(self, row: Observation) -> Standing:
        """Add a row unless the one under its key takes precedence; its attempts are added in either case."""
        place = self._keys.add(row.key)
        is_new = place == len(self._codes)
        self.tries.add(place, row.tries)
        if not is_new and (self._known[self._codes[place]].settles or not row.traits.settles):
            return "void"
        self._counted = None
        code = self._numbers_of.setdefault(row.traits, len(self._known))
        if code == len(self._known):
            self._known.append(row.traits)
        numbers = [*(row.values or _NO_VALUES)]
        for sums in row.pooled or _NO_POOLED:
            numbers += _NO_SUMS if sums is None else sums
        numbers.append(row.sent_s)
        final = len(self.tries.rows) - 1 if row.tries else -1
        if is_new:
            self._codes.append(code)
            self._numbers.append(numbers)
            self._response_ids.append(row.response_id)
            self._digests.append(row.digest or 0)
            self._finals.append(final)
        else:
            self._codes[place] = code
            self._numbers.replace(place, numbers)
            self._response_ids.replace(place, row.response_id)
            self._digests[place], self._finals[place] = row.digest or 0, final
        # Nothing replaces a success, so a count made here never has to be undone.
        if row.gaps and ICL not in row.traits.spoilt:
            self.gaps[row.traits.served_provider].add(row.gaps)
            self.gapped[row.traits.served_provider] += 1
        return "first" if is_new else "replaces"

    def set_misrouted_aside(self, pin: str) -> str | None:
        """Take out the rows that others than ``pin`` served; returns these providers' names, or None.

        If one other name served every row, it is taken for an unknown spelling of the pin: no row is removed.
        """
        served = {traits.served_provider for traits in self._all() if traits.served_provider}
        others = {name for name in served if not same_provider(pin, name)}
        if not others or (served == others and len(others) == 1):
            return next(iter(others), None)
        self.misrouted = {key for key, traits in self.recorded() if traits.served_provider in others}
        self._counted = None
        for name in others:
            self.gaps.pop(name, None)
            self.gapped.pop(name, None)
        return ", ".join(sorted(others))

    def excuse(self) -> None:
        """Charge none of the rows to the vendor."""
        self._known, self._counted = [structs.replace(traits, is_excused=True) for traits in self._known], None

    def entries(self) -> Iterator[tuple[Key, Traits]]:
        """Keys and their traits."""
        own = self.recorded()
        return ((key, traits) for key, traits in own if key not in self.misrouted) if self.misrouted else own

    def each_of(self, of: Callable[[Traits], float | None]) -> NDArray[np.float64]:
        """A number of every row that follows from its traits; NaN for ``None``."""
        return each_of(*self.coded(), of)

    def where(self, of: Callable[[Traits], bool]) -> NDArray[np.bool_]:
        """Whether every row's traits are so."""
        found: NDArray[np.bool_] = self.each_of(of) == 1
        return found

    def entries_where(self, of: Callable[[Traits], bool]) -> Iterator[tuple[Key, Traits]]:
        """Keys and traits of the rows whose traits are so."""
        import numpy as np

        wanted = each_of(self._known, np.array(self._codes), of)
        own = ((self._keys[row], self._known[self._codes[row]]) for row in np.flatnonzero(wanted).tolist())
        return ((key, traits) for key, traits in own if key not in self.misrouted)

    def traits(self) -> list[Traits]:
        """The traits of every row."""
        return [traits for _, traits in self.entries()] if self.misrouted else list(self._all())

    def coded(self) -> tuple[Sequence[Traits], NDArray[np.int32]]:
        """The distinct traits, and for every row the place of its own among them."""
        import numpy as np

        codes = np.array(self._codes)
        return self._known, codes[self._own()] if self.misrouted else codes

    def _all(self) -> Iterator[Traits]:
        return map(self._known.__getitem__, self._codes)

    def every(self) -> Iterator[Observation]:
        """All rows, misrouted ones included, without their measured values and with their last attempt only."""
        moments = self._numbers.column(_SENT).tolist()
        for place, (_, sample, repetition) in enumerate(self._keys):
            final = self._finals[place]
            yield Observation(
                sample,
                repetition,
                self._known[self._codes[place]],
                sent_s=None if math.isnan(moments[place]) else moments[place],
                response_id=self._response_ids[place],
                digest=self._digests[place] or None,
                tries=() if final < 0 else (self.tries.at(final),),
            )

    def recorded(self) -> Iterator[tuple[Key, Traits]]:
        """Keys and traits of all rows, misrouted ones included."""
        return zip(self._keys, self._all(), strict=True)

    def answers(self) -> AnswerRows:
        """The rows with an answer, misrouted ones included."""
        import numpy as np

        codes = np.array(self._codes)
        rows = np.flatnonzero(np.array([traits.is_answered for traits in self._known], dtype=bool)[codes])
        return AnswerRows(
            self._known,
            codes[rows],
            self._keys.questions,
            self._keys.asked()[rows],
            self._keys.repetitions()[rows],
            rows,
            self._response_ids,
            np.array(self._digests)[rows],
            np.nan_to_num(self._last_tokens("output")[rows], copy=False).astype(np.int64),
        )

    def answers_billing(self, part: TokenPart) -> list[tuple[str, Traits, Usage]]:
        """Sample, traits and usage of the answers that report any of these tokens, misrouted ones included."""
        import numpy as np

        return [
            (self._keys[place][1], traits, self.tries.at(self._finals[place]).usage)
            for place in np.flatnonzero(self._last_tokens(part) > 0).tolist()
            if (traits := self._known[self._codes[place]]).is_answered
        ]

    def _last_tokens(self, part: TokenPart) -> NDArray[np.float64]:
        """The tokens of every row's last attempt, NaN where it reports none or there is none."""
        import numpy as np

        finals = np.array(self._finals)
        found = np.full(len(finals), _NAN)
        found[finals >= 0] = self.tries.tokens(part)[finals[finals >= 0]]
        return found

    def first_sent(self) -> Iterator[tuple[Question, float]]:
        """Every question, those of misrouted rows included, and when it was first sent; infinity where unknown."""
        import numpy as np

        found = np.full(len(self._keys.questions), math.inf)
        np.fmin.at(found, self._keys.asked(), self._numbers.column(_SENT))
        return zip(self._keys.questions, found.tolist(), strict=True)

    def billed(self) -> Iterator[tuple[Unit, Try]]:
        """(sample, repetition) and attempt of everything that may be billed."""
        return ((self._keys[row][1:], each) for row, each in self.tries.billed())

    def units(self) -> Units:
        """The units of the rows."""
        found = self._keys.units()
        return found.at(self._own()) if self.misrouted else found

    def _own(self) -> NDArray[np.bool_]:
        """Of every row, whether it is none of the misrouted ones."""
        import numpy as np

        return np.array([key not in self.misrouted for key in self._keys], dtype=bool)

    def _column(self, column: int) -> NDArray[np.float64]:
        found = self._numbers.column(column)
        return found[self._own()] if self.misrouted else found

    def column(self, metric: str) -> NDArray[np.float64]:
        """The rows' values of one of ``RECORD_METRICS``, NaN where not measured."""
        return self._unless_withheld(metric, self._column(_POSITION[metric]))

    def sums(self, metric: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Numerators and denominators of one of ``POOLED``."""
        parts = (self._column(_SUMS[metric] + part) for part in (0, 1))
        numerators, denominators = (self._unless_withheld(metric, part) for part in parts)
        return numerators, denominators

    def _unless_withheld(self, metric: str, found: NDArray[np.float64]) -> NDArray[np.float64]:
        if metric in self.withheld:
            found[:] = _NAN
        return found

    def sent(self) -> NDArray[np.float64]:
        """When the rows were first sent, in seconds since the epoch."""
        return self._column(_SENT)

    def held_s(self) -> NDArray[np.float64]:
        """The seconds that all attempts of each row took together."""
        found = self.tries.seconds_by_row(len(self._codes))
        return found[[place for _, place in self._own()]] if self.misrouted else found

    def frame(self) -> pd.DataFrame:
        """The rows as a pandas table: key, traits, and one column per metric."""
        import pandas as pd

        keys = pd.DataFrame([key for key, _ in self.entries()], columns=["suite", "sample", "repetition"])
        names = [name for name in Traits.__struct_fields__ if name != "suite"]
        traits = pd.DataFrame([[getattr(each, name) for name in names] for each in self.traits()], columns=names)
        numbers = pd.DataFrame({name: self.column(name) for name in _POSITION} | {"sent_s": self.sent()})
        return pd.concat([keys, traits, numbers], axis=1)

    def kinds(self) -> Mapping[Traits, int]:
        """The distinct traits with the number of rows that have them; nearly all rows share theirs."""
        if self._counted is None:
            self._counted = counted(*self.coded())
        return self._counted

    def of_suite(self, suite: str) -> list[Traits]:
        """The traits of one evaluation's rows."""
        return [traits for traits in self.traits() if traits.suite == suite]

    def run(self, suite: str, repetition: int, missing: Iterable[str] = ()) -> dict[str, Decision]:
        """Decisions of one repetition of a suite by sample id, without rows not charged to the vendor.

        Samples in ``missing`` that have no record count as undecided: in a complete run a lost row is a failure.
        """
        rows = {sample: row for (name, sample), row in self._keys.of_repetition(repetition) if name == suite}
        decided: dict[str, Decision] = {
            sample: traits.decision
            for sample, row in rows.items()
            if (traits := self._known[self._codes[row]]).charged and (suite, sample, repetition) not in self.misrouted
        }
        return decided | dict.fromkeys((sample for sample in missing if sample not in rows), "undecided")

    def values(self, metric: str) -> list[float]:
        """The measured values of one of ``RECORD_METRICS`` in the order of sending.

        Empty where our own lateness spoilt too many rows.
        """
        import numpy as np

        found = known(self.column(metric)[np.argsort(self.sent(), kind="stable")], metric)
        return [] if too_many_spoilt(self.spoilt(metric), len(found)) else found

    def spoilt(self, metric: str) -> int:
        """The number of rows that our own lateness took out of a metric, or out of the gaps."""
        return sum(times for traits, times in self.kinds().items() if metric in traits.spoilt)

    def is_lost(self, metric: str) -> bool:
        """Whether the metric is withheld, or our own lateness took out so many rows that it is not measurable."""
        if metric in self.withheld:
            return True
        spoilt = self.spoilt(metric)
        # Counting is skipped where no row was spoilt, which is nearly always.
        return too_many_spoilt(spoilt, len(known(self.column(metric), metric)) if spoilt else 0)

    def distributions(self) -> dict[str, Distribution]:
        """All of ``RECORD_METRICS`` but ``success``, whose share is the success rate; and the gaps between pieces.

        Times from a schedule are present only where the run had one.
        """
        found = {}
        for metric in RECORD_METRICS:
            stalled = self.spoilt(metric.name)
            spread = structs.replace(distribution(self.values(metric.name)), stalled=stalled)
            if metric.name != "success" and (spread.n or stalled or not metric.is_scheduled):
                found[metric.name] = spread
        stalled = self.spoilt(ICL)
        lost = ICL in self.withheld or too_many_spoilt(stalled, self.gapped.total())
        gaps = merged(() if lost else self.gaps.values()).distribution()
        return found | {ICL: structs.replace(gaps, stalled=stalled)}

    def tally(self, of: Callable[[Traits], str | None]) -> dict[str, int]:
        """Each text with its number of occurrences, most frequent first."""
        return self._tallied(lambda traits: filter(None, (of(traits),)))

    def anomalies(self) -> dict[str, int]:
        """Each anomaly with the number of records that show it."""
        return self._tallied(lambda traits: traits.anomalies)

    def _tallied(self, words: Callable[[Traits], Iterable[str]]) -> dict[str, int]:
        counts: Counter[str] = Counter()
        for traits, times in self.kinds().items():
            for word in words(traits):
                counts[word] += times
        return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))

    def schema(self, policy: SchemaPolicy) -> SchemaCounts:
        """The counts of tool calls by class, and what is derived from them."""
        kinds = self.kinds().items()
        every = (repeat(traits.classes, times) for traits, times in kinds)
        offered = (repeat(traits.classes, times) for traits, times in kinds if traits.is_offered_tools)
        return schema_counts(chain.from_iterable(every), policy, chain.from_iterable(offered))

    def judged_responses(self, policy: SchemaPolicy) -> int:
        """Responses with at least one call that counts under ``policy``."""
        return self.count(lambda traits: response_validity(traits.classes, policy) is not None)

    def pooled(self, metric: str) -> float | None:
        """Σ numerators ÷ Σ denominators of one of ``POOLED``."""
        if self.is_lost(metric):
            return None
        numerators, denominators = (math.fsum(known(sums)) for sums in self.sums(metric))
        return numerators / denominators if denominators else None

    def count(self, of: Callable[[Traits], int]) -> int:
        """The sum of a number or truth over the rows."""
        return sum(of(traits) * times for traits, times in self.kinds().items())

    def asked(self, planned: int, *, complete: bool) -> int:
        """The denominator of the success rate: charged records, planned or, in an interrupted run, recorded."""
        whole = planned - len(self.misrouted) if complete and len(self) else len(self)
        return whole - self.count(lambda traits: not traits.charged)


def known(column: NDArray[np.float64], metric: str = "") -> list[float]:
    """The measured numbers of a column, as integers for a metric that counts."""
    import numpy as np

    found = column[~np.isnan(column)]
    return list(map(int, found)) if metric in _WHOLE else found.tolist()
