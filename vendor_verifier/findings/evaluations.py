"""Does it score as the baseline does in the evaluations that give scores? Paired over samples (Miller 2024)."""

from __future__ import annotations

import pandas as pd

from vendor_verifier.findings.base import ModelRun, Reach, Test, hindrance, shown
from vendor_verifier.records.results import FacetName
from vendor_verifier.stats.compare import paired
from vendor_verifier.stats.decisions import SIZES, sign_power, smallest

FACET: FacetName = "tool_calls"
LINE, ENOUGH, LEAST = 0.05, 0.10, 10


def evaluation_tests(run: ModelRun) -> list[Test]:
    """A test of every vendor in every evaluation: its score is below the baseline's."""
    found = []
    for label, suite in _asked(run):
        pairs = _pairs(run, label, suite)
        if len(pairs) < LEAST:
            continue
        result = paired(pairs["own"].to_numpy(float), pairs["base"].to_numpy(float))
        lost = pairs[pairs["own"] < pairs["base"]].assign(by=lambda rows: rows["own"] - rows["base"])
        text = (
            f"{suite}: scores {pairs['own'].mean():.3g}, the baseline {pairs['base'].mean():.3g} "
            f"({-100 * result.value:.2g} points lower; lower in {len(lost)} of {len(pairs)} samples)."
        )
        found.append(
            Test(
                vendor=label, facet=FACET, name="score", text=text, p_value=result.p_value, beyond=result.high < -LINE,
                counts=bool((pairs["own"] != pairs["base"]).any()), value=result.value, low=result.low,
                high=result.high, n=result.n, samples=shown(lost.sort_values("by", kind="stable")["sample"]),
            )
        )  # fmt: skip
    return found


def evaluation_reach(run: ModelRun) -> list[Reach]:
    """The smallest loss of score that each evaluation finds, by the sign test.

    How often a vendor like the baseline scores otherwise by chance is taken as half of what independent answers with
    the baseline's mean would: p (1 − p).
    """
    asked = _asked(run)
    found = []
    for label, suite in asked:
        base = _scores(run, run.baseline, suite)
        why, n = hindrance(run, label), len(base)
        if why is not None:
            found.append(Reach(label, FACET, False, why, n=n))
            continue
        share, alpha = float(base.mean()), 0.01 / len(asked)
        noise = round(share * (1 - share), 2)
        points = _seen_loss(n, noise, alpha)
        enough = points is not None and points <= ENOUGH
        sizes = (size for size in SIZES if size > n and (_seen_loss(size, noise, alpha) or 1.0) <= ENOUGH)
        needed = None if enough else next(sizes, None)
        seen = "no loss" if points is None else f"a loss of {100 * points:.0f} points"
        text = f"{suite}: {seen} would have been seen in {n} samples."
        found.append(Reach(label, FACET, enough, text, points, n, needed=needed))
    return found


def _seen_loss(n: int, noise: float, alpha: float) -> float | None:
    return smallest(lambda points: sign_power(n, noise, points, alpha))


def _asked(run: ModelRun) -> list[tuple[str, str]]:
    scored = run.records[run.records["score"].notna() & (run.records["label"] == run.baseline)]
    return [(label, str(suite)) for label in run.vendors for suite in scored["suite"].unique()]


def _scores(run: ModelRun, label: str | None, suite: str) -> pd.Series[float]:
    """The mean score of every sample over its repetitions, where our side or the data did not lose it."""
    rows = run.asked[label or ""]
    rows = rows[(rows["suite"] == suite) & rows["score"].notna()]
    return rows.astype({"sample": str}).groupby("sample")["score"].mean()


def _pairs(run: ModelRun, label: str, suite: str) -> pd.DataFrame:
    both = {"own": _scores(run, label, suite), "base": _scores(run, run.baseline, suite)}
    return pd.DataFrame(both).dropna().reset_index()
