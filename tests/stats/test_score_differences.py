"""Differences in the score of an evaluation: paired by samples, with interval and p-value where they mean something."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from given_blocks import given_blocks
from scipy.stats import ttest_rel
from worlds import sample_ids

from vendor_verifier.records.judgement import ScoreDifference
from vendor_verifier.stats.bootstrap import bootstrap
from vendor_verifier.stats.panel import build_panel
from vendor_verifier.stats.ratio_table import Trials
from vendor_verifier.stats.score_differences import LEAST_SAMPLES, score_differences, standard_error

SUITE = "toolbench"


def differences(*scores: Sequence[float], suites: Sequence[str] = (SUITE,)) -> list[ScoreDifference]:
    """The differences of vendors v0, v1 … with these scores by sample; NaN for a sample that was not judged."""
    n = max(map(len, scores))
    trials = [
        Trials(
            f"v{number}",
            ratios={
                suite: {(f"s{i}", 0): (score, 1.0) for i, score in enumerate(own) if score == score} for suite in suites
            },
        )
        for number, own in enumerate(scores)
    ]
    panel = build_panel(trials, sample_ids(n), metrics=[*suites])
    resampled = bootstrap(panel, np.random.default_rng(1), resamples=50, blocks=given_blocks(range(n)))
    return list(score_differences(panel, resampled, suites))


def test_it_is_the_paired_t_test() -> None:
    """Value, p-value and interval as scipy gives them for two vendors that answered all samples once."""
    rng = np.random.default_rng(3)
    one, other = rng.random(40).tolist(), rng.random(40).tolist()
    [found] = differences(one, other)
    expected = ttest_rel(one, other)
    interval = expected.confidence_interval(0.95)
    assert (found.suite, found.first, found.second) == (SUITE, "v0", "v1")
    assert found.delta.value == pytest.approx(np.mean(one) - np.mean(other))
    assert found.p_value == pytest.approx(expected.pvalue)
    assert (found.delta.low, found.delta.high) == pytest.approx((interval.low, interval.high))
    assert found.delta.n == 40
    assert standard_error(found) == pytest.approx(np.std(np.subtract(one, other), ddof=1) / np.sqrt(40))


def test_pairing_sees_what_two_intervals_would_not() -> None:
    """A small loss on every sample is proven although the samples differ by far more among themselves."""
    one = np.linspace(0, 0.9, 30)
    [found] = differences(one, one + 0.05 + 0.01 * (np.arange(30) % 3))
    assert found.p_value is not None
    assert found.p_value < 1e-9
    assert found.delta.high is not None
    assert found.delta.high < 0


def test_too_few_samples_have_no_interval_and_no_p_value() -> None:
    """Below the least number the difference is told and nothing else."""
    n = LEAST_SAMPLES - 1
    [found] = differences([1.0] * n, [0.0, 1.0] * (n // 2) + [0.0] * (n % 2))
    assert found.delta.value is not None
    assert (found.delta.low, found.delta.high, found.p_value) == (None, None, None)
    assert standard_error(found) == 0.0


def test_where_no_sample_moves_it_there_is_no_p_value() -> None:
    """All right against all wrong: the interval is that of two separate figures, and lies far from 0."""
    [found] = differences([1.0] * 20, [0.0] * 20)
    assert (found.delta.value, found.p_value) == (1.0, None)
    assert found.delta.low is not None
    assert found.delta.low > 0.5
    assert standard_error(found) == 0.0


def test_every_pair_in_every_suite_that_both_were_measured_on() -> None:
    """Three vendors in two suites give six differences; a vendor that measured nothing gives none."""
    rng = np.random.default_rng(4)
    three = [rng.random(20).tolist() for _ in range(3)]
    found = differences(*three, suites=("toolbench", "bfcl"))
    assert [(each.suite, each.first, each.second) for each in found] == [
        (suite, first, second)
        for suite in ("toolbench", "bfcl")
        for first, second in (("v0", "v1"), ("v0", "v2"), ("v1", "v2"))
    ]
    assert differences(three[0], [float("nan")] * 20) == []


def test_only_samples_that_both_answered_count() -> None:
    """The number of samples is that of the common ones."""
    rng = np.random.default_rng(5)
    one, other = rng.random(40), rng.random(40)
    one[:10] = other[30:] = float("nan")
    [found] = differences(one.tolist(), other.tolist())
    assert found.delta.n == 20
