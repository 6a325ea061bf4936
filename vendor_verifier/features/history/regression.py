"""The verdict on whether a vendor got worse, from the history of runs; two runs alone are never enough for one.

Per vendor and metric, over runs that asked the same: quantities on a log scale, shares as they are; what the *other*
vendors of the same run moved in common is taken out (:mod:`vendor_verifier.features.history.run_diff`), for what
moves all of them is this machine's network or the hour. Then

- fewer than 8 runs: no verdict yet;
- alarm: a change of level (:mod:`vendor_verifier.features.history.level_changes`) within the last 7 runs that is worse
  by at least the minimum effect, in the relative series and in the plain one (else another vendor's gain would be a
  loss);
- early warning: the newest run alone is far off (:mod:`vendor_verifier.features.history.newest_night`), from 5 runs on.

The more series are judged at once, the more of them would alarm by chance: p is 0.003 ÷ the number of series, and the
correlation of neighbouring nights is bounded with more confidence where there are several, which keeps a whole check
under 0.3 false alarms in 40 quiet nights, whether these are alike or not.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median

import msgspec

from vendor_verifier.audit.identity import changes_since_last
from vendor_verifier.config.problems import listed
from vendor_verifier.errors import Problem, ProblemsError, UsageError
from vendor_verifier.features.history.database import read_runs
from vendor_verifier.features.history.figures import (
    LEAST_DIFFERENCE,
    LEAST_RATIO,
    WATCHED,
    direction_of,
    metric_names,
    scale_of,
)
from vendor_verifier.features.history.level_changes import (
    ALONE,
    AMONG,
    P_VALUE,
    change_points,
    hodges_lehmann,
    likeness,
)
from vendor_verifier.features.history.newest_night import LEAST_ROBUST, newest_z, warning_limit
from vendor_verifier.features.history.run_diff import common_shift
from vendor_verifier.records.history import HistoryEntry, HistoryRun, LevelChange, Night, Scale, Trend, TrendVerdict
from vendor_verifier.records.judgement import Finding
from vendor_verifier.records.labels import shown_label
from vendor_verifier.words import english

LEAST_RUNS = LEAST_ROBUST
RECENT_RUNS = 7
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
    bound = ALONE if len(wanted) == 1 else AMONG
    alike = {
        (model, metric): _likeness(series, model, metric, bound)
        for model, metric in {(entry.model, metric) for entry, metric in wanted}
    }
    return tuple(_trend(series, entry, metric, len(wanted), alike[entry.model, metric]) for entry, metric in wanted)


def _likeness(runs: Sequence[HistoryRun], model: str, metric: str, bound: float) -> float:
    """The correlation of neighbouring nights of a metric, over all vendors of the newest run that have a verdict."""
    entries = [entry for entry in runs[-1].entries if entry.model == model and metric in entry.figures]
    found = [_series(runs, entry, metric).relative for entry in entries]
    return likeness([values for values in found if len(values) >= LEAST_RUNS], bound)


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
        UsageError: the history cannot be read, holds no such run, model or vendor, or none of its newest run's vendors
            has the metric.
    """
    refuse_unknown(file, models, labels)
    runs = _until(read_runs(file, models=models, labels=labels), until, file)
    wanted = metric_names(metrics) or WATCHED
    found = trends(runs, metrics=wanted, models=models, labels=labels)
    series = comparable(runs)
    if metrics and series and not found:
        known = sorted({name for entry in series[-1].entries for name in entry.figures})
        words = f"no such figure in the history: {', '.join(metrics)}; known are {', '.join(known)}"
        raise ProblemsError([Problem(words, key="--metric")])
    return found


def refuse_unknown(file: Path, models: Sequence[str], labels: Sequence[str]) -> None:
    """Refuse models and vendors that no run of the history had: of a misspelt one nothing would ever get worse."""
    entries = [entry for run in read_runs(file) for entry in run.entries] if models or labels else []
    if not entries:
        return
    by_flag = {
        "--model": (models, {entry.model for entry in entries}),
        "--vendor": (labels, {name for entry in entries for name in (entry.label, entry.vendor)}),
    }
    problems = [
        Problem(f"no run of the history has `{name}`; it has {listed(sorted(known))}", key=flag)
        for flag, (wanted, known) in by_flag.items()
        for name in wanted
        if name not in known
    ]
    if problems:
        raise ProblemsError(problems)


def identity_changes(file: Path, run: str) -> tuple[tuple[str, Finding], ...]:
    """(model, finding) for each served model name in the answers of ``run`` that differs from the last run before it.

    Raises:
        UsageError: the history cannot be read, or does not hold the run.
    """
    return tuple(changes_since_last(runs_until(file, run)))


def runs_until(file: Path, run: str) -> tuple[HistoryRun, ...]:
    """The runs of the history up to ``run``, oldest first.

    Raises:
        UsageError: the history cannot be read, or does not hold the run.
    """
    runs = read_runs(file)
    return runs[: _position(runs, run, file) + 1]


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


class _Series(msgspec.Struct, frozen=True):
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


def _trend(runs: Sequence[HistoryRun], entry: HistoryEntry, metric: str, judged: int, alike: float) -> Trend:
    """The trend of one series, where so many are judged at once and neighbouring nights are so alike."""
    series = _series(runs, entry, metric)
    named, count = (entry.model, entry.label, metric, series.scale), len(series.nights)
    found = newest_z(series.relative, series.least)
    z = None if found is None else series.sign * found
    is_far_off = z is not None and z > warning_limit(count, judged)
    if count < LEAST_RUNS:
        young = english("trend_reason_young", count=count, least=LEAST_RUNS)
        told = _far_off(z) if is_far_off else ("no_verdict", young)
        return Trend(*named, *told, series.nights, z=z)
    points = change_points(series.relative, least_effect=series.least, p_value=P_VALUE / judged, alike=alike)
    verdict, reason = _verdict(series, [position for position, _ in points]) or (
        _far_off(z) if is_far_off else ("steady", english("trend_reason_steady", recent=RECENT_RUNS, count=count))
    )
    return Trend(*named, verdict, reason, series.nights, _changes(series, points), z)


def _far_off(z: float | None) -> tuple[TrendVerdict, str]:
    return "warning", english("trend_reason_far_off", z=f"{z or 0.0:.1f}")


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


def _verdict(series: _Series, points: Sequence[int]) -> tuple[TrendVerdict, str] | None:
    """The net of all recent changes of level decides, so that a drop that came back is none; None without any."""
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
    return None
