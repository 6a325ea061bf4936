"""F1 joins by sample, punishes failure and never rewards it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.records.manifest import Undecided
from vendor_verifier.scoring.f1 import Triggers, compared_repetitions, trigger_counts, triggers_of

CODES = {"-": 0, "c": 1, "n": 2, "?": 3}  # never sent, called, not called, undecided
POLICIES = st.sampled_from(["missed", "exclude"])
RUNS = st.lists(st.lists(st.sampled_from("-cn?"), min_size=8, max_size=8).map("".join), min_size=1, max_size=3)


def coded(*runs: str) -> np.ndarray[tuple[int, int], np.dtype[np.int8]]:
    return np.array([[CODES[letter] for letter in run] for run in runs], dtype=np.int8)


def compared(baseline: str, vendor: str, undecided: Undecided = "missed") -> Triggers:
    return trigger_counts(coded(baseline), coded(vendor), undecided)


@pytest.mark.parametrize(
    ("baseline", "vendor", "policy", "cells", "f1"),
    [
        ("ccccnnn", "cccncnn", "missed", (3, 1, 1, 2), 0.75),
        ("ccnn", "????", "missed", (0, 0, 4, 0), 0.0),
        ("ccnn", "????", "exclude", (0, 0, 0, 0), None),
        ("ccccnn", "cc??nn", "missed", (2, 0, 2, 2), 2 / 3),
        ("cncncn", "c-cncn", "missed", (3, 0, 0, 2), 1.0),
        ("cn", "nc", "missed", (0, 1, 1, 0), 0.0),
        ("nn", "nn", "missed", (0, 0, 0, 2), None),
        ("nn", "cc", "missed", (0, 2, 0, 0), None),
        ("nn", "?n", "missed", (0, 0, 1, 1), None),
        ("c?-?", "cnc-", "missed", (1, 0, 0, 0), 1.0),
        ("cn", "c?", "missed", (1, 0, 1, 0), 2 / 3),
        ("ccn", "c?n", "exclude", (1, 0, 0, 1), 1.0),
    ],
)
def test_pairs_of_decisions(baseline: str, vendor: str, policy: Undecided, cells: tuple[int, ...], f1: float) -> None:
    """Each pair lands in its cell; nobody has an F1 where the baseline never calls."""
    found = compared(baseline, vendor, policy)
    assert (found.counts.tp, found.counts.fp, found.counts.fn, found.counts.tn) == cells
    assert found.f1 == (None if f1 is None else pytest.approx(f1))
    assert found.compared == sum(cells)


def test_repetitions_are_compared_in_all_pairs() -> None:
    """Two repetitions against two are four F1s; counts are sums, F1 is the mean."""
    found = trigger_counts(coded("cn", "cc"), coded("cn", "cc"))
    assert (found.counts.tp, found.counts.fp, found.counts.fn, found.counts.tn, found.counts.pairs) == (5, 1, 1, 1, 4)
    assert found.f1 == pytest.approx((1 + 2 / 3 + 2 / 3 + 1) / 4)
    assert found.compared == 4


def test_f1_of_the_baseline() -> None:
    """1 by definition, None where it never called, or what its repetitions say of each other."""

    def own(*runs: str, against_itself: bool = False) -> Triggers:
        return triggers_of({"b": coded(*runs)}, "b", "missed", against_itself=against_itself)["b"]

    once = own("cn?-")
    assert (once.counts.tp, once.counts.tn, once.f1, once.compared) == (1, 1, 1.0, 2)
    assert own("??").f1 is None
    noise = own("cn", "cc", against_itself=True)
    assert (noise.counts.pairs, noise.f1) == (2, pytest.approx(2 / 3))


@pytest.mark.parametrize(
    ("repeat", "begun", "samples", "expected"),
    [
        (3, None, 10, [0, 1, 2]),
        (5, 25, 10, [0, 1]),
        (1, 4, 10, [0]),
        (100, 1000, 10, [0, 14, 28, 42, 56, 70, 84, 99]),
        (0, 0, 0, []),
    ],
)
def test_compared_repetitions(repeat: int, begun: int | None, samples: int, expected: list[int]) -> None:
    """All that were planned; of a timed run at most eight whole ones, spread evenly."""
    assert compared_repetitions(repeat, begun, samples) == expected


@given(RUNS, RUNS, POLICIES, st.integers(0, 2), st.integers(0, 7))
def test_failing_never_raises_f1(
    baseline: list[str], vendor: list[str], policy: Undecided, number: int, at: int
) -> None:
    """An answer replaced by a failure never raises F1, whatever it was; when left out, none that agrees does."""
    expected, got = coded(*baseline), coded(*vendor)
    number %= len(vendor)
    agrees = all(run[at] in (got[number, at], 0, 3) for run in expected)
    if got[number, at] not in (1, 2) or (policy == "exclude" and not agrees):
        return
    worse = got.copy()
    worse[number, at] = 3
    before, after = (trigger_counts(expected, each, policy).f1 for each in (got, worse))
    assert after is None or (before is not None and after <= before + 1e-12) or policy == "exclude"
