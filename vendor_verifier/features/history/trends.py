"""Whether a vendor got worse over the runs of a history; two runs alone are never enough to tell.

Of complete runs that asked the same, per vendor and figure, quantities on a logarithmic scale:

- what three in four of the other vendors of a run, three at least, moved in common is taken out;
- from 8 runs on, a change of level (:mod:`vendor_verifier.features.history.level_changes`) within the last 7 runs is a
  regression if it is worse by at least the least change, with the others' movement taken out and without.

The more series are judged at once, the more would alarm by chance: p is 0.003 ÷ their number.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import median
from typing import Any, Literal

import msgspec
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from vendor_verifier.features.history.database import WATCHED, least_change, shown, shown_change
from vendor_verifier.features.history.level_changes import P_VALUE, change_points, hodges_lehmann, likeness
from vendor_verifier.scoring.metrics import is_higher_better, is_share

LEAST_RUNS, RECENT_RUNS, LEAST_OTHERS = 8, 7, 3
# Older runs tell little about the newest one, and a split costs the square of the length.
_MOST_RUNS = 150
# Normal quantiles of the bound of the correlation: 87.5 % where one series is judged, 95 % where there are several.
_ALONE, _AMONG = 1.15, 1.64
TrendVerdict = Literal["regression", "improvement", "steady", "too_few_runs"]
TREND_ORDER: tuple[TrendVerdict, ...] = ("regression", "improvement", "steady", "too_few_runs")
_BARS = "▁▂▃▄▅▆▇█"


class Trend(msgspec.Struct, frozen=True):
    """One figure of one vendor over the comparable runs, oldest first, and the verdict on its newest level.

    ``changes`` are the places in ``values`` where a new level begins.
    """

    model: str
    label: str
    figure: str
    verdict: TrendVerdict
    reason: str
    runs: tuple[str, ...]
    values: tuple[float, ...]
    changes: tuple[int, ...] = ()


def trends(history: pd.DataFrame, figures: Iterable[str] = WATCHED) -> list[Trend]:
    """The trends of the newest complete run's vendors.

    Only runs that asked the same are comparable. A vendor without the figure in the newest run has no trend of it.
    """
    whole = history[history["complete"].astype(bool)]
    if whole.empty:
        return []
    nights = whole[whole["question"] == whole["question"].iloc[-1]]
    nights = nights[nights["run"].isin(nights["run"].unique()[-_MOST_RUNS:])]
    asked = nights[nights["run"] == nights["run"].iloc[-1]]
    wanted = [
        (str(model), figure, list(rows["label"]))
        for model, part in asked.groupby("model", sort=False)
        for figure in figures
        if figure in part and len(rows := part[part[figure].notna()])
    ]
    judged = sum(len(found) for _, _, found in wanted)
    result = []
    for model, figure, found in wanted:
        rows = nights[nights["model"] == model]
        values = rows.pivot(index="run", columns="label", values=figure).reindex(rows["run"].unique())
        levels = values if is_share(figure) else np.log(values.where(values > 0))
        relative = levels - _common_shift(levels)
        present = [relative[label].dropna() for label in relative if not np.isnan(relative[label].iloc[-1])]
        long = [series.to_numpy() for series in present if len(series) >= LEAST_RUNS]
        correlation = likeness(long, _ALONE if judged == 1 else _AMONG)
        for label in found:
            series = pd.DataFrame({"value": values[label], "plain": levels[label], "relative": relative[label]})
            result.append(_trend((model, label, figure), series.dropna(), judged, correlation))
    return result


def _common_shift(levels: pd.DataFrame) -> pd.DataFrame:
    """Runs × vendors: how far the other vendors of the run together were from their own medians."""
    moved = levels - levels.median()
    shifts = {label: [_shift(row) for row in moved.drop(columns=label).to_numpy()] for label in levels}
    return pd.DataFrame(shifts, index=levels.index)


def _shift(row: NDArray[np.float64]) -> float:
    """The median movement, as far as three vendors, and three in four, moved at least half as far; else 0."""
    others = row[~np.isnan(row)]
    needed = max(LEAST_OTHERS, math.ceil(0.75 * len(others)))
    if len(others) < needed:
        return 0.0
    ordered = np.sort(others)
    up, down = max(ordered[-needed], 0.0), min(ordered[needed - 1], 0.0)
    return float(min(max(np.median(ordered), 2 * down), 2 * up))


def _trend(about: tuple[str, str, str], series: pd.DataFrame, judged: int, correlation: float) -> Trend:
    figure, count = about[2], len(series)
    plain, relative = series["plain"].to_numpy(), series["relative"].to_numpy()
    least, worse = least_change(figure), -1.0 if is_higher_better(figure) else 1.0
    verdict: TrendVerdict = "too_few_runs"
    reason, points = f"{count} of the {LEAST_RUNS} comparable runs that it takes", []
    if count >= LEAST_RUNS:
        verdict, reason = "steady", f"no change of level in the last {RECENT_RUNS} of {count} runs"
        points = change_points(relative, least_effect=least, p_value=P_VALUE / judged, correlation=correlation)
    recent = [point for point in points if count - point <= RECENT_RUNS]
    if recent:
        # The net of all recent changes decides, so that a drop that came back is none.
        older = max((point for point in points if point < recent[0]), default=0)
        parts = slice(older, recent[0]), slice(recent[-1], None)
        shifts = [hodges_lehmann(values[parts[0]], values[parts[1]]) for values in (relative, plain)]
        ends = " → ".join(shown(figure, median(series["value"].iloc[part])) for part in parts)
        change = f"{ends} ({shown_change(figure, shifts[0])}) since {series.index[recent[0]]}"
        if min(worse * shift for shift in shifts) >= least:
            verdict, reason = "regression", change
        elif max(worse * shift for shift in shifts) <= -least:
            verdict, reason = "improvement", change
    return Trend(*about, verdict, reason, tuple(series.index), tuple(series["value"]), tuple(points))


def trend_line(trend: Trend) -> str:
    """``regression: m / novita / ttft_ms.p50: 210 → 300 (+43.0 %) since RUN  208 ▁▂▁▁▇█ 301``; each bar is a run."""
    shown_runs = np.array(trend.values[-60:])
    low, high = shown_runs.min(), shown_runs.max()
    heights = (shown_runs - low) / (high - low or 1.0) * (len(_BARS) - 1)
    bars: Any = "".join(_BARS[round(height)] for height in heights)
    ends = [shown(trend.figure, value) for value in (trend.values[0], trend.values[-1])]
    name = f"{trend.model} / {trend.label} / {trend.figure}"
    return f"{trend.verdict.replace('_', ' ')}: {name}: {trend.reason}  {ends[0]} {bars} {ends[1]}"
