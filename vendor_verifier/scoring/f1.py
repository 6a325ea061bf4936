"""F1 of tool calls against a baseline, joined by sample and repetition; rows are never paired by position.

Positive = the model called a tool. Over the pairs of one repetition of the baseline and one of the vendor:

    precision = TP ÷ (TP + FP)    recall = TP ÷ (TP + FN)    F1 = 2·TP ÷ (2·TP + FP + FN)

and 0 ÷ 0 is ``None``. Where the baseline never called nobody has an F1: a vendor that failed or called there would be
the only one ranked, and so first, with a 0. A pair whose baseline failed, was cut or is missing is dropped. A vendor
that failed is ``missed`` (FN, so that failing never raises F1) or, where that is wanted, left out (``exclude``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from vendor_verifier.records.manifest import Undecided
from vendor_verifier.records.results import TriggerCounts

NOT_SENT, CALLED, NOT_CALLED, UNDECIDED = range(4)
_CODES = {"called": CALLED, "not_called": NOT_CALLED, "undecided": UNDECIDED}
# Of a run that lasted a stated time at most this many repetitions are compared, spread evenly.
MOST_TIMED = 8
Decisions = NDArray[np.int8]
"""Codes by repetition and sample."""


class Triggers(NamedTuple):
    """The counts, the F1 (None: 0 ÷ 0), and how many of the vendor's answers were compared."""

    counts: TriggerCounts
    f1: float | None
    compared: int


def decisions(rows: pd.DataFrame, samples: list[str], repetitions: list[int], *, missing_is_failed: bool) -> Decisions:
    """The decisions in ``rows``, one row each of sample, repetition, decision and ``counts`` (False: not sent).

    ``missing_is_failed``: a sample without any row is undecided, else not sent.
    """
    found = np.full((len(repetitions), len(samples)), UNDECIDED if missing_is_failed else NOT_SENT, dtype=np.int8)
    columns = pd.Index(samples).get_indexer(pd.Index(rows["sample"]))
    places = pd.Index(repetitions).get_indexer(pd.Index(rows["repetition"]))
    codes = rows["decision"].astype(object).map(_CODES).to_numpy()
    codes = np.where(rows["counts"].to_numpy(), codes, NOT_SENT)
    there = (columns >= 0) & (places >= 0)
    found[places[there], columns[there]] = codes[there]
    return found


def compared_repetitions(repeat: int, begun: int | None, samples: int) -> list[int]:
    """The repetitions that are compared: all that were planned; of a run that lasted a stated time, in which ``begun``
    records were started, at most ``MOST_TIMED`` whole ones, and a part only where there is no whole one."""
    if begun is None:
        return list(range(repeat))
    whole = min(repeat, begun // samples if samples else 0)
    if whole <= MOST_TIMED:
        return list(range(max(whole, min(repeat, 1))))
    return [place * (whole - 1) // (MOST_TIMED - 1) for place in range(MOST_TIMED)]


def triggers_of(
    decided: Mapping[str, Decisions], baseline: str, undecided: Undecided, *, against_itself: bool
) -> dict[str, Triggers]:
    """The counts of every vendor against the baseline's decisions.

    The baseline's own F1 is 1 by definition, not a measurement, and None if it never called. ``against_itself``: its
    repetitions, where there are several, are compared with one another, which shows noise alone.
    """
    expected = decided[baseline]
    found = {label: trigger_counts(expected, own, undecided) for label, own in decided.items()}
    if against_itself and len(expected) > 1:
        noise = trigger_counts(expected, expected, undecided, itself=True)
        found[baseline] = noise._replace(compared=noise.counts.tp + noise.counts.tn)
    else:
        called, not_called = int((expected == CALLED).sum()), int((expected == NOT_CALLED).sum())
        rate = 1.0 if called else None
        counts = TriggerCounts(tp=called, tn=not_called, precision=rate, recall=rate, pairs=len(expected))
        found[baseline] = Triggers(counts, rate, called + not_called)
    return found


def trigger_counts(
    baseline: Decisions, vendor: Decisions, undecided: Undecided = "missed", *, itself: bool = False
) -> Triggers:
    """Compare every repetition of the vendor with every one of the baseline; ``itself``: with every other one."""
    pairs = [(i, j) for i in range(len(baseline)) for j in range(len(vendor)) if not (itself and i == j)]
    total = np.zeros(4, dtype=int)
    scores: list[float] = []
    compared = np.zeros(vendor.shape, dtype=bool)
    for i, j in pairs:
        expected, got = baseline[i], vendor[j]
        is_asked = (got != NOT_SENT) & ((got != UNDECIDED) | (undecided == "missed"))
        both = is_asked & ((expected == CALLED) | (expected == NOT_CALLED))
        compared[j] |= both
        wanted, called, failed = expected == CALLED, got == CALLED, got == UNDECIDED
        missed = failed | (wanted & ~called)
        cells = (wanted & called, ~wanted & called, missed, ~wanted & ~called & ~failed)
        tp, fp, fn, tn = ((both & cell).sum() for cell in cells)
        total += (tp, fp, fn, tn)
        score = _ratio(2 * tp, 2 * tp + fp + fn) if wanted.any() else None
        scores += [] if score is None else [score]
    tp, fp, fn, tn = map(int, total)
    counts = TriggerCounts(tp, fp, fn, tn, _ratio(tp, tp + fp), _ratio(tp, tp + fn), len(pairs))
    return Triggers(counts, sum(scores) / len(scores) if scores else None, int(compared.sum()))


def _ratio(part: int, whole: int) -> float | None:
    return float(part / whole) if whole else None
