"""Speed: first token, decoding, late first tokens, and faked streams. Never worse than *check*."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import numpy as np
import pandas as pd

from vendor_verifier.findings.base import ModelRun, Reach, Test, compared, hit_more_often, shown
from vendor_verifier.records.results import FacetName
from vendor_verifier.scoring.table import has_word
from vendor_verifier.stats import compare as tests
from vendor_verifier.text import counted, too_few

FACET: FacetName = "speed"
LINE = 1.25
ENOUGH = 2.0
# A first token that takes this multiple of the median, the vendor's or the baseline's, is late.
LATE = 6
LEAST_ANSWERS, LEAST_STREAMED = 30, 5
# Pieces that follow each other this many times as fast as the baseline's may be made before.
IMPLAUSIBLE = 2
# The margins in Fisher's z by which a correlation must exceed the baseline's.
CORRELATION_LINE, LOAD_LINE = 0.2, 0.1
_TESTS = 6
_RATIOS = tuple(1 + step / 20 for step in range(6, 61))
_LATE_MS, _MOST_LATE = 5, 0.2


def _times(rows: pd.DataFrame, name: str) -> pd.Series[float]:
    """Milliseconds to the first token, or for each token after it; missing where they were not measured."""
    if name == "slow_first_token":
        return rows["ttft_ms"]
    return 1e3 * rows["decode_s"] / rows["tokens_after"]


def _timed(rows: pd.DataFrame, name: str) -> tuple[tests.Floats, tests.Floats]:
    """When requests were sent, and their times, of successes that have both."""
    times = _times(rows, name)
    known = rows["sent_s"].notna() & (times > 0) & np.isfinite(times)
    return np.asarray(rows["sent_s"][known], float), np.asarray(times[known], float)


def slow(run: ModelRun, label: str) -> Iterator[Test]:
    """First token and decoding, by batch means against the line."""
    rows, reference = run.both(label)
    for name in ("slow_first_token", "slow_decoding"):
        own, base = _timed(rows, name), _timed(reference, name)
        differences = tests.window_differences(*own, *base)
        if differences is None:
            continue
        found = tests.slower(differences, LINE)
        median, base_median = float(np.median(own[1])), float(np.median(base[1]))
        if name == "slow_first_token":
            took = f"{median:.0f} ms to {base_median:.0f}"
            text = f"First token {found.value:.1f}× slower than the baseline's ({took} ms)."
        else:
            speeds = f"{1e3 / median:.0f} tokens/s to {1e3 / base_median:.0f}"
            text = f"Generates {found.value:.1f}× slower than the baseline ({speeds})."
        slowest = rows.loc[_times(rows, name).sort_values(ascending=False).index]
        yield compared(FACET, name, text, found._replace(n=own[1].size), samples=shown(slowest))


def under_load(run: ModelRun, label: str) -> Iterator[Test]:
    """First tokens that come the later the more requests are in flight (Spearman), by more than at the baseline."""
    sides = []
    for side in run.both(label):
        rows = side[["sent_s", "e2e_ms", "ttft_ms"]].dropna()
        sent = rows["sent_s"].to_numpy(float)
        ended = np.sort(sent + rows["e2e_ms"].to_numpy(float) / 1e3)
        in_flight = np.arange(len(rows)) - np.searchsorted(ended, sent, side="right")
        sides.append((in_flight.astype(float), rows["ttft_ms"].to_numpy(float)))
    (load, times), (base_load, base_times) = sides
    # A vendor whose slowest tenth is faster than the baseline's median is fast enough under load.
    if min(times.size, base_times.size) < tests.LEAST_TIMES or np.quantile(times, 0.9) < np.median(base_times):
        return
    found = tests.correlated_more(load, times, base_load, base_times, LOAD_LINE)
    text = f"First tokens come later the more requests are in flight (rank correlation {found.value:.2f})."
    yield compared(FACET, "slow_under_load", text, found)


def late(run: ModelRun, label: str) -> Iterator[Test]:
    """First tokens later than six times the median, the vendor's or the baseline's if that is longer."""
    both = [rows[["sample", "ttft_ms"]].dropna().sort_values("ttft_ms", ascending=False) for rows in run.both(label)]
    own, base = (rows["ttft_ms"] for rows in both)
    late = [each > LATE * max(each.median(), base.median()) for each in (own, base)]
    text = f"first tokens took over {LATE}× the median"
    return hit_more_often(FACET, "late_first_tokens", text, both[0], late, least=LEAST_ANSWERS)


def faked(run: ModelRun, label: str) -> Iterator[Test]:
    """First tokens that come the later the longer the answer is (Spearman): it is generated before it is streamed.

    Not where reasoning is billed. Answers with calls, which honest hosts may read whole first, count only where the
    pieces follow each other twice as fast as at the baseline; that is a sign by itself, and no margin is granted then.
    """
    both = run.both(label)
    length = "output_tokens" if both[0]["output_tokens"].notna().any() else "characters"
    pace, base_pace = (_times(rows, "slow_decoding").median() for rows in both)
    is_fast = pace < base_pace / IMPLAUSIBLE
    own, base = (rows[["sample", "ttft_ms", length]][is_fast | (rows["calls"] == 0)].dropna() for rows in both)
    if min(len(own), len(base)) < LEAST_ANSWERS or any((rows["reasoning_tokens"] > 0).any() for rows in both):
        return
    first, tokens, base_first, base_tokens = (
        each[name].to_numpy(float) for each in (own, base) for name in ("ttft_ms", length)
    )
    found = tests.correlated_more(first, tokens, base_first, base_tokens, 0.0 if is_fast else CORRELATION_LINE)
    text = (
        f"Faked stream: the longer the answer, the later its first token (rank correlation {found.value:.2f}); it is "
        "generated before it is sent."
    )
    longest = own.sort_values(length, ascending=False)
    yield compared(FACET, "faked_stream", text, found, samples=shown(longest))


def not_streamed(run: ModelRun, label: str) -> Iterator[Test]:
    """Streamed answers that came in one piece."""
    text = "answers came in one piece, not as a stream"
    whole = [has_word(rows["anomalies"], "buffered") for rows in run.both(label)]
    return hit_more_often(FACET, "not_streamed", text, run.answered[label], whole, least=LEAST_STREAMED)


def reach(run: ModelRun, label: str) -> Reach:
    """The smallest slowdown that the run finds, from how much the baseline's own times vary between windows."""
    both = run.both(label)
    why, needed, ratio = run.thin(label) or run.fault(FACET), None, _seen(run, both[1])
    meant = bool(run.records["ttft_ms"].notna().any()) or _is_busy(run.records)
    own_times, base_times = (_timed(rows, "slow_first_token") for rows in both)
    n = min(own_times[0].size, base_times[0].size)
    decoded, base_decoded = (_timed(rows, "slow_decoding")[0].size for rows in both)
    if why is None and not meant:
        why = "no streamed answers with times"
    elif why is None and n < tests.LEAST_TIMES and (_is_busy(run.rows[label]) or _is_busy(run.reference)):
        why = "this machine was too busy to time answers: run again on an idle machine"
    elif why is None and n < tests.LEAST_TIMES:
        why, needed = too_few(n, "timed answer"), tests.LEAST_TIMES
    elif why is None and tests.window_differences(*own_times, *base_times) is None:
        why = "it was not asked at the same time as the baseline, or is so slow that the baseline ended long before"
    elif why is None and decoded < tests.LEAST_TIMES <= base_decoded:
        why = f"decoding could be timed in {counted(decoded, 'answer')} only: it reports no tokens, or streams nothing"
    elif why is None and ratio > ENOUGH:
        why, needed = "the baseline's own times vary too much to see a vendor that is twice as slow", 2 * n
    text = why or f"{ratio:.2g} times slower would have been seen."
    return Reach(why is None, text, n, meant=meant, needed=needed)


