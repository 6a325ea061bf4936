"""Trials: one entry's outcomes by (sample, repetition), every metric a ratio of sums, as input of the statistics.

F1 needs the baseline's decisions too and is therefore kept separately, as decisions per repetition.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, ItemsView, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from vendor_verifier.metrics import METRICS, POOLED, RANKED, RECORD_METRICS
from vendor_verifier.metrics.outcome import TOOL_CALL_ERROR_RATE, call_validity, has_bad_call
from vendor_verifier.records.manifest import SchemaPolicy
from vendor_verifier.scoring.number_columns import BLOCK_ROWS, narrowed
from vendor_verifier.scoring.observation import Traits
from vendor_verifier.scoring.observation_table import ObservationTable
from vendor_verifier.scoring.ranked_times import asked_at, is_mean_lost, judged_column
from vendor_verifier.scoring.repetitions import compared
from vendor_verifier.scoring.row_keys import Unit, Units
from vendor_verifier.scoring.trigger_f1 import Run
from vendor_verifier.suites import TRIGGER

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Part = tuple[float, float]
"""Numerator and denominator."""


class RatioColumn(Mapping[Unit, Part]):
    """Ratios of the ``units`` that measured one metric; a unit that occurs twice counts with its sum."""

    def __init__(
        self,
        units: Units,
        at: Sequence[int] | NDArray[np.integer[Any]],
        numerators: Sequence[float] | NDArray[np.floating[Any]],
        denominators: Sequence[float] | NDArray[np.floating[Any]] | None = None,
    ) -> None:
        import numpy as np

        self.units = units
        self.at, self.numerators = np.asarray(at, dtype=np.int32), narrowed(np.asarray(numerators, dtype=np.float64))
        if np.all(self.at[1:] > self.at[:-1]):
            # Nearly always every unit occurs once; ones take no room of their own.
            ones = np.broadcast_to(np.float64(1), self.at.shape)
            self.denominators = ones if denominators is None else narrowed(np.asarray(denominators, dtype=np.float64))
        else:
            self.at, inverse = np.unique(self.at, return_inverse=True)
            self.numerators = np.bincount(inverse, self.numerators, self.at.size).astype(np.float64)
            self.denominators = np.bincount(inverse, denominators, self.at.size).astype(np.float64)
        self._slots: dict[Unit, int] = {}

    @classmethod
    def of(cls, parts: Mapping[Unit, Part]) -> RatioColumn:
        """A column made of a mapping of units to ratios."""
        if isinstance(parts, cls):
            return parts
        found = list(parts.values())
        return cls(Units.of(parts), range(len(parts)), [one for one, _ in found], [other for _, other in found])

    def aligned(self, other: RatioColumn) -> NDArray[np.float64]:
        """The numerators of ``other`` at the units of this one, which share their places; NaN where it has none."""
        import numpy as np

        found = np.full(len(self.units), math.nan)
        found[other.at] = other.numerators
        return found[self.at]

    def sums(self, places: NDArray[np.int64], size: int, kept: NDArray[np.bool_] | None = None) -> NDArray[np.float64]:
        """Numerators and denominators (two rows of ``size``) by the place of each unit, below 0 for nowhere."""
        import numpy as np

        at = places[self.at]
        kept = at >= 0 if kept is None else kept & (at >= 0)
        return np.array([np.bincount(at[kept], part[kept], size) for part in (self.numerators, self.denominators)])

    def __len__(self) -> int:
        return int(self.at.size)

    def __iter__(self) -> Iterator[Unit]:
        return iter(self.units.at(self.at))

    def __getitem__(self, unit: Unit) -> Part:
        if not self._slots:
            self._slots = {name: slot for slot, name in enumerate(self)}
        slot = self._slots[unit]
        return float(self.numerators[slot]), float(self.denominators[slot])

    def items(self) -> ItemsView[Unit, Part]:
        return _Items(self)


class _Items(ItemsView[Unit, Part]):
    """Mapping's own view looks every value up."""

    _mapping: RatioColumn

    def __iter__(self) -> Iterator[tuple[Unit, Part]]:
        column = self._mapping
        # In parts, because lists of numbers take several times the room of the column.
        for begin in range(0, len(column), BLOCK_ROWS):
            part = slice(begin, begin + BLOCK_ROWS)
            parts = zip(column.numerators[part].tolist(), column.denominators[part].tolist(), strict=True)
            yield from zip(column.units.at(column.at[part]), parts, strict=True)


# Metric → the column it is the mean of; pooled metrics are ratios of sums and follow below.
_MEASURED = [metric for metric in RECORD_METRICS if not metric.pooled and metric.name != "success"]
MEANS: Mapping[str, str] = {
    **{name: metric.name for name, metric in RANKED.items() if metric in _MEASURED},
    **{metric.name: metric.name for metric in _MEASURED},
}
_TIMED = frozenset(metric.name for metric in METRICS if metric.is_timed)
# All figures that are a time or a speed, by name.
TIMES = _TIMED | {name for name, column in MEANS.items() if column in _TIMED}
# The means that are always judged: the metrics that rank, and the one that bills are checked by.
JUDGED_MEANS: tuple[str, ...] = (*(name for name in RANKED if name in MEANS), "input_tokens")


class Trials(msgspec.Struct, frozen=True):
    """One entry.

    ``runs``: decision by sample id, one mapping per repetition. ``ratios``: metric → (sample id, repetition) →
    (numerator, denominator), so that the metric is Σ numerators ÷ Σ denominators; a unit that did not measure is
    absent. Rates are (0 or 1, 1), means (value, 1), ``tps`` (tokens, seconds), ``schema_accuracy`` (valid, counted
    calls), a cost per valid call (cost, valid calls). ``sent``: when each unit was first sent (seconds since the
    epoch, as numerators), or due where times that rank count from then; ``None`` where that is unknown.
    """

    label: str
    runs: tuple[Run, ...] = ()
    ratios: Mapping[str, Mapping[Unit, Part]] = msgspec.field(default_factory=dict)
    sent: RatioColumn | None = None


