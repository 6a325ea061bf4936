"""Scores of evaluations against the baseline's, sample by sample."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from model_runs import BASE, model_run, records

from vendor_verifier.findings import calls
from vendor_verifier.findings.verdict import judge

N = 300


def scores(label: str, values: Any, **columns: Any) -> pd.DataFrame:
    return records(label, len(values), suite="toolbench", score=values, decision=None, **columns)


def failing(share: float, n: int = N) -> list[float]:
    """1 for every sample but this share, spread evenly."""
    return [0.0 if (number * share) % 1 < share - 1e-9 else 1.0 for number in range(n)]


def status(own: pd.DataFrame, *base: pd.DataFrame) -> list[tuple[str, str]]:
    return [(found.name, found.status) for found in judge(model_run(own, *base), {}).findings]


GRADED = np.random.default_rng(1).choice([0.0, 0.25, 0.5, 0.75, 1.0], N)


@pytest.mark.parametrize(
    ("own", "base", "found"),
    [
        (failing(0.0), failing(0.0), []),
        (failing(0.2), failing(0.2), []),
        (failing(0.0), failing(0.2), []),
        (failing(0.01), failing(0.0), []),
        (failing(0.04), failing(0.0), [("score", "check")]),
        (failing(0.2), failing(0.0), [("score", "differs")]),
        (GRADED, GRADED, []),
        (GRADED * 0.98, GRADED, [("score", "check")]),
        (GRADED * 0.7, GRADED, [("score", "differs")]),
        ([0.5] * N, [1.0] * N, [("score", "differs")]),
        (failing(0.2, 9), failing(0.0, 9), []),
    ],
)
def test_scores_below_the_baseline(own: Any, base: Any, found: list[tuple[str, str]]) -> None:
    assert status(scores("v", own), scores(BASE, base)) == found


def test_repetitions_are_averaged_inside_a_sample() -> None:
    """Asked ten times, the same two samples are no more evidence."""
    own = [scores("v", [0.0, 0.0, *failing(0.0, 28)], repetition=again) for again in range(10)]
    base = [scores(BASE, failing(0.0, 30), repetition=again) for again in range(10)]
    run = model_run(pd.concat(own), *base)
    (test,) = calls.scores(run, "v")
    assert (test.n, test.samples) == (30, ("s0000", "s0001"))
    assert test.p_value == pytest.approx(0.25)


def test_our_failures_are_no_score() -> None:
    """A vendor's own count 0; what our network or key lost counts for nobody."""
    lost = failing(0.2)
    ok = [value == 1.0 for value in lost]
    for charge, found in (("vendor", True), ("network", False), ("account", False), ("data", False)):
        own = scores("v", lost, ok=ok, charge=[None if fine else charge for fine in ok], failure="http_5xx")
        assert any(test.value for test in calls.scores(model_run(own, scores(BASE, failing(0.0))), "v")) == found


@pytest.mark.parametrize(
    ("n", "base", "enough"), [(30, 0.0, False), (N, 0.0, True), (100, 0.4, False), (600, 0.4, True), (N, 0.98, False)]
)
def test_matches_takes_a_reach_of_ten_points(n: int, base: float, enough: bool) -> None:
    run = model_run(scores("v", failing(base, n)), scores(BASE, failing(base, n)))
    (reach,) = calls.score_reaches(run, "v")
    assert reach.enough == enough
    assert (reach.needed is None) == enough


def test_a_loss_of_everything_reads_in_points() -> None:
    (test,) = calls.scores(model_run(scores("v", failing(1.0, 30)), scores(BASE, failing(0.0, 30))), "v")
    assert "(100 points lower; lower in 30 of 30 samples)" in test.text


def reach_of_schema(n: int, repeats: int) -> Any:
    """Of an evaluation with tool calls, a tenth of which break their schema."""
    classes = ["schema_mismatch" if number % 10 == 0 else "valid" for number in range(n)]
    base = [scores(BASE, failing(0.0, n), classes=classes, repetition=again) for again in range(repeats)]
    return calls.reach(model_run(scores("v", failing(0.0, n), classes=classes), *base), "v")


def test_a_baseline_asked_once_is_less_evidence_of_schemas() -> None:
    once, twice = (reach_of_schema(300, repeats) for repeats in (1, 2))
    assert (once.enough, twice.enough) == (False, True)
    few, fewer = (reach_of_schema(180, repeats) for repeats in (2, 4))
    assert few.text.startswith("180 samples are too few")
    assert few.needed > fewer.needed > 200
