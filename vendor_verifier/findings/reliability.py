"""Does it answer? Failures, answers cut off or stopped early, answers on a later try only."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from vendor_verifier.findings.base import ModelRun, Reach, Test, hindrance, main_failure, percent, shown, unreached
from vendor_verifier.findings.baseline import MOST_FAILURES, fault
from vendor_verifier.stats.compare import more_often, more_stretches, stretches
from vendor_verifier.stats.decisions import smallest, stretches_power

FACET = "reliability"
FAILED_LINE, CUT_LINE, LEAST_RETRIED = 0.10, 0.05, 0.05
ENOUGH_FAILED, ENOUGH_CUT = 0.20, 0.10
# Failures at most so many requests apart in sending order are one stretch; an answer that breaks off is no outage.
GAP, CUT_GAP = 2, 1
LEAST_DOWN, DOWN = 60, 0.5
LEAST_MORE, MORE = 2, 0.02
_TESTS = 3
_SHARES = [points / 100 for points in range(1, 101)]
_SIZES = (20, 40, 60, 80, 100, 125, 150, 200, 250, 315, 400, 500, 630, 800, 1000, 1500, 2000)


def reliability_tests(run: ModelRun) -> list[Test]:
    """Facts and tests of every vendor."""
    return [test for label in run.vendors for test in [*_down(run, label), *_compared(run, label)]]


def _failed(rows: pd.DataFrame) -> pd.Series[bool]:
    """Failures that the vendor answers for; answers that break off count by themselves."""
    return (rows["charge"] == "vendor") & (rows["failure"] != "truncated")


def _asked(run: ModelRun, label: str) -> pd.DataFrame:
    """The rows that say something of the vendor: answers, and failures that it answers for."""
    rows = run.rows[label]
    return rows[rows["ok"] | (rows["charge"] == "vendor")]


def _down(run: ModelRun, label: str) -> Iterator[Test]:
    """At least half of the requests failed in each third of the run, while the baseline failed less than 10 %."""
    rows = _asked(run, label)
    failed = ~rows["ok"].to_numpy()
    gave_up = unreached(run.rows[label])
    if not failed.any() or (len(rows) < LEAST_DOWN and not gave_up):
        return
    if run.baseline is not None and (~_asked(run, run.baseline)["ok"]).mean() >= MOST_FAILURES:
        return
    if all(third.mean() >= DOWN for third in np.array_split(failed, 3) if third.size):
        kinds, remedy = main_failure(rows)
        text = f"{int(failed.sum())} of {len(rows)} requests failed throughout the run ({kinds}). {remedy}"
        yield Test(
            vendor=label, facet=FACET, name="down", text=text, status="down", value=float(failed.mean()), n=len(rows),
            samples=shown(rows[failed]),
        )  # fmt: skip


def _compared(run: ModelRun, label: str) -> Iterator[Test]:
    if run.baseline is None:
        return
    own, base = _asked(run, label), _asked(run, run.baseline)
    if own.empty or base.empty:
        return
    for name, gap, line, least in (
        ("failed", GAP, FAILED_LINE, 0.0), ("cut_off", CUT_GAP, CUT_LINE, 0.0), ("retried", GAP, 1.0, LEAST_RETRIED),
    ):  # fmt: skip
        hit, base_hit = (_hit(run, where, rows, name) for where, rows in ((label, own), (run.baseline, base)))
        groups, base_groups = stretches(hit, gap), _base_stretches(base, base_hit, len(own), gap)
        found = more_stretches(groups, int(hit.sum()), len(own), base_groups, len(base))
        if hit.mean() <= least:
            found = found._replace(p_value=1.0)
        against = f"the baseline {int(base_hit.sum())} of {len(base)}"
        count = f"{int(hit.sum())} of {len(own)}"
        kinds = main_failure(own[hit])[0] if name == "failed" and hit.any() else ""
        text = {
            "failed": f"{count} requests failed in {groups} groups ({kinds}); {against}.",
            "cut_off": f"Cut off {count} answers before their end; {against}.",
            "retried": f"{count} requests succeeded on a later try only; {against}.",
        }[name]
        yield Test(
            vendor=label, facet=FACET, name=name, text=text, p_value=found.p_value, beyond=found.low > line,
            counts=bool(groups or base_groups), value=found.value, low=found.low, high=found.high, n=found.n,
            samples=shown(own[hit]),
        )  # fmt: skip
    yield from _stopped_early(run, label, own, base)


def _hit(run: ModelRun, label: str, rows: pd.DataFrame, name: str) -> NDArray[np.bool_]:
    """Which of these rows failed, were cut off in any attempt, or were answered on a later try only.

    Attempts refused for our rate (429) count for none of them.
    """
    if name == "failed":
        return _failed(rows).to_numpy()
    attempts = run.attempts[run.attempts["label"] == label]
    key = ["suite", "sample", "repetition"]
    cut = _in(rows, attempts[attempts["failure"] == "truncated"], key) | (rows["failure"] == "truncated").to_numpy()
    if name == "cut_off":
        return cut
    blamed = attempts[attempts["succeeded"] & ~attempts["failure"].isin(["truncated", "rate_limited"])]
    return _in(rows, blamed, key) & rows["retried"].to_numpy()


def _in(rows: pd.DataFrame, chosen: pd.DataFrame, key: list[str]) -> NDArray[np.bool_]:
    if chosen.empty:
        return np.zeros(len(rows), bool)
    found = set(zip(*(chosen[name].astype(object) for name in key), strict=True))
    return np.array([each in found for each in zip(*(rows[name].astype(object) for name in key), strict=True)], bool)


def _base_stretches(base: pd.DataFrame, hit: NDArray[np.bool_], n: int, gap: int) -> int:
    """The baseline's stretches, where it is asked k times as often counted in each of k passes: an outage then hits as
    many requests in a row as the vendor's own does."""
    passes = max(1, round(len(base) / max(1, n)))
    turn = base["repetition"].to_numpy() % passes
    return sum(stretches(hit[turn == each], gap) for each in range(passes))