def _is_busy(rows: pd.DataFrame) -> bool:
    """Whether many times were discarded because this program read them late."""
    late = rows["ttft_ms"].isna() & (rows["late_ms"] > _LATE_MS)
    return bool(late[rows["ok"]].mean() > _MOST_LATE)


def _seen(run: ModelRun, base: pd.DataFrame) -> float:
    """The larger of what is seen in first tokens and in decoding; infinite where neither can be seen.

    ``base`` are the baseline's answers.
    """
    # Halves of the baseline differ by 4 σ² ÷ n, a vendor and the baseline by σ² ÷ own + σ² ÷ n.
    times_asked = len(run.reference) / max(1, run.planned.get(run.vendors[0], 0))
    alpha, ratios = run.alpha(_TESTS), []
    for name in ("slow_first_token", "slow_decoding"):
        sent, times = _timed(base, name)
        differences = tests.window_differences(sent[::2], times[::2], sent[1::2], times[1::2], tests.LEAST_TIMES // 2)
        if differences is not None:
            error = float(differences.std(ddof=1)) / math.sqrt(differences.size) * math.sqrt((times_asked + 1) / 4)
            ratios.append(tests.smallest(partial(tests.slower_power, error, tests.WINDOWS, LINE, alpha), _RATIOS))
    return max(ratios, default=math.inf)


TESTS = (slow, under_load, late, faked, not_streamed)
