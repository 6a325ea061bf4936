"""Does it answer? Failures, answers that are cut off or stop early, and answers on a later try only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from vendor_verifier.findings.base import (
    MOST_FAILURES,
    ModelRun,
    Reach,
    Test,
    compared,
    fault,
    gave_up,
    hindrance,
    hit_more_often,
    main_failure,
    percent,
    shown,
)
from vendor_verifier.records.results import FacetName
from vendor_verifier.stats.compare import more_stretches, stretches
from vendor_verifier.stats.decisions import SIZES, smallest, stretches_power
from vendor_verifier.text import counted

FACET: FacetName = "reliability"
FAILED_LINE, CUT_LINE, LEAST_RETRIED = 0.10, 0.05, 0.05
ENOUGH_FAILED, ENOUGH_CUT = 0.20, 0.10
# Failures at most this distance from each other in sending order are one group. An answer that breaks off is no outage.
GAP, CUT_GAP = 2, 1
LEAST_DOWN, DOWN = 60, 0.5
# Failing more than the baseline by this share and number leaves the facet untested, where no test shows it.
LEAST_MORE, MORE = 2, 0.02
_TESTS = 3


def reliability_tests(run: ModelRun) -> list[Test]:
    """Facts and tests of every vendor."""
    made = (_down, partial(_failures, hits=_hits(run)), _stopped_early) if run.baseline is not None else (_down,)
    return [test for label in run.vendors for each in made for test in each(run, label)]


def _down(run: ModelRun, label: str) -> Iterator[Test]:
    """At least half of the requests failed in each third of the run, while the baseline failed less than 10 %.

    It takes 60 requests, or a vendor that the run stopped asking because nobody was there.
    """
    rows, failed = run.asked[label], ~run.asked[label]["ok"].to_numpy()
    if len(rows) < LEAST_DOWN and not gave_up(run.rows[label]):
        return
    if run.baseline is not None and (~run.asked[run.baseline]["ok"]).mean() >= MOST_FAILURES:
        return
    if all(third.mean() >= DOWN for third in np.array_split(failed, 3) if third.size):
        kinds, remedy = main_failure(rows)
        yield Test(
            vendor=label, facet=FACET, name="down", status="down", value=float(failed.mean()), n=len(rows),
            text=f"{int(failed.sum())} of {len(rows)} requests failed, throughout the run ({kinds}). {remedy}",
            samples=shown(rows["sample"][failed]),
        )  # fmt: skip


def _failures(run: ModelRun, label: str, hits: Mapping[str, Mapping[str, NDArray[np.bool_]]]) -> Iterator[Test]:
    """Groups of failures, of answers that break off, and of answers on a later try, against the baseline's."""
    own, base = run.asked[label], run.asked[run.baseline or ""]
    if own.empty or base.empty:
        return
    for name, gap, line in (("failed", GAP, FAILED_LINE), ("cut_off", CUT_GAP, CUT_LINE), ("retried", GAP, np.inf)):
        hit, base_hit = hits[label][name], hits[run.baseline or ""][name]
        count, base_groups = int(hit.sum()), _base_groups(base, base_hit, len(own), gap)
        found = more_stretches(stretches(hit, gap), count, len(own), base_groups, len(base))
        if name == "retried" and count <= LEAST_RETRIED * len(own):
            found = found._replace(p_value=1.0)
        seen = f"{count} of {len(own)}"
        text = {
            "failed": f"{seen} requests failed ({main_failure(own[hit])[0]})",
            "cut_off": f"Cut off {seen} answers before their end",
            "retried": f"{seen} requests were answered on a later try only",
        }[name]
        text += f"; baseline {int(base_hit.sum())} of {len(base)}."
        yield compared(
            label,
            FACET,
            name,
            text,
            found,
            line=line,
            counts=count + base_groups > 0,
            samples=shown(own["sample"][hit]),
        )


def _hits(run: ModelRun) -> Mapping[str, Mapping[str, NDArray[np.bool_]]]:
    """Which of a vendor's requests failed, were cut off in any attempt, or were answered on a later try only.

    Attempts that our own rate made the vendor refuse (429) count for none of them.
    """
    key = ["label", "suite", "sample", "repetition"]
    tries = run.attempts[[*key, "failure", "succeeded"]].astype(object)
    kind = tries["failure"]
    cut = set(zip(*(tries[name][kind == "truncated"] for name in key), strict=True))
    blamed = tries["succeeded"].astype(bool) & ~kind.isin(["truncated", "rate_limited"])
    retried = set(zip(*(tries[name][blamed] for name in key), strict=True))
    found = {}
    for label, rows in run.asked.items():
        broke = (rows["failure"] == "truncated").to_numpy()
        keys = list(zip(*(rows[name].astype(object) for name in key), strict=True))
        found[label] = {
            "failed": ~rows["ok"].to_numpy() & ~broke,
            "cut_off": broke | np.array([each in cut for each in keys], bool),
            "retried": np.array([each in retried for each in keys], bool),
        }
    return found