def _stopped_early(run: ModelRun, label: str, own: pd.DataFrame, base: pd.DataFrame) -> Iterator[Test]:
    """Answers that end for their length below the limit that was asked for (Fisher)."""
    counts = []
    for rows in (own, base):
        limit = rows["max_tokens"].fillna(np.inf)
        counts.append((rows["ok"] & (rows["finish"] == "length") & (rows["output_tokens"] < 0.9 * limit)).to_numpy())
    stopped, base_stopped = counts
    found = more_often(int(stopped.sum()), len(own), int(base_stopped.sum()), len(base))
    text = (
        f"Stopped {int(stopped.sum())} of {len(own)} answers below the requested length; "
        f"the baseline {int(base_stopped.sum())} of {len(base)}."
    )
    yield Test(
        vendor=label, facet=FACET, name="stopped_early", text=text, p_value=found.p_value,
        beyond=found.low > CUT_LINE, counts=bool(stopped.any() or base_stopped.any()), value=found.value,
        low=found.low, high=found.high, n=found.n, samples=shown(own[stopped]),
    )  # fmt: skip


def reliability_reach(run: ModelRun) -> list[Reach]:
    """The smallest shares of failed and of cut answers that the run finds; not enough where a vendor failed more than
    the baseline without being found."""
    found = []
    for label in run.vendors:
        why = hindrance(run, label) or fault(run, FACET)
        if why is not None or run.baseline is None:
            found.append(Reach(label, FACET, False, f"{why}."))
            continue
        own, base = _asked(run, label), _asked(run, run.baseline)
        failed, base_failed = int((~own["ok"]).sum()), int((~base["ok"]).sum())
        n = run.planned[label]
        if failed >= LEAST_MORE and failed / len(own) > base_failed / len(base) + MORE:
            text = f"{failed} of {len(own)} requests failed ({main_failure(own)[0]}; baseline {base_failed} of {len(base)})"
            found.append(Reach(label, FACET, False, f"{text}: too few to tell how often. Run more samples.", n=n))
            continue
        seen = _seen(run, base, n, n)
        if seen is not None and seen[0] <= ENOUGH_FAILED and seen[1] <= ENOUGH_CUT:
            text = f"{percent(seen[0])} failed or {percent(seen[1])} cut off requests would have been seen."
            found.append(Reach(label, FACET, True, text, seen[0], n))
            continue
        sizes = (size for size in _SIZES if size > n)
        needed = next((size for size in sizes if _is_enough(_seen(run, base, n, size))), None)
        text = f"{n} requests are too few to see 20 % failing."
        found.append(Reach(label, FACET, False, text, None if seen is None else seen[0], n, needed=needed))
    return found


def _is_enough(seen: tuple[float, float] | None) -> bool:
    return seen is not None and seen[0] <= ENOUGH_FAILED and seen[1] <= ENOUGH_CUT


def _seen(run: ModelRun, base: pd.DataFrame, n: int, size: int) -> tuple[float, float] | None:
    """The shares of failed and of cut requests that ``size`` requests find; the baseline's groups grow with them."""
    alpha = 0.01 / (_TESTS * max(1, len(run.vendors)))
    shares = []
    for name, gap in (("failed", GAP), ("cut_off", CUT_GAP)):
        groups = _base_stretches(base, _hit(run, run.baseline or "", base, name), n, gap)
        groups, base_n = round(groups * size / n), round(len(base) * size / n)
        found = smallest(
            lambda share, g=groups, b=base_n, k=gap: stretches_power(size, g, b, share, k, alpha), _SHARES[:30]
        )
        if found is None:
            return None
        shares.append(found)
    return shares[0], shares[1]