def trials_of(
    label: str,
    table: ObservationTable,
    planned: Mapping[str, Sequence[str]],
    *,
    repeat: int,
    complete: bool,
    policy: SchemaPolicy = "lenient",
    main: Mapping[str, str] | None = None,
    begun: int | None = None,
    each: int = 0,
    means: Collection[str] = tuple(MEANS),
) -> Trials:
    """The entry's observations as trials.

    ``planned``: suite → sample ids; ``repeat`` is this entry's own number of repetitions. In a ``complete`` run a
    planned unit without a record counts as failed and undecided. ``main`` names per suite the score to be judged.
    ``begun`` as in ``EntryInfo``, with ``each`` records in a repetition: then nothing is missing.
    ``means`` are the metrics of ``MEANS`` that are needed.
    """
    complete = complete and begun is None and len(table) > 0
    lost = _lost(table, planned, repeat) if complete else []
    missing = planned.get(TRIGGER, ()) if complete else ()
    numbers = compared(repeat, begun, each)
    runs = tuple(table.run(TRIGGER, number, missing) for number in numbers) if TRIGGER in planned else ()
    ratios, sent = _ratios(table, lost, policy, main or {}, means)
    return Trials(label, runs, ratios, sent)


def _ratios(
    table: ObservationTable, lost: Sequence[Unit], policy: SchemaPolicy, main: Mapping[str, str], means: Collection[str]
) -> tuple[dict[str, RatioColumn], RatioColumn]:
    """The columns by metric, and when every unit was first sent; ``lost`` units failed."""
    import numpy as np

    charged = table.where(lambda traits: traits.charged)
    judged = int(charged.sum())
    # Nearly always every row is, and then none need be copied.
    own = slice(None) if charged.all() else charged
    # Evaluations that share a sample are two rows of one unit.
    units, places = table.units().at(own).followed_by(lost).once()
    at, gone = places[:judged], places[judged:]

    def column(numerators: NDArray[np.float64], denominators: NDArray[np.float64] | None = None) -> RatioColumn:
        """A column of the rows that measured."""
        known = ~np.isnan(numerators)
        if known.all():
            return RatioColumn(units, at, numerators, denominators)
        return RatioColumn(units, at[known], numerators[known], None if denominators is None else denominators[known])

    def each_of(of: Callable[[Traits], float | None]) -> NDArray[np.float64]:
        """The number of every judged row."""
        return table.each_of(of)[own]

    def outcome(values: NDArray[np.float64]) -> RatioColumn:
        if not gone.size:
            return RatioColumn(units, at, values)
        return RatioColumn(units, np.concatenate([at, gone]), np.concatenate([values, np.zeros(gone.size)]))

    # No column of doubles has a name here: each would be held to the end.
    found = {
        "success_rate": outcome(each_of(lambda traits: traits.succeeded)),
        "first_attempt_success_rate": outcome(each_of(lambda traits: traits.succeeded_first_try)),
        "schema_accuracy": column(*(each_of(partial(_calls, policy=policy, part=part)) for part in (0, 1))),
        TOOL_CALL_ERROR_RATE.name: column(
            each_of(lambda traits: has_bad_call(traits.classes) if traits.is_offered_tools else None)
        ),
    }
    found |= {
        name: column(judged_column(table, name, MEANS[name])[own])
        for name in means
        if not is_mean_lost(table, name, MEANS[name])
    }
    if "input_tokens" in found:
        # In a conversation the next question holds the answer before it, so that no two vendors are asked the same.
        found["input_tokens"] = column(
            np.where(each_of(lambda traits: traits.turns == 1) == 1, table.column("input_tokens")[own], math.nan)
        )
    for metric in POOLED:
        if not table.is_lost(metric.name):
            found[metric.name] = column(*(part[own] for part in table.sums(metric.name)))
    for suite, value in main.items():
        found[suite] = column(each_of(partial(_score, suite=suite, value=value)))
    sent = _first_asked(units, at, asked_at(table)[own])
    return {name: each for name, each in found.items() if len(each)}, sent


def _first_asked(units: Units, at: NDArray[np.int32], moments: NDArray[np.float64]) -> RatioColumn:
    """When every unit was first asked, given the rows' units and when they were sent."""
    import numpy as np

    known = ~np.isnan(moments)
    at, moments = (at, moments) if known.all() else (at[known], moments[known])
    if np.all(at[1:] > at[:-1]):
        return RatioColumn(units, at, moments)
    different, first = np.unique(at, return_index=True)
    return RatioColumn(units, different, moments[first])


def _calls(traits: Traits, policy: SchemaPolicy, part: int) -> float | None:
    """The valid calls (part 0) or the counted ones (1); None where no call counts."""
    found = call_validity(traits.classes, policy)
    return found[part] if found[1] else None


def _score(traits: Traits, suite: str, value: str) -> float | None:
    return dict(traits.scores).get(value) if traits.suite == suite else None


def _lost(table: ObservationTable, planned: Mapping[str, Sequence[str]], repeat: int) -> list[Unit]:
    found: list[Unit] = []
    for suite, ids in planned.items():
        lost = [frozenset(table.lacking(suite, ids, number)) for number in range(repeat)]
        if any(lost):
            found += [(sample, number) for sample in ids for number, lacks in enumerate(lost) if sample in lacks]
    return found
