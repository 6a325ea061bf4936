"""Ranks come as intervals, ties as groups, and IRF with what it can say."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from given_blocks import given_blocks
from hypothesis import given
from hypothesis import strategies as st
from worlds import METRICS, equal_vendors, sample_ids

from vendor_verifier.records.judgement import Difference
from vendor_verifier.scoring.irf import irf
from vendor_verifier.stats.bootstrap import bootstrap
from vendor_verifier.stats.panel import Component, Panel
from vendor_verifier.stats.rank_uncertainty import (
    differing_pairs,
    irf_draws,
    irf_intervals,
    rank_intervals,
    simultaneous_differences,
    tie_groups,
)


def tokens_panel(*means: float, n: int = 200, noise: float = 10.0) -> Panel:
    """Vendors a, b, … that differ in ``avg_tokens`` alone."""
    rng = np.random.default_rng(1)
    labels = tuple("abcdefgh"[: len(means)])
    cells = {
        (label, "avg_tokens"): (Component(mean + noise * rng.normal(size=n), np.ones(n)),)
        for label, mean in zip(labels, means, strict=True)
    }
    return Panel(tuple(sample_ids(n)), labels, ("avg_tokens",), cells)


def test_a_clear_order_gives_single_ranks() -> None:
    """Fewer tokens is better, so the direction of the metric decides who is first."""
    resampled = bootstrap(tokens_panel(300.0, 100.0, 200.0), np.random.default_rng(2), resamples=500)
    found = rank_intervals(simultaneous_differences(resampled).joint, {"avg_tokens": ["a", "b", "c"]})
    assert {each.label: (each.low, each.high) for each in found} == {"a": (3, 3), "b": (1, 1), "c": (2, 2)}


def test_equal_vendors_can_have_any_rank() -> None:
    """Nothing differs, so each rank interval is the whole range and one group holds all."""
    resampled = bootstrap(tokens_panel(100.0, 100.0, 100.0), np.random.default_rng(3), resamples=500)
    differences = simultaneous_differences(resampled).joint
    found = rank_intervals(differences, {"avg_tokens": ["a", "b", "c"]})
    assert {(each.low, each.high) for each in found} == {(1, 3)}
    assert tie_groups(["b", "a", "c"], differing_pairs(differences)) == (("b", "a", "c"),)


def test_a_metric_s_own_direction_decides_who_is_better() -> None:
    """What the product does not know is better when higher; tokens are when lower."""
    score, tokens = (Difference(metric, "a", "b", 1.0, 0.5, 1.5) for metric in ("score", "avg_tokens"))
    first = rank_intervals([score], {"score": ["a", "b"]})[0]
    other = rank_intervals([tokens], {"avg_tokens": ["a", "b"]})[0]
    assert (first.low, first.high, other.low, other.high) == (1, 1, 2, 2)


def test_a_constant_surcharge_differs_exactly() -> None:
    """Seven tokens more on every prompt never vary, so the interval is the point; equal columns differ in nothing."""
    column = np.random.default_rng(4).integers(10, 99, 50).astype(float)
    cells = {
        (label, "avg_tokens"): (Component(column + extra, np.ones(50)),)
        for label, extra in (("a", 0), ("b", 7), ("c", 0))
    }
    panel = Panel(tuple(sample_ids(50)), ("a", "b", "c"), ("avg_tokens",), cells)
    one, same, _ = simultaneous_differences(bootstrap(panel, np.random.default_rng(5), resamples=200)).joint
    assert (one.low, one.value, one.high, one.differs) == (
        pytest.approx(-7),
        pytest.approx(-7),
        pytest.approx(-7),
        True,
    )
    assert (same.value, same.differs) == (0.0, False)


def test_few_samples_and_missing_vendors_claim_nothing() -> None:
    """Eleven samples are not compared, and a vendor without the metric is in no pair."""
    few = tokens_panel(100.0, 900.0, n=11)
    assert simultaneous_differences(bootstrap(few, np.random.default_rng(6), resamples=50)).joint == ()
    panel = tokens_panel(100.0, 900.0)
    without = Panel(panel.samples, (*panel.labels, "z"), panel.metrics, panel.cells)
    found = simultaneous_differences(bootstrap(without, np.random.default_rng(6), resamples=50)).joint
    assert [(each.first, each.second) for each in found] == [("a", "b")]


def test_joint_intervals_are_wider_than_those_of_one_metric() -> None:
    """More comparisons at once need wider intervals, around the same differences."""
    panel = equal_vendors(np.random.default_rng(7), 4, 300)
    found = simultaneous_differences(bootstrap(panel, np.random.default_rng(8), resamples=500))
    assert len(found.joint) == 6 * len(METRICS)
    for joint, alone in zip(found.joint, found.per_metric, strict=True):
        assert (joint.metric, joint.value) == (alone.metric, alone.value)
        assert joint.low <= alone.low <= alone.value <= alone.high <= joint.high


def test_tie_groups_are_not_transitive() -> None:
    """If only the ends differ, the middle stands in two groups."""
    apart = frozenset({frozenset(("a", "c"))})
    assert tie_groups(["a", "b", "c"], apart) == (("a", "b"), ("b", "c"))


@given(st.sets(st.tuples(st.integers(0, 5), st.integers(0, 5)).filter(lambda pair: pair[0] != pair[1])))
def test_tie_groups_cover_everybody_and_hold_no_difference(pairs: set[tuple[int, int]]) -> None:
    """Whatever differs, each vendor is in a group, no group contains a differing pair, and no group holds another."""
    names = list("abcdef")
    apart = frozenset(frozenset((names[one], names[other])) for one, other in pairs)
    groups = tie_groups(names, apart)
    assert {name for group in groups for name in group} == set(names)
    assert not any(frozenset((one, other)) in apart for group in groups for one in group for other in group)
    assert not any(set(one) <= set(other) or set(other) <= set(one) for one, other in pairwise(groups))


def test_irf_draws_are_the_published_irf() -> None:
    """The array form gives what ``ranking.irf`` gives, ties and missing figures included."""
    rng = np.random.default_rng(9)
    values = rng.integers(0, 4, (20, 5, 6)).astype(float)
    values[rng.random(values.shape) < 0.15] = np.nan
    drawn = irf_draws(values, METRICS)
    for row, figures in zip(drawn, values, strict=True):
        table = {str(i): dict(zip(METRICS, map(float, vendor), strict=True)) for i, vendor in enumerate(figures)}
        assert row == pytest.approx(list(irf(table).values()), abs=1e-12)


def test_irf_intervals_name_the_leader_and_the_doubt() -> None:
    """P(rank 1) sums to one over vendors, the best stands first, and the gap between equals covers 0."""
    panel = equal_vendors(np.random.default_rng(10), 4, 300)
    resampled = bootstrap(panel, np.random.default_rng(11), resamples=500, blocks=given_blocks(range(300)))
    rows, gaps = irf_intervals(resampled, 300)
    assert sum(row.p_first for row in rows) == pytest.approx(1)
    scores = [row.irf.value or 0 for row in rows]
    assert scores == sorted(scores, reverse=True)
    assert set(gaps) == {row.label for row in rows[1:]}
    assert all((gap.low or 0) <= 0 <= (gap.high or 0) for gap in gaps.values())
    assert all(1 <= (row.rank.low or 0) <= (row.rank.high or 0) <= 4 for row in rows)


def test_a_vendor_without_figures_has_no_irf() -> None:
    """It is left out, as it is in the ranking."""
    panel = tokens_panel(100.0, 900.0)
    without = Panel(panel.samples, (*panel.labels, "z"), panel.metrics, panel.cells)
    rows, gaps = irf_intervals(bootstrap(without, np.random.default_rng(6), resamples=50), 200)
    assert [row.label for row in rows] == ["a", "b"]
    assert list(gaps) == ["b"]
