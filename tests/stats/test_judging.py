"""From records to a judgement: a defect is seen where it is, a twin is not told apart, and IRF stays as published."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from record_worlds import Persona, trials, world
from worlds import METRICS, sample_ids

import vendor_verifier
from vendor_verifier.gates.judge import judge_gate
from vendor_verifier.gates.thresholds import parse_threshold
from vendor_verifier.records.judgement import RankingJudgement
from vendor_verifier.scoring.irf import irf
from vendor_verifier.stats.bootstrap import bootstrap
from vendor_verifier.stats.intervals import estimate_of, gap_to, percentile_estimates
from vendor_verifier.stats.judge_ranking import judge_ranking
from vendor_verifier.stats.panel import build_panel
from vendor_verifier.stats.ratio_table import Trials

PACKAGE = Path(vendor_verifier.__file__).parent
N = 400
PERSONAS = (
    Persona("base", runs=2),
    Persona("twin"),
    Persona("shy", misses=0.2),
    Persona("slow", slower=2.0),
    Persona("padded", padding=30),
    Persona("broken", broken=0.4),
    Persona("down", fails=0.15),
)


@pytest.fixture(scope="module")
def played() -> list[Trials]:
    rng = np.random.default_rng(7)
    return trials(rng, world(rng, N), PERSONAS)


@pytest.fixture(scope="module")
def judged(played: list[Trials]) -> RankingJudgement:
    return judge_ranking(played, sample_ids(N), np.random.default_rng(2), baseline="base")


def differing(judged: RankingJudgement, one: str, other: str) -> set[str]:
    return {each.metric for each in judged.differences if {each.first, each.second} == {one, other} and each.differs}


@pytest.mark.parametrize(
    ("persona", "metrics"),
    [
        ("twin", set()),
        ("shy", {"f1"}),
        ("slow", {"avg_ttft_ms", "tps"}),
        ("padded", {"avg_tokens"}),
        ("broken", {"schema_accuracy"}),
        ("down", {"success_rate", "f1"}),
    ],
)
def test_each_defect_is_seen_where_it_is(judged: RankingJudgement, persona: str, metrics: set[str]) -> None:
    """Against the baseline, with all comparisons of all metrics counted, and nowhere else."""
    assert differing(judged, "base", persona) == metrics
    assert (("base", persona) in judged.not_distinguishable) is not metrics


def test_irf_is_the_published_one(played: list[Trials], judged: RankingJudgement) -> None:
    """With the baseline's F1 of 1.0, to the last digit, and the leader is its leader."""
    panel = build_panel(played, sample_ids(N), baseline="base", metrics=METRICS, baseline_f1="fixed")
    published = irf({label: {metric: panel.value(label, metric) for metric in METRICS} for label in panel.labels})
    assert {row.label: row.irf.value for row in judged.irf} == pytest.approx(published, abs=1e-12)
    assert panel.value("base", "f1") == 1.0
    assert (judged.estimates["base"]["f1"].value or 1.0) < 1.0


def test_ranks_and_groups_agree_with_the_differences(judged: RankingJudgement) -> None:
    """The broken vendor is last on schema accuracy, joint rank intervals are the wider ones, and nobody is left out."""
    alone = {(each.metric, each.label): each for each in judged.per_metric}
    assert (alone["schema_accuracy", "broken"].low, alone["schema_accuracy", "broken"].high) == (7, 7)
    for each in judged.joint:
        inner = alone[each.metric, each.label]
        assert 1 <= each.low <= inner.low <= inner.high <= each.high <= 7
    for groups in judged.tie_groups.values():
        assert {label for group in groups for label in group} == set(judged.labels)
    assert judged.tie_groups["schema_accuracy"][-1] == ("broken",)


def test_every_estimate_has_an_interval_around_it(judged: RankingJudgement) -> None:
    """Whatever the method, low ≤ value ≤ high, and it says which method."""
    for figures in judged.estimates.values():
        for estimate in figures.values():
            assert estimate.value is not None
            assert estimate.low is not None
            assert estimate.high is not None
            assert estimate.low <= estimate.value <= estimate.high
            assert estimate.low < estimate.high
            assert estimate.method
            assert 0 < estimate.n <= 2 * N


def test_the_order_of_vendors_does_not_change_the_verdicts(played: list[Trials], judged: RankingJudgement) -> None:
    """Entries may stand in any order in the config."""
    turned = judge_ranking(played[::-1], sample_ids(N), np.random.default_rng(2), baseline="base")
    assert {frozenset(pair) for pair in turned.not_distinguishable} == {
        frozenset(pair) for pair in judged.not_distinguishable
    }
    assert set(turned.joint) == set(judged.joint)


def test_a_metric_that_ranks_nobody_is_compared_all_the_same(played: list[Trials], judged: RankingJudgement) -> None:
    """IRF is that without it; differences, rank intervals and ties do not change."""
    names, unranked = sample_ids(N), ("avg_ttft_ms", "tps")
    left = [metric for metric in METRICS if metric not in unranked]
    found = judge_ranking(played, names, np.random.default_rng(2), baseline="base", unranked=unranked)
    without = judge_ranking(played, names, np.random.default_rng(2), baseline="base", metrics=left)
    assert found.irf == without.irf != judged.irf
    assert (found.differences, found.joint, found.tie_groups) == (judged.differences, judged.joint, judged.tie_groups)


