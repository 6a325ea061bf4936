"""The probe test: exact under the null, as powerful as stated on toy models, blind where nothing can be told apart.

The toy models are those of ``scripts/make_probe_table.py``, with other seeds than its table's.
"""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest
from loading_scripts import load

from vendor_verifier.stats.probe_test import counted, seen_mixture, unlikeness

script = pytest.fixture(scope="module")(lambda: load("make_probe_table"))


def test_only_probes_that_both_answered_at_least_twice_are_counted() -> None:
    (only,) = counted({"a": ["7", "7", "9"], "b": ["x"], "c": ["y", "y"]}, {"a": ["9", "9"], "b": ["x", "x"]})
    assert only.own.tolist() == [2, 1]
    assert only.baseline.tolist() == [0, 2]


def test_the_order_of_answers_changes_nothing() -> None:
    own, base = {"a": list("7793"), "b": list("xxyz")}, {"a": list("7399"), "b": list("zyxy")}
    turned = {probe: tokens[::-1] for probe, tokens in own.items()}
    first, second = (unlikeness(counted(each, base), np.random.default_rng(1)) for each in (own, turned))
    assert first is not None
    assert second is not None
    assert first.z == pytest.approx(second.z, abs=0.3)


def test_one_answer_to_every_probe_tells_nothing() -> None:
    counts = counted({"a": ["7"] * 9, "b": ["x"] * 9}, {"a": ["7"] * 9, "b": ["x"] * 9})
    assert unlikeness(counts, np.random.default_rng(1)) is None
    assert seen_mixture(counts, 0.01, np.random.default_rng(1)) is None


def test_another_model_is_found_and_the_same_one_is_not(script: ModuleType) -> None:
    rng = np.random.default_rng(11)
    size, replaced = script.SIZES[0], script.Defect("another model", mixed=1.0)
    other, twin = (unlikeness(script.world(rng, size, defect, 2), rng) for defect in (replaced, script.TWIN))
    assert other is not None
    assert twin is not None
    assert other.p_value < 0.001 < 0.01 < twin.p_value
    assert (other.probes, other.n) == (60, 1_200)


def test_more_answers_show_a_smaller_mixture(script: ModuleType) -> None:
    rng = np.random.default_rng(3)
    few, many = (
        seen_mixture(script.world(rng, script.Size(30, asked), script.TWIN, 2), 0.01, rng) for asked in (5, 40)
    )
    assert many is not None
    assert many < (few or 1.1)


@pytest.mark.slow
def test_a_twin_is_found_unlike_at_the_stated_level_at_most(script: ModuleType) -> None:
    """200 runs at 1 %: more than 7 would happen by chance once in a thousand times."""
    assert script.found(script.Size(12, 20), script.TWIN, 200, first_seed=81_000) <= 7


@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "runs", "least"),
    [(0, 20, 19), (1, 20, 9), (3, 20, 19)],
    ids=["as if in 4 bits", "a third of it", "a fifth from another model"],
)
def test_a_disturbed_or_mixed_model_is_found_as_often_as_stated(
    script: ModuleType, place: int, runs: int, least: int
) -> None:
    """At the page's rates of 1, 0.7 and 1; fewer than 9 of 20 at 0.7 would be chance once in 190 times."""
    assert script.found(script.SIZES[0], script.DEFECTS[place], runs, first_seed=82_000) >= least


@pytest.mark.slow
def test_the_mixture_that_is_said_to_be_seen_is_found_in_eight_of_ten_runs(script: ModuleType) -> None:
    """Of 10 runs; at 0.8 fewer than 5 would be chance once in 160 times."""
    assert script.said_and_found(10, 83_000).found >= 5
