"""The verdict on whether a vendor got worse, from the history of runs; two runs alone are never enough for one.

Per vendor and metric, over runs that asked the same: quantities on a log scale, shares as they are; what the *other*
vendors of the same run moved in common is taken out (:mod:`vendor_verifier.features.history.run_diff`), for what
moves all of them is this machine's network or the hour. Then

- fewer than 8 runs: no verdict yet;
- alarm: a change of level (:mod:`vendor_verifier.features.history.figures`) within the last 7 runs that is worse by at
  least the minimum effect, in the relative series and in the plain one (else another vendor's gain would be a loss);
- early warning: the newest run's robust z = (x − median) ÷ (1.4826 · MAD) over the 20 runs before it exceeds 3
  (Iglewicz and Hoaglin, How to Detect and Handle Outliers, 1993).

The more series are judged at once, the more of them would alarm by chance: p is 0.003 ÷ the number of series, which
keeps a whole check under 0.3 false alarms in 40 quiet nights; z is 3, but never less than what 0.01 ÷ their number
leaves of Student's t with 8 degrees of freedom, which is about how z falls on quiet nights.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from vendor_verifier.audit.identity import changes_since_last
from vendor_verifier.errors import Problem, ProblemsError, UsageError
from vendor_verifier.features.history.database import read_runs
from vendor_verifier.features.history.figures import (
    LEAST_DIFFERENCE,
    LEAST_RATIO,
    P_VALUE,
    WATCHED,
    change_points,
    direction_of,
    hodges_lehmann,
    metric_names,
    scale_of,
)
from vendor_verifier.features.history.run_diff import common_shift
from vendor_verifier.values.history import HistoryEntry, HistoryRun, LevelChange, Night, Scale, Trend, TrendVerdict
from vendor_verifier.values.judgement import Finding
from vendor_verifier.values.labels import shown_label
from vendor_verifier.words import english

LEAST_RUNS = 8
RECENT_RUNS = 7
_Z_RUNS = 20
_Z_ALARM = 3.0
_Z_FAMILY_P_VALUE = 0.01
_Z_DEGREES = 8
# Older runs tell little about the newest one, and a split costs the square of the length.
_MOST_RUNS = 150

Level = Mapping[str, float]


def comparable(runs: Sequence[HistoryRun]) -> list[HistoryRun]:
    """The complete runs that asked what the newest of them did, oldest first: half a run is no night."""
    ordered = sorted((run for run in runs if run.complete), key=lambda run: (run.at, run.run))
    return [run for run in ordered if run.question == ordered[-1].question]


def trends(
    runs: Sequence[HistoryRun],
    *,
    metrics: Iterable[str] = WATCHED,
    models: Sequence[str] = (),
    labels: Sequence[str] = (),
) -> tuple[Trend, ...]:
    """The verdicts on every vendor of the newest of ``runs`` (or ``models`` and ``labels`` of it) by metric.

    ``runs`` in any order; only :func:`comparable` ones are looked at. A vendor without the figure in the newest run
    has no trend.
    """
    labels = [shown_label(label) for label in labels]
    series = comparable(runs)[-_MOST_RUNS:] if runs else []
    newest = series[-1].entries if series else ()
    wanted = [
        (entry, metric)
        for entry in newest
        for metric in metrics
        if metric in entry.figures
        and (not models or entry.model in models)
        and (not labels or entry.label in labels or entry.vendor in labels)
    ]
    limits = _limits(max(len(wanted), 1))
    return tuple(_trend(series, entry, metric, limits) for entry, metric in wanted)


def history_trends(
    file: Path,
    *,
    metrics: Sequence[str] = (),
    models: Sequence[str] = (),
    labels: Sequence[str] = (),
    until: str | None = None,
) -> tuple[Trend, ...]:
    """Verdicts over the history, about its newest run or the run with id ``until``; by default on ``WATCHED`` figures.

    Raises:
        UsageError: the history cannot be read, holds no such run, or none of its newest run's vendors has the metric.
    """
    runs = _until(read_runs(file, models=models, labels=labels), until, file)
    wanted = metric_names(metrics) or WATCHED
    found = trends(runs, metrics=wanted, models=models, labels=labels)
    series = comparable(runs)
    if metrics and series and not found:
        known = sorted({name for entry in series[-1].entries for name in entry.figures})
        words = f"no such figure in the history: {', '.join(metrics)}; known are {', '.join(known)}"
        raise ProblemsError([Problem(words, key="--metric")])
    return found


def identity_changes(file: Path, run: str) -> tuple[tuple[str, Finding], ...]:
    """(model, finding) for each served model name in the answers of ``run`` that differs from the last run before it.

    Raises:
        UsageError: the history cannot be read, or does not hold the run.
    """
    runs = read_runs(file)
    position = _position(runs, run, file)
    return tuple(changes_since_last(runs[: position + 1]))


def _until(runs: tuple[HistoryRun, ...], until: str | None, file: Path) -> tuple[HistoryRun, ...]:
    if until is None:
        return runs
    position = _position(runs, until, file)
    if not runs[position].complete:
        raise UsageError(english("warn_half_run", run=until))
    return runs[: position + 1]


def _position(runs: Sequence[HistoryRun], name: str, file: Path) -> int:
    position = next((index for index, run in enumerate(runs) if run.run == name), None)
    if position is None:
        raise UsageError(english("warn_not_in_history", run=name, file=file))
    return position


@dataclass(frozen=True, slots=True)
class _Limits:
    """The limits of significance: the greatest p of a change of level, the least robust z of one night."""

    p_value: float
    z: float


def _limits(series: int) -> _Limits:
    from scipy.special import stdtrit

    z = -float(stdtrit(_Z_DEGREES, _Z_FAMILY_P_VALUE / series))
    return _Limits(P_VALUE / series, max(_Z_ALARM, z))


@dataclass(frozen=True, slots=True)
class _Series:
    """One vendor's figure over the runs, on its scale; ``sign`` makes worse positive."""

    nights: tuple[Night, ...]
    relative: tuple[float, ...]
    plain: tuple[float, ...]
    scale: Scale
    sign: float
    least: float

    def shift(self, before: slice, after: slice) -> tuple[float, float]:
        """Hodges–Lehmann shift after − before, without and with what all vendors share."""
        return (
            hodges_lehmann(self.relative[before], self.relative[after]),
            hodges_lehmann(self.plain[before], self.plain[after]),
        )

    def on_scale(self, shift: float) -> float:
        return math.expm1(shift) if self.scale == "ratio" else shift

    def words(self, shift: float) -> str:
        return (
            f"{self.on_scale(shift):+.1%}" if self.scale == "ratio" else english("points", value=f"{100 * shift:+.1f}")
        )


