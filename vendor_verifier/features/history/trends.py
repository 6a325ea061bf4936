"""Whether a vendor got worse over the runs of a history; docs/nightly.md has the rules.

Of complete runs that asked the same, per vendor and figure, quantities on a logarithmic scale, a change of level is
judged with the other vendors' common movement taken out and without. The more series are judged at once, the more would
alarm by chance: p is 0.003 ÷ their number.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise
from statistics import median
from typing import Any, Literal

import msgspec
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtr

from vendor_verifier.features.history.database import WATCHED, least_change, shown, shown_change
from vendor_verifier.scoring.metrics import is_higher_better, is_share

LEAST_RUNS, RECENT_RUNS, LEAST_OTHERS = 8, 7, 3
P_VALUE = 0.003
# A split that is not yet significant may become so once its neighbours are found.
_LAX_P_VALUE = 0.01
# One night can be anything; a level takes two.
LEAST_LEVEL = 2
_MOST_ALIKE = 0.95
# Older runs tell little about the newest one, and a split costs the square of the length.
_MOST_RUNS = 150
# Normal quantiles of the bound of the correlation: 87.5 % where one series is judged, 95 % where there are several.
_ALONE, _AMONG = 1.15, 1.64
TrendVerdict = Literal["regression", "improvement", "steady", "too_few_runs"]
TREND_ORDER: tuple[TrendVerdict, ...] = ("regression", "improvement", "steady", "too_few_runs")
_BARS = "▁▂▃▄▅▆▇█"
Floats = NDArray[np.float64]


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
        forms = pd.concat({"value": values, "plain": levels, "relative": relative}, axis=1).swaplevel(axis=1)
        series = {label: forms[label].dropna() for label in found}
        long = [each["relative"].to_numpy() for each in series.values() if len(each) >= LEAST_RUNS]
        correlation = likeness(long, _ALONE if judged == 1 else _AMONG)
        result += [_trend((model, label, figure), each, judged, correlation) for label, each in series.items()]
    return result


def _common_shift(levels: pd.DataFrame) -> pd.DataFrame:
    """Runs × vendors: how far the other vendors of the run together were from their own medians."""
    moved = levels - levels.median()
    return pd.DataFrame({label: _shifts(moved.drop(columns=label).to_numpy()) for label in levels}, index=levels.index)


def _shifts(others: Floats) -> Floats:
    """Per run the median movement, as far as three vendors, and three in four, moved at least half as far; else 0."""
    found = np.zeros(len(others))
    count = np.count_nonzero(~np.isnan(others), axis=1)
    needed = np.maximum(LEAST_OTHERS, np.ceil(0.75 * count).astype(int))
    if (enough := count >= needed).any():
        rows, count, needed = np.sort(others[enough], axis=1), count[enough], needed[enough]  # missing ones come last
        at = np.arange(len(rows))
        up, down = np.maximum(rows[at, count - needed], 0), np.minimum(rows[at, needed - 1], 0)
        middle = (rows[at, (count - 1) // 2] + rows[at, count // 2]) / 2
        found[enough] = np.clip(middle, 2 * down, 2 * up)
    return found


def _trend(about: tuple[str, str, str], series: pd.DataFrame, judged: int, correlation: float) -> Trend:
    figure, count = about[2], len(series)
    plain, relative = series["plain"].to_numpy(), series["relative"].to_numpy()
    least, worse = least_change(figure), -1.0 if is_higher_better(figure) else 1.0
    verdict: TrendVerdict = "too_few_runs"
    reason, points = f"needs {LEAST_RUNS} comparable runs, has {count}", []
    if count >= LEAST_RUNS:
        verdict, reason = "steady", f"no change of level in the last {RECENT_RUNS} of {count} runs"
        points = change_points(relative, least_effect=least, p_value=P_VALUE / judged, correlation=correlation)
    recent = [point for point in points if count - point <= RECENT_RUNS]
    if recent:
        # The net of all recent changes decides, so that a drop that recovered does not count.
        older = max((point for point in points if point < recent[0]), default=0)
        before, after = slice(older, recent[0]), slice(recent[-1], None)
        # The median of all differences (Hodges and Lehmann, Ann. Math. Stat. 34, 1963).
        shifts = [float(np.median(np.subtract.outer(each[after], each[before]))) for each in (relative, plain)]
        ends = " → ".join(shown(figure, median(series["value"].iloc[part])) for part in (before, after))
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


# Changes of level are E-divisive splits (Matteson and James, arXiv 1306.4933), kept by Student's t-test as in Hunter
# (Fleming et al., ICPE 2023, arXiv 2301.03034) and by a least effect. A slow week is one event, not seven: with a
# correlation of ρ between neighbouring nights the mean of m nights varies by σ²·v(m) and the t-test is widened by it,
# v(m) = [1 + 2·Σ (1 − k/m)·ρᵏ] ÷ m. ρ is the upper bound of what is measured within the levels of a model's vendors.


def change_points(
    values: Floats, *, least_effect: float, p_value: float = P_VALUE, correlation: float = 0.0
) -> list[int]:
    """The first index of every new level, in order.

    A change stays if the t-test between the levels on both of its sides has p < ``p_value`` and their means differ by
    at least ``least_effect``. ``values`` has shape (runs,).
    """
    points = _splits(values, 0, len(values))
    while points:
        tests = [_change(*pair, least_effect, correlation) for pair in pairwise(np.split(values, points))]
        weakest = max(range(len(points)), key=tests.__getitem__)
        if tests[weakest] < p_value:
            break
        # Only the weakest goes: without it the levels next to it are longer and their tests stronger.
        del points[weakest]
    return points


def likeness(series: Iterable[Floats], bound: float) -> float:
    """The upper bound of the correlation between neighbouring nights of one level, over all ``series``; 0 … 0.95.

    ``bound`` is the normal quantile of its confidence; the standard error is 1 ÷ √n. Levels are cut wherever one may
    have begun; inside a level the correlation comes out too low by (1 + 3ρ) ÷ n, which is added (Marriott, Pope, 1954).
    """
    parts = [part for values in series for part in np.split(values, _splits(values, 0, len(values)))]
    levels = [part - part.mean() for part in parts]
    n, count = sum(map(len, levels)), len(levels)
    products = sum(float((level[1:] * level[:-1]).sum()) for level in levels)
    squares = sum(float((level**2).sum()) for level in levels)
    if squares <= 1e-24:
        return 0.0
    unbiased = (products / squares * n + count) / max(n - 3 * count, n / 3)
    return min(max(unbiased + bound / math.sqrt(n), 0.0), _MOST_ALIKE)


def _splits(values: Floats, start: int, end: int) -> list[int]:
    """The first index of every level that may have begun, in order."""
    if end - start < 2 * LEAST_LEVEL:
        return []
    split = start + _best_split(values[start:end])
    if _t_test(values[start:split], values[split:end])[0] >= _LAX_P_VALUE:
        return []
    return [*_splits(values, start, split), split, *_splits(values, split, end)]


def _best_split(values: Floats) -> int:
    """The split with the greatest energy distance between its sides, q = ml ÷ (m + l) · E(X, Y)."""
    n = len(values)
    distances = np.abs(np.subtract.outer(values, values))
    sums = distances.cumsum(axis=0).cumsum(axis=1)
    m = np.arange(LEAST_LEVEL, n - LEAST_LEVEL + 1)
    left, right = m.astype(float), n - m.astype(float)
    inside_left, up_to = sums[m - 1, m - 1], sums[m - 1, n - 1]
    inside_right = sums[n - 1, n - 1] - 2 * up_to + inside_left
    energy = (
        2 * (up_to - inside_left) / (left * right)
        - inside_left / (left * (left - 1))
        - inside_right / (right * (right - 1))
    )
    return int(m[np.argmax(left * right / n * energy)])


def _change(before: Floats, after: Floats, least_effect: float, correlation: float) -> float:
    """p of the change between two levels; 1 if it is too small, or rests on one run only.

    Each run of a level of two must show the least effect, and a third of the whole: one outlier is no level.
    """
    p_value, effect = _t_test(before, after, correlation)
    is_change = abs(effect) >= least_effect
    sign, shown = math.copysign(1, effect), max(least_effect, abs(effect) / 3)
    for level, moved in ((after, sign * (after - np.median(before))), (before, sign * (np.median(after) - before))):
        is_change = is_change and (len(level) > LEAST_LEVEL or moved.min() >= shown)
    return p_value if is_change else 1.0


def _t_test(before: Floats, after: Floats, correlation: float = 0.0) -> tuple[float, float]:
    """Two-sided p of Student's t-test with pooled variance, and the difference of means after − before.

    With a correlation of ``correlation`` between neighbours the means vary by v(m), and the squares are worth
    (1 − ρ²) ÷ (1 + ρ²) as many degrees of freedom (Bartlett, J. Roy. Stat. Soc. 98, 1935).
    """
    effect = float(after.mean() - before.mean())
    squares = float(((before - before.mean()) ** 2).sum() + ((after - after.mean()) ** 2).sum())
    if squares <= 1e-24:
        return (1.0 if effect == 0 else 0.0), effect
    # v(m) of both levels.
    near = correlation / (1 - correlation)
    spread = [(1 + 2 * near * (1 - (1 + near) * (1 - correlation**n) / n)) / n for n in (len(before), len(after))]
    free = sum(len(level) * (1 - own) for level, own in zip((before, after), spread, strict=True))
    error = math.sqrt(squares / free * sum(spread))
    degrees = max(1.0, free * (1 - correlation**2) / (1 + correlation**2))
    return float(2 * stdtr(degrees, -abs(effect) / error)), effect
