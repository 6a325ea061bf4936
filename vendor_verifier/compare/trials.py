"""What the statistics take in: one entry's outcomes by (sample, repetition), every metric a ratio of sums.

It judges nothing. F1 needs the baseline's decisions too and therefore stands apart, as decisions per repetition.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from vendor_verifier.compare.columns import Columns
from vendor_verifier.compare.facts import Facts
from vendor_verifier.compare.repetitions import compared
from vendor_verifier.compare.trigger_f1 import Run
from vendor_verifier.metrics import METRICS
from vendor_verifier.metrics.schema_accuracy import call_validity
from vendor_verifier.values.score import SchemaPolicy

Unit = tuple[str, int]
Part = tuple[float, float]
TRIGGER = "trigger"
_POSITION = {metric.name: position for position, metric in enumerate(METRICS)}
# Metric → the column it is the mean of; speeds are ratios of sums and stand below.
MEANS: Mapping[str, str] = {
    "avg_tokens": "total_tokens",
    "avg_ttft_ms": "ttft_ms",
    **{metric.name: metric.name for metric in METRICS if metric.name not in ("success", "tps", "e2e_tps")},
}
# What is judged whether or not a threshold names it: two that rank, and one that bills are read by.
JUDGED_MEANS: tuple[str, ...] = ("avg_tokens", "avg_ttft_ms", "input_tokens")


@dataclass(frozen=True, slots=True)
class Trials:
    """One entry.

    ``runs``: decision by sample id, one mapping per repetition. ``ratios``: metric → (sample id, repetition) →
    (numerator, denominator), so that the metric is Σ numerators ÷ Σ denominators; a unit that did not measure is
    absent. Rates are (0 or 1, 1), means (value, 1), ``tps`` (tokens, seconds), ``schema_accuracy`` (valid, counted
    calls), a cost per valid call (cost, valid calls).
    """

    label: str
    runs: tuple[Run, ...] = ()
    ratios: Mapping[str, Mapping[Unit, Part]] = field(default_factory=dict)


def trials_of(
    label: str,
    columns: Columns,
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
    """The entry's columns as trials.

    ``planned``: suite → sample ids; ``repeat`` is this entry's own number of repetitions. In a ``complete`` run a
    planned unit without a record counts as failed and undecided. ``main`` names per suite the score to be judged.
    ``begun`` as in ``EntryInfo``, with ``each`` records in a repetition: then nothing is missing. ``means`` are the
    metrics of ``MEANS`` that somebody will ask for: each costs a row a record.
    """
    complete = complete and begun is None
    numbers = compared(repeat, begun, each)
    lost = _lost(columns, planned, repeat) if complete and columns.rows else []
    missing = planned.get(TRIGGER, ()) if complete and columns.rows else ()
    ratios: dict[str, dict[Unit, Part]] = {}
    places = [(metric, _POSITION[MEANS[metric]]) for metric in means]
    for (suite, sample, repetition), facts in columns.rows.items():
        if facts.charged:
            for metric, part in _parts(facts, policy, (main or {}).get(suite), places):
                _add(ratios, metric, (sample, repetition), part)
    for _, sample, repetition in lost:
        _add(ratios, "success_rate", (sample, repetition), (0.0, 1.0))
        _add(ratios, "first_attempt_success_rate", (sample, repetition), (0.0, 1.0))
    runs = tuple(columns.run(TRIGGER, number, missing) for number in numbers) if TRIGGER in planned else ()
    return Trials(label, runs, ratios)


def _lost(columns: Columns, planned: Mapping[str, Sequence[str]], repeat: int) -> list[tuple[str, str, int]]:
    known = columns.rows.keys() | columns.misrouted
    wanted = ((suite, sample, number) for suite, ids in planned.items() for sample in ids for number in range(repeat))
    return [key for key in wanted if key not in known]


def _parts(
    facts: Facts, policy: SchemaPolicy, main: str | None, places: Iterable[tuple[str, int]]
) -> Iterable[tuple[str, Part]]:
    yield "success_rate", (float(facts.succeeded), 1.0)
    yield "first_attempt_success_rate", (float(facts.succeeded_first_try), 1.0)
    valid, counted = call_validity(facts.classes, policy)
    if counted:
        yield "schema_accuracy", (float(valid), float(counted))
    for metric, place in places:
        value = facts.values[place]
        if value is not None:
            yield metric, (value, 1.0)
    for metric, pooled in (("tps", facts.decoding), ("e2e_tps", facts.delivery)):
        if pooled is not None:
            yield metric, (pooled.tokens, pooled.seconds)
    score = dict(facts.scores).get(main or "")
    if score is not None:
        yield facts.suite, (score, 1.0)


def _add(ratios: dict[str, dict[Unit, Part]], metric: str, unit: Unit, part: Part) -> None:
    """A sample that several suites ask is one unit: its answers are not independent."""
    column = ratios.get(metric)
    if column is None:
        column = ratios[metric] = {}
    before = column.get(unit)
    column[unit] = part if before is None else (before[0] + part[0], before[1] + part[1])