def _trend(runs: Sequence[HistoryRun], entry: HistoryEntry, metric: str, limits: _Limits) -> Trend:
    series = _series(runs, entry, metric)
    named = (entry.model, entry.label, metric, series.scale)
    if len(series.nights) < LEAST_RUNS:
        young = english("trend_reason_young", count=len(series.nights), least=LEAST_RUNS)
        return Trend(*named, "no_verdict", young, series.nights)
    points = change_points(series.relative, least_effect=series.least, p_value=limits.p_value)
    z = series.sign * _robust_z(series.relative, series.least / _Z_ALARM)
    verdict, reason = _verdict(series, [position for position, _ in points], z, limits.z)
    return Trend(*named, verdict, reason, series.nights, _changes(series, points), z)


def _series(runs: Sequence[HistoryRun], entry: HistoryEntry, metric: str) -> _Series:
    scale = scale_of(metric)
    levels = _levels(runs, entry.model, metric, scale)
    own = levels.get(entry.label, {})
    common = _common_shift(own, [level for label, level in levels.items() if label != entry.label])
    relative = {run: own[run] - common[run] for run in own}
    nights = _nights(runs, entry, metric, relative, scale)
    return _Series(
        nights=nights,
        relative=tuple(relative[night.run] for night in nights),
        plain=tuple(own[night.run] for night in nights),
        scale=scale,
        sign=1.0 if direction_of(metric) == "lower" else -1.0,
        least=math.log1p(LEAST_RATIO) if scale == "ratio" else LEAST_DIFFERENCE,
    )