def test_without_a_baseline_or_without_data(played: list[Trials]) -> None:
    """No baseline: no F1, the rest is judged; a vendor without records is in no pair and has no rank."""
    found = judge_ranking([*played[:2], Trials("gone")], sample_ids(N), np.random.default_rng(3), resamples=200)
    assert found.estimates["twin"]["f1"].value is None
    assert found.estimates["gone"]["tps"].value is None
    assert {each.label for each in found.joint} == {"base", "twin"}
    assert found.not_distinguishable == {("base", "twin")}
    assert "gone" not in {row.label for row in found.irf}


def test_gates_from_the_same_resamples(played: list[Trials]) -> None:
    """Exact intervals for rates, paired gaps to the ceiling, order statistics for percentiles, good and bad vendors."""
    panel = build_panel(played, sample_ids(N), baseline="base", metrics=METRICS)
    resampled = bootstrap(panel, np.random.default_rng(4), resamples=500)
    for text, good, bad in (
        ("schema_accuracy >= 0.85", "twin", "broken"),
        ("success_rate >= 0.95", "twin", "down"),
        ("f1 >= ceiling - 0.06", "twin", "shy"),
        ("schema_accuracy >= ceiling - 0.1", "twin", "broken"),
        ("avg_ttft_ms.p50 <= 600", "twin", "slow"),
    ):
        gate = parse_threshold(text)
        outcomes = []
        for label in (good, bad):
            [own] = [each for each in played if each.label == label]
            column = [top / low for top, low in own.ratios["avg_ttft_ms"].values()]
            estimates = {metric: estimate_of(panel, resampled, label, metric, exact=True) for metric in METRICS}
            estimates |= percentile_estimates({"avg_ttft_ms": column})
            gaps = {metric: gap_to(panel, resampled, label, "base", metric) for metric in METRICS}
            outcomes.append(judge_gate(label, gate, estimates, gaps).outcome)
        assert outcomes == ["PASS", "FAIL"], text


def test_a_gap_of_two_faultless_vendors_is_not_nothing() -> None:
    """20 of 20 on both sides leaves room on both."""
    ratios = {"success_rate": {(f"s{i}", 0): (1.0, 1.0) for i in range(20)}}
    panel = build_panel([Trials("a", (), ratios), Trials("b", (), ratios)], sample_ids(20), metrics=["success_rate"])
    found = gap_to(panel, bootstrap(panel, np.random.default_rng(5), resamples=50), "a", "b", "success_rate")
    assert found.value == 0
    assert (found.low, found.high) == (pytest.approx(-0.161, abs=0.001), pytest.approx(0.161, abs=0.001))
    assert math.isclose(-(found.low or 0), found.high or 0)


def test_a_gap_of_all_and_nothing_is_large() -> None:
    """20 of 20 against 0 of 20: no resample varies, and the interval is nowhere near 0."""
    good, bad = ({"success_rate": {(f"s{i}", 0): (share, 1.0) for i in range(20)}} for share in (1.0, 0.0))
    panel = build_panel([Trials("a", (), good), Trials("b", (), bad)], sample_ids(20), metrics=["success_rate"])
    found = gap_to(panel, bootstrap(panel, np.random.default_rng(5), resamples=50), "b", "a", "success_rate")
    assert (found.value, found.low, found.high) == (-1.0, -1.0, pytest.approx(-0.839, abs=0.001))


decisions = st.dictionaries(
    st.sampled_from(sample_ids(14)), st.sampled_from(["called", "not_called", "undecided"]), max_size=14
)
parts = st.tuples(st.sampled_from([0.0, 1.0, 3.0]), st.sampled_from([0.0, 1.0, 2.0]))
columns = st.dictionaries(st.tuples(st.sampled_from(sample_ids(14)), st.integers(0, 1)), parts, max_size=14)
ratios = st.dictionaries(st.sampled_from(METRICS[1:]), columns.map(lambda each: _shares(each)))


def _shares(column: dict[tuple[str, int], tuple[float, float]]) -> dict[tuple[str, int], tuple[float, float]]:
    """Numerators within their denominators, so that rates are rates."""
    return {unit: (min(top, low), low) for unit, (top, low) in column.items()}


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.lists(decisions, max_size=2), ratios), min_size=1, max_size=4),
    st.integers(1, 14),
    st.booleans(),
)
def test_no_data_breaks_the_judgement(entries: list[Any], n: int, with_baseline: bool) -> None:
    """Few, missing, contradictory and constant rows give finite numbers, ordered intervals and no warning."""
    played = [Trials(f"v{i}", tuple(runs), columns) for i, (runs, columns) in enumerate(entries)]
    baseline = "v0" if with_baseline else None
    found = judge_ranking(played, sample_ids(n), np.random.default_rng(0), baseline=baseline, resamples=40)
    estimates = [each for figures in found.estimates.values() for each in figures.values()]
    estimates += [each for row in found.irf for each in (row.irf, row.rank)] + list(found.irf_gaps.values())
    for estimate in estimates:
        numbers = [each for each in (estimate.low, estimate.value, estimate.high) if each is not None]
        assert numbers == sorted(numbers)
        assert all(map(math.isfinite, numbers))


def test_importing_the_statistics_imports_no_numbers() -> None:
    """A run may import every module here without paying for numpy, scipy or the price list."""
    folders = ("audit", "gates", "stats")
    modules = [f"{folder}.{file.stem}" for folder in folders for file in (PACKAGE / folder).glob("[a-z]*.py")]
    imports = "; ".join(f"import vendor_verifier.{module}" for module in modules)
    heavy = "{'numpy', 'scipy', 'pandas', 'genai_prices'} & set(sys.modules)"
    code = f"import sys, vendor_verifier.pipeline.prices; {imports}; sys.exit(str(found) if (found := {heavy}) else 0)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