def _base_groups(base: pd.DataFrame, hit: NDArray[np.bool_], n: int, gap: int) -> int:
    """The baseline's groups. Asked k times as often as a vendor it is counted in k passes, because an outage then hits
    as many requests in a row as at the vendor."""
    passes = max(1, round(len(base) / max(1, n)))
    turn = base["repetition"].to_numpy() % passes
    return sum(stretches(hit[turn == each], gap) for each in range(passes))


def _stopped_early(run: ModelRun, label: str) -> Iterator[Test]:
    """Answers that end for their length below the limit that was asked for."""
    rows, base = run.answered[label], run.answered[run.baseline or ""]
    if rows.empty or base.empty:
        return
    stopped, base_stopped = (
        (each["finish"] == "length") & (each["output_tokens"] < 0.9 * each["max_tokens"].fillna(np.inf))
        for each in (rows, base)
    )
    text = "answers stopped below the length asked for"
    yield hit_more_often(label, FACET, "stopped_early", text, rows["sample"], stopped, base_stopped, CUT_LINE)


def reliability_reach(run: ModelRun) -> list[Reach]:
    """The smallest shares of failed and of cut answers that the run finds, from the baseline's failures and the plan.

    Not enough where a vendor failed more than the baseline without being found.
    """
    base = run.asked[run.baseline] if run.baseline else run.reference
    hits = _hits(run).get(run.baseline or "", {})
    unsound, reaches = fault(run, FACET), []
    for label in run.vendors:
        why, n = hindrance(run, label) or unsound, run.planned.get(label, 0)
        if why is not None or not n:
            reaches.append(Reach(label, FACET, False, why or "no requests were planned", meant=n > 0))
            continue
        if failed_more(run, label):
            own = run.asked[label]
            failed, base_failed = int((~own["ok"]).sum()), int((~base["ok"]).sum())
            text = (
                f"{failed} of {len(own)} requests failed ({main_failure(own)[0]}), of the baseline's {base_failed} of "
                f"{len(base)}: too few failures to tell its rate"
            )
            reaches.append(Reach(label, FACET, False, text, n=n, needed=2 * n))
            continue
        failing, cut = _seen(run, base, hits, n, n)
        text = f"{percent(failing or 0)} failed requests or {percent(cut or 0)} cut answers would have been seen."
        enough, needed = _is_enough(failing, cut), None
        if not enough:
            needed = next((size for size in SIZES if size > n and _is_enough(*_seen(run, base, hits, n, size))), None)
            text = f"{counted(n, 'request')} are too few to see {percent(ENOUGH_FAILED)} of them failing"
        reaches.append(Reach(label, FACET, enough, text, failing, n, needed=needed))
    return reaches


def failed_more(run: ModelRun, label: str) -> bool:
    """Whether a vendor failed more often than the baseline, twice at least, shown by a test or not."""
    failed, base = ~run.asked[label]["ok"], ~run.asked[run.baseline or label]["ok"]
    return bool(failed.sum() >= LEAST_MORE and failed.mean() > base.mean() + MORE)


def _is_enough(failing: float | None, cut: float | None) -> bool:
    return failing is not None and failing <= ENOUGH_FAILED and cut is not None and cut <= ENOUGH_CUT


def _seen(
    run: ModelRun, base: pd.DataFrame, hits: Mapping[str, NDArray[np.bool_]], n: int, size: int
) -> tuple[float | None, float | None]:
    """The shares of failed and of cut requests that ``size`` requests find; the baseline's groups grow with them."""
    base_n, alpha = round(len(base) * size / n), run.alpha(_TESTS)
    shares = []
    for name, gap in (("failed", GAP), ("cut_off", CUT_GAP)):
        groups = round(_base_groups(base, hits[name], n, gap) * size / n)
        # Above a third more failures make fewer groups, because they are one.
        choice = [points / 100 for points in range(1, 31)]
        shares.append(smallest(partial(stretches_power, size, groups, base_n, gap, alpha), choice))
    return shares[0], shares[1]