def _levels(series: Sequence[HistoryRun], model: str, metric: str, scale: Scale) -> dict[str, dict[str, float]]:
    """label → run → the figure on its scale; a ratio of nothing or less cannot be taken and is left out."""
    levels: dict[str, dict[str, float]] = {}
    for run in series:
        for entry in run.entries:
            found = entry.figures.get(metric) if entry.model == model else None
            if found is None or (scale == "ratio" and found[0] <= 0):
                continue
            levels.setdefault(entry.label, {})[run.run] = math.log(found[0]) if scale == "ratio" else found[0]
    return levels


def _common_shift(own: Level, others: Sequence[Level]) -> dict[str, float]:
    """run → how far the other vendors together were from their own medians."""
    steady = [level for level in others if 2 * len(level.keys() & own.keys()) >= len(own)]
    centres = [median(level.values()) for level in steady]
    shift = {}
    for run in own:
        moved = [level[run] - centre for level, centre in zip(steady, centres, strict=True) if run in level]
        shift[run] = common_shift(moved)
    return shift


def _nights(
    series: Sequence[HistoryRun], entry: HistoryEntry, metric: str, relative: Level, scale: Scale
) -> tuple[Night, ...]:
    found = []
    for run in series:
        for each in run.entries:
            if (each.model, each.label) == (entry.model, entry.label) and run.run in relative:
                value, n = each.figures[metric]
                there = math.exp(relative[run.run]) if scale == "ratio" else relative[run.run]
                found.append(Night(run.run, run.at, value, n, there, each.verdict))
    return tuple(found)


def _changes(series: _Series, points: Sequence[tuple[int, float]]) -> tuple[LevelChange, ...]:
    edges = [0, *(position for position, _ in points), len(series.nights)]
    found = []
    for index, (position, p_value) in enumerate(points):
        effect, plain = series.shift(slice(edges[index], position), slice(position, edges[index + 2]))
        worse = series.sign * effect > 0
        run = series.nights[position].run
        found.append(LevelChange(position, run, series.on_scale(effect), series.on_scale(plain), p_value, worse))
    return tuple(found)


def _robust_z(values: Sequence[float], least_spread: float) -> float:
    """The robust z of the newest value against those before it; the spread has a floor, as equal nights have none."""
    before = values[-1 - _Z_RUNS : -1]
    centre = median(before)
    spread = 1.4826 * median(abs(value - centre) for value in before)
    return (values[-1] - centre) / max(spread, least_spread)


def _verdict(series: _Series, points: Sequence[int], z: float, z_alarm: float) -> tuple[TrendVerdict, str]:
    """The net of all recent changes of level decides, so that a drop that came back is none."""
    count = len(series.nights)
    recent = [point for point in points if count - point <= RECENT_RUNS]
    if recent:
        older = max((point for point in points if point < recent[0]), default=0)
        shift, plain = series.shift(slice(older, recent[0]), slice(recent[-1], None))
        since = {"words": series.words(shift), "run": series.nights[recent[0]].run}
        if min(series.sign * shift, series.sign * plain) >= series.least:
            return "regression", english("trend_reason_worse", **since)
        if max(series.sign * shift, series.sign * plain) <= -series.least:
            return "improvement", english("trend_reason_better", **since)
    if z > z_alarm:
        return "warning", english("trend_reason_far_off", z=f"{z:.1f}")
    return "steady", english("trend_reason_steady", recent=RECENT_RUNS, count=count)
