"""Reliability: failures, answers that are cut off or stop early, and answers on a later try only."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import pandas as pd

from vendor_verifier.findings.base import ModelRun, Reach, Test, compared, hit_more_often, main_failure, percent, shown
from vendor_verifier.records.results import FacetName
from vendor_verifier.stats.compare import more_stretches, needed_size, smallest, stretches, stretches_power
from vendor_verifier.text import too_few

FACET: FacetName = "reliability"
FAILED_LINE, CUT_LINE, LEAST_RETRIED = 0.10, 0.05, 0.05
ENOUGH_FAILED, ENOUGH_CUT = 0.20, 0.10
# Failures at most this distance from each other in sending order are one group. A cut answer is not an outage.
GAP, CUT_GAP = 2, 1
LEAST_DOWN, DOWN = 60, 0.5
# Failing more than the baseline by this share and number leaves the facet untested, where no test shows it.
LEAST_MORE, MORE = 2, 0.02
_TESTS = 4
# Above a third more failures make fewer groups, because they are one.
_SHARES = tuple(points / 100 for points in range(1, 31))


def down(run: ModelRun, label: str) -> Iterator[Test]:
    """At least half of the requests failed in each third of the run, while the baseline failed less than 10 %.

    It takes 60 requests, or a vendor that the run stopped because it could not be reached.
    """
    rows, failed = run.asked[label], ~run.asked[label]["ok"].to_numpy()
    if len(rows) < LEAST_DOWN and not run.gave_up(label):
        return
    if run.baseline is not None and (~run.asked[run.baseline]["ok"]).mean() >= FAILED_LINE:
        return
    if all(third.mean() >= DOWN for third in np.array_split(failed, 3) if third.size):
        kinds, remedy = main_failure(rows)
        text = f"{int(failed.sum())} of {len(rows)} requests failed, throughout the run{kinds}. {remedy}"
        share, samples = float(failed.mean()), shown(rows[failed])
        yield Test(FACET, "down", text, status="down", value=share, n=len(rows), samples=samples)


def failures(run: ModelRun, label: str) -> Iterator[Test]:
    """Groups of failures, of answers that break off, and of answers on a later try, against the baseline's."""
    own, base = run.asked[label], run.asked[run.baseline or ""]
    if own.empty or base.empty:
        return
    for name, gap, line, words in (
        ("failed", GAP, FAILED_LINE, "{} requests failed{}"),
        ("cut_off", CUT_GAP, CUT_LINE, "Cut off {} answers before their end"),
        ("retried", GAP, np.inf, "{} requests were answered on a later try only"),
    ):
        hit = own[name]
        count, base_groups = int(hit.sum()), _base_groups(base, name, len(own), gap)
        found = more_stretches(stretches(hit.to_numpy(), gap), count, len(own), base_groups, len(base))
        if name == "retried" and count <= LEAST_RETRIED * len(own):
            found = found._replace(p_value=1.0)
        text = words.format(f"{count} of {len(own)}", main_failure(own[hit])[0])
        text += f"; baseline {int(base[name].sum())} of {len(base)}."
        counts = count + base_groups > 0
        beyond = line + float(base[name].mean())
        yield compared(FACET, name, text, found, line=beyond, counts=counts, samples=shown(own[hit]))


def _base_groups(base: pd.DataFrame, name: str, n: int, gap: int) -> int:
    """The baseline's groups. Asked k times as often as a vendor it is counted in k passes, because an outage then hits
    as many requests in a row as at the vendor."""
    passes = max(1, round(len(base) / max(1, n)))
    hit, turn = base[name].to_numpy(), base["repetition"].to_numpy() % passes
    return sum(stretches(hit[turn == each], gap) for each in range(passes))


def stopped_early(run: ModelRun, label: str) -> Iterator[Test]:
    """Answers that end for their length below the limit that was asked for."""
    both, text = run.both(label), "answers stopped below the length asked for"
    # A token is a character at least.
    length = "output_tokens" if both[0]["output_tokens"].notna().any() else "characters"
    stopped = [(rows["finish"] == "length") & (rows[length] < 0.9 * rows["max_tokens"].fillna(np.inf)) for rows in both]
    return hit_more_often(FACET, "stopped_early", text, both[0], stopped, CUT_LINE)


def reach(run: ModelRun, label: str) -> Reach:
    """The smallest shares of failed and of cut answers that the run finds, from the baseline's failures and the plan.

    Not enough where a vendor failed more than the baseline without being found.
    """
    why, n = run.hindrance(label) or run.fault(FACET), run.planned.get(label, 0)
    if why is not None or not n:
        return Reach(False, why or "no requests were planned", meant=n > 0)
    own, base = run.asked[label], run.asked[run.baseline or ""]
    if failed_more(run, label):
        failed, base_failed = int((~own["ok"]).sum()), int((~base["ok"]).sum())
        is_down = len(own) < LEAST_DOWN and failed > DOWN * len(own)
        text = (
            f"{failed} of {len(own)} requests failed{main_failure(own)[0]}, for the baseline {base_failed} of "
            f"{len(base)}: too few {'requests to call it down' if is_down else 'failures to tell its rate'}"
        )
        return Reach(False, text, n=n, needed=LEAST_DOWN if is_down else 2 * n)

    def seen(name: str, gap: int, size: int) -> float:
        """The share that ``size`` requests find; the baseline's groups grow with them."""
        groups, base_n = round(_base_groups(base, name, n, gap) * size / n), round(len(base) * size / n)
        return smallest(partial(stretches_power, size, groups, base_n, gap, run.alpha(_TESTS)), _SHARES)

    def is_enough(size: int) -> bool:
        return seen("failed", GAP, size) <= ENOUGH_FAILED and seen("cut_off", CUT_GAP, size) <= ENOUGH_CUT

    if is_enough(n):
        failing, cut = percent(seen("failed", GAP, n)), percent(seen("cut_off", CUT_GAP, n))
        text = f"{failing} failed requests or {cut} cut answers would have been seen."
        refused = float((run.rows[label]["charge"] == "rate_limit").mean())
        if refused > MORE:
            text += f" It refused {percent(refused)} of our requests (429), which is not held against it."
        return Reach(True, text, n)
    text = f"{too_few(n, 'request')} to see {percent(ENOUGH_FAILED)} of them failing"
    return Reach(False, text, n, needed=needed_size(n, is_enough))


def failed_more(run: ModelRun, label: str) -> bool:
    """Whether a vendor failed more often than the baseline, at least twice, whether a test shows it or not."""
    failed, base = ~run.asked[label]["ok"], ~run.asked[run.baseline or label]["ok"]
    return bool(failed.sum() >= LEAST_MORE and failed.mean() > base.mean() + MORE)


TESTS = (down, failures, stopped_early)
