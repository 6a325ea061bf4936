"""Is it as fast? First token, decoding speed, late first tokens, and streams that are none. Never worse than *check*."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from vendor_verifier.findings.base import ModelRun, Reach, Test, hindrance, shown
from vendor_verifier.findings.baseline import fault
from vendor_verifier.stats.compare import (
    LEAST_TIMES,
    WINDOWS,
    correlated_more,
    more_often,
    slower,
    window_differences,
)
from vendor_verifier.stats.decisions import slower_power, smallest

FACET = "speed"
LINE = 1.25
ENOUGH = 2.0
# A first token so many times later than the vendor's own median is late.
LATE = 6
LEAST_ANSWERS = 30
# The margin in Fisher's z by which a correlation with length must exceed the baseline's.
CORRELATION_LINE = 0.2
_TESTS = 5
_RATIOS = [1 + points / 20 for points in range(6, 61)]


def speed_tests(run: ModelRun) -> list[Test]:
    """Tests of every vendor."""
    if run.baseline is None:
        return []
    made = (_first_token, _decoding, _late, _faked, _one_piece)
    return [test for label in run.vendors for each in made for test in each(run, label)]


def _timed(run: ModelRun, label: str | None, column: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """When requests were sent, and their times (decode: s per token), of successes with both."""
    rows = run.rows[label or ""]
    rows = rows[rows["ok"]]
    values = rows["ttft_ms"] if column == "ttft" else rows["decode_s"] / rows["tokens_after"]
    known = (values > 0) & rows["sent_s"].notna() & np.isfinite(values)
    return rows["sent_s"][known].to_numpy(), values[known].to_numpy()


def _first_token(run: ModelRun, label: str) -> Iterator[Test]:
    own, base = _timed(run, label, "ttft"), _timed(run, run.baseline, "ttft")
    differences = window_differences(*own, *base)
    if differences is not None:
        found = slower(differences, LINE)
        slowest = run.rows[label].sort_values("ttft_ms", ascending=False)
        text = (
            f"First token {found.value:.1f}× slower than the baseline ({np.median(own[1]):.0f} ms; "
            f"baseline {np.median(base[1]):.0f} ms)."
        )
        yield Test(
            vendor=label, facet=FACET, name="slow_first_token", text=text, p_value=found.p_value, value=found.value,
            low=found.low, high=found.high, n=own[0].size, samples=shown(slowest),
        )  # fmt: skip


def _decoding(run: ModelRun, label: str) -> Iterator[Test]:
    own, base = _timed(run, label, "decode"), _timed(run, run.baseline, "decode")
    differences = window_differences(*own, *base)
    if differences is not None:
        found = slower(differences, LINE)
        text = (
            f"Generates {found.value:.1f}× slower than the baseline ({1 / np.median(own[1]):.0f} tokens/s; "
            f"baseline {1 / np.median(base[1]):.0f})."
        )
        rows = run.rows[label]
        slowest = (rows["tokens_after"] / rows["decode_s"]).sort_values()
        yield Test(
            vendor=label, facet=FACET, name="slow_decoding", text=text, p_value=found.p_value, value=found.value,
            low=found.low, high=found.high, n=own[0].size, samples=shown(rows.loc[slowest.index]),
        )  # fmt: skip


def _late(run: ModelRun, label: str) -> Iterator[Test]:
    """First tokens later than six times the vendor's own median (Fisher)."""
    own, base = run.rows[label], run.rows[run.baseline or ""]
    own, base = own[own["ttft_ms"].notna()], base[base["ttft_ms"].notna()]
    if min(len(own), len(base)) < LEAST_ANSWERS:
        return
    median = own["ttft_ms"].median()
    late, base_late = own["ttft_ms"] > LATE * median, base["ttft_ms"] > LATE * base["ttft_ms"].median()
    found = more_often(int(late.sum()), len(own), int(base_late.sum()), len(base))
    text = (
        f"{int(late.sum())} of {len(own)} first tokens took over {LATE}× the median of {median:.0f} ms "
        f"(baseline {int(base_late.sum())} of {len(base)}): hidden retries or an overloaded backend."
    )
    yield Test(
        vendor=label, facet=FACET, name="late_first_tokens", text=text, p_value=found.p_value,
        counts=bool(late.any() or base_late.any()), value=found.value, low=found.low, high=found.high, n=found.n,
        samples=shown(own[late].sort_values("ttft_ms", ascending=False)),
    )  # fmt: skip


