"""Whether a vendor got worse over the runs of a history; two runs alone are never enough to tell.

Of complete runs that asked the same, per vendor and figure, quantities on a logarithmic scale:

- what the other vendors of a run moved in common is taken out, because the network or the hour moves all of them;
- from 8 runs on, a change of level (:mod:`vendor_verifier.features.history.level_changes`) within the last 7 runs is a
  regression if it is worse by at least the least change, with the others' movement taken out and without;
- else a newest run with a robust z = (x − median) ÷ (1.4826 · MAD) over the 20 runs before it beyond the limit is a
  warning (Iglewicz and Hoaglin, How to Detect and Handle Outliers, 1993). The limit is 3, or what 0.01 ÷ the number of
  series leaves of Student's t with 8 degrees of freedom, which is about how z falls on quiet nights.

The more series are judged at once, the more would alarm by chance: p is 0.003 ÷ their number.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Literal

import msgspec
import numpy as np
import pandas as pd

from vendor_verifier.features.history.figures import WATCHED, least_change, shown, shown_change
from vendor_verifier.features.history.level_changes import (
    ALONE,
    AMONG,
    P_VALUE,
    change_points,
    hodges_lehmann,
    likeness,
)
from vendor_verifier.scoring.metrics import is_higher_better, is_share

LEAST_RUNS = 8
RECENT_RUNS = 7
LEAST_OTHERS = 3
# Older runs tell little about the newest one, and a split costs the square of the length.
_MOST_RUNS = 150
_Z_RUNS, _Z_LIMIT, _Z_DEGREES, _Z_P_VALUE = 20, 3.0, 8, 0.01
TrendVerdict = Literal["regression", "warning", "improvement", "steady", "too_few_runs"]


class Trend(msgspec.Struct, frozen=True):
    """One figure of one vendor over the comparable runs, oldest first, and what is to be said of the newest.

    ``changes`` are the positions in ``values`` where a new level begins; ``z`` is the newest run's robust z, positive
    where it is worse, None with fewer than 8 runs.
    """

    model: str
    label: str
    figure: str
    verdict: TrendVerdict
    reason: str
    runs: tuple[str, ...]
    days: tuple[str, ...]
    values: tuple[float, ...]
    changes: tuple[int, ...] = ()
    z: float | None = None


def comparable(history: pd.DataFrame) -> pd.DataFrame:
    """The complete runs that asked what the newest of them did: half a run is no night."""
    whole = history[history["complete"].astype(bool)]
    return whole[whole["question"] == whole["question"].iloc[-1]] if len(whole) else whole


def trends(
    history: pd.DataFrame, figures: Iterable[str] = WATCHED, *, models: Sequence[str] = (), labels: Sequence[str] = ()
) -> list[Trend]:
    """The trends of the newest run's vendors, or of ``models`` and ``labels`` (or vendors' names) among them.

    A vendor without the figure in the newest run has no trend of it.
    """
    nights = comparable(history)
    if nights.empty:
        return []
    nights = nights[nights["run"].isin(nights["run"].unique()[-_MOST_RUNS:])]
    newest = nights[nights["run"] == nights["run"].iloc[-1]]
    asked = newest[
        (newest["model"].isin(models) | (not models))
        & (newest["label"].isin(labels) | newest["vendor"].isin(labels) | (not labels))
    ]
    wanted = [
        (str(model), figure, list(rows["label"]))
        for model, part in asked.groupby("model", sort=False)
        for figure in figures
        if figure in part and len(rows := part[part[figure].notna()])
    ]
    judged = sum(len(found) for _, _, found in wanted)
    trends = []
    for model, figure, found in wanted:
        plain = _levels(nights[nights["model"] == model], figure)
        relative = plain - _common_shift(plain)
        present = relative.loc[:, relative.iloc[-1].notna()]
        long = [values for label in present if len(values := present[label].dropna()) >= LEAST_RUNS]
        alike = likeness([values.to_numpy() for values in long], ALONE if judged == 1 else AMONG)
        for label in found:
            rows = nights[(nights["model"] == model) & (nights["label"] == label)].set_index("run")
            known = plain.index[plain[label].notna()]
            series = (plain.loc[known, label].to_numpy(), relative.loc[known, label].to_numpy())
            trends.append(_trend(model, label, figure, rows.loc[known], *series, judged, alike))
    return trends


def _levels(rows: pd.DataFrame, figure: str) -> pd.DataFrame:
    """Runs × vendors: the figure on its scale; what is not positive has no ratio and is missing."""
    table = rows.pivot(index="run", columns="label", values=figure).reindex(rows["run"].unique())
    return table if is_share(figure) else np.log(table.where(table > 0))


def _common_shift(levels: pd.DataFrame) -> pd.DataFrame:
    """Runs × vendors: how far the other vendors together were from their own medians."""
    moved = levels - levels.median()
    shift = pd.DataFrame(0.0, index=levels.index, columns=levels.columns)
    for label in levels:
        own = levels[label].notna()
        beside = levels.notna().mul(own, axis=0).sum() * 2 >= own.sum()
        others = moved.loc[:, beside & (beside.index != label)]
        shift[label] = [common_shift([value for value in row if not math.isnan(value)]) for row in others.to_numpy()]
    return shift


def common_shift(others: Sequence[float]) -> float:
    """The movement that three of the others, and three in four of them, made at least half of; else 0."""
    needed = max(LEAST_OTHERS, math.ceil(0.75 * len(others)))
    if len(others) < needed:
        return 0.0
    ordered = sorted(others)
    up, down = max(ordered[-needed], 0.0), min(ordered[needed - 1], 0.0)
    return min(max(median(ordered), 2 * down), 2 * up)


def _trend(
    model: str,
    label: str,
    figure: str,
    rows: pd.DataFrame,
    plain: np.ndarray,
    relative: np.ndarray,
    judged: int,
    alike: float,
) -> Trend:
    """The trend of one series, where so many are judged at once and neighbouring nights are so alike."""
    count, least, worse = len(plain), least_change(figure), -1.0 if is_higher_better(figure) else 1.0
    verdict: TrendVerdict = "too_few_runs"
    reason = f"{count} of the {LEAST_RUNS} comparable runs that it takes"
    points: list[int] = []
    z = None
    if count >= LEAST_RUNS:
        verdict, reason = "steady", f"no change of level in the last {RECENT_RUNS} of {count} runs"
        points = [at for at, _ in change_points(relative, least_effect=least, p_value=P_VALUE / judged, alike=alike)]
        z = worse * _newest_z(relative, least)
        if z > _z_limit(judged):
            verdict, reason = "warning", f"this run alone is an outlier (z {z:.1f}); a lasting change takes two runs"
    recent = [point for point in points if count - point <= RECENT_RUNS]
    if recent:
        # The net of all recent changes decides, so that a drop that came back is none.
        older = max((point for point in points if point < recent[0]), default=0)
        before, after = slice(older, recent[0]), slice(recent[-1], None)
        shifts = [worse * hodges_lehmann(values[before], values[after]) for values in (relative, plain)]
        levels = [shown(figure, median(rows[figure].iloc[part])) for part in (before, after)]
        change = f"{levels[0]} → {levels[1]} ({shown_change(figure, worse * shifts[0])}) since {rows.index[recent[0]]}"
        if min(shifts) >= least:
            verdict, reason = "regression", change
        elif max(shifts) <= -least:
            verdict, reason = "improvement", change
    days = tuple(rows["at"].dt.strftime("%Y-%m-%d").fillna("–"))
    values = tuple(float(value) for value in rows[figure])
    return Trend(model, label, figure, verdict, reason, tuple(rows.index), days, values, tuple(points), z)


def _newest_z(values: np.ndarray, least: float) -> float:
    """The robust z of the newest value against the 20 before it; equal nights have the spread of a third of ``least``."""
    before = values[-1 - _Z_RUNS : -1]
    spread = 1.4826 * float(np.median(np.abs(before - np.median(before))))
    return float(values[-1] - np.median(before)) / max(spread, least / _Z_LIMIT)


def _z_limit(judged: int) -> float:
    from scipy.special import stdtrit

    return max(_Z_LIMIT, -float(stdtrit(_Z_DEGREES, _Z_P_VALUE / judged)))