def _faked(run: ModelRun, label: str) -> Iterator[Test]:
    """First tokens that come the later, the longer the answer: generated whole before they are streamed (Spearman).

    Only answers without calls, which honest hosts may parse whole first, and where no reasoning is billed.
    """
    columns = ["ttft_ms", "output_tokens"]
    own, base = (
        rows[rows["ok"] & (rows["calls"] == 0)].dropna(subset=columns)
        for rows in (run.rows[label], run.rows[run.baseline or ""])
    )
    if min(len(own), len(base)) < LEAST_ANSWERS or (own["reasoning_tokens"] > 0).any():
        return
    found = correlated_more(*(rows[name].to_numpy() for rows in (own, base) for name in columns), CORRELATION_LINE)
    text = (
        f"First tokens come later the longer the answer (rank correlation {found.value:.2f}): answers are generated "
        "whole before they are streamed."
    )
    longest = own.sort_values("output_tokens", ascending=False)
    yield Test(
        vendor=label, facet=FACET, name="faked_stream", text=text, p_value=found.p_value, value=found.value,
        low=found.low, high=found.high, n=found.n, samples=shown(longest),
    )  # fmt: skip


def _one_piece(run: ModelRun, label: str) -> Iterator[Test]:
    """Streamed answers that came in one piece (Fisher)."""
    own, base = (rows[rows["ok"]] for rows in (run.rows[label], run.rows[run.baseline or ""]))
    if min(len(own), len(base)) < LEAST_ANSWERS / 6:
        return
    whole = own["anomalies"].astype(str).str.contains("buffered", regex=False)
    base_whole = int(base["anomalies"].astype(str).str.contains("buffered", regex=False).sum())
    found = more_often(int(whole.sum()), len(own), base_whole, len(base))
    text = f"Did not stream: {int(whole.sum())} of {len(own)} answers came in one piece (baseline {base_whole} of {len(base)})."
    yield Test(
        vendor=label, facet=FACET, name="not_streamed", text=text, p_value=found.p_value,
        counts=bool(whole.any() or base_whole), value=found.value, low=found.low, high=found.high, n=found.n,
        samples=shown(own[whole]),
    )  # fmt: skip


def speed_reach(run: ModelRun) -> list[Reach]:
    """The smallest slowdown that the run finds, from how the baseline's times vary between windows."""
    if not any(rows["ttft_ms"].notna().any() for rows in run.rows.values()) and not _is_busy(run, run.baseline):
        return [Reach(label, FACET, False, "no streamed answers were timed.", meant=False) for label in run.vendors]
    ratio = _seen(run)
    found = []
    for label in run.vendors:
        why = hindrance(run, label) or fault(run, FACET)
        n = _timed(run, label, "ttft")[0].size
        fewest = min(n, _timed(run, run.baseline, "ttft")[0].size) if run.baseline else n
        needed = None
        if why is None and fewest < LEAST_TIMES:
            if _is_busy(run, label) or _is_busy(run, run.baseline):
                why = "this machine was too busy to time answers: run again on an idle machine"
            else:
                why, needed = f"{fewest} timed answers are too few: it takes {LEAST_TIMES}", 2 * LEAST_TIMES
        if why is not None:
            found.append(Reach(label, FACET, False, f"{why}.", n=n, needed=needed))
        elif ratio is None or ratio > ENOUGH:
            text = "The baseline's own times vary too much to see a vendor twice as slow."
            found.append(Reach(label, FACET, False, text, ratio, n, needed=2 * n))
        else:
            found.append(Reach(label, FACET, True, f"{ratio:.2g} times slower would have been seen.", ratio, n))
    return found


def _is_busy(run: ModelRun, label: str | None) -> bool:
    """Whether most times of a vendor were discarded because this program read them late."""
    rows = run.rows[label or ""] if label else run.records.iloc[:0]
    rows = rows[rows["ok"]]
    return bool(len(rows)) and bool((rows["ttft_ms"].isna() & (rows["late_ms"] > 5)).mean() > 0.2)


def _seen(run: ModelRun) -> float | None:
    """The larger of what is seen in first tokens and in decoding."""
    if run.baseline is None:
        return None
    alpha = 0.01 / (_TESTS * max(1, len(run.vendors)))
    ratios = []
    for column in ("ttft", "decode"):
        sent, values = _timed(run, run.baseline, column)
        differences = window_differences(sent[::2], values[::2], sent[1::2], values[1::2], LEAST_TIMES // 2)
        if differences is None:
            continue
        # Halves of the baseline differ by 4 σ² ÷ n, a vendor and the baseline by σ² (1 ÷ own + 1 ÷ n).
        asked = len(run.rows[run.baseline]) / max(1, run.planned[run.vendors[0]]) if run.vendors else 1.0
        error = float(differences.std(ddof=1)) / math.sqrt(differences.size) * math.sqrt((asked + 1) / 4)
        found = smallest(lambda ratio, e=error: slower_power(e, WINDOWS, ratio, LINE, alpha), _RATIOS)
        if found is None:
            return None
        ratios.append(found)
    return max(ratios, default=None)
