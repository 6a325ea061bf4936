"""The log-probability test: exact under the null, blind to what kernels do, and as powerful as stated on toy models."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest
from loading_scripts import load

from vendor_verifier.stats.logprob_test import LEAST_SHIFT, Listed, Shift, StatedLogprobs, shift, tabled

script = pytest.fixture(scope="module")(lambda: load("make_probe_table"))


def _test(tables: list[StatedLogprobs], seed: int = 1) -> Shift:
    return shift(tables, np.random.default_rng(seed))


def _sides(
    rng: np.random.Generator, *, off: float = 0.0, jitter: float = 0.02, probes: int = 12
) -> list[StatedLogprobs]:
    """Five answers of the vendor and ten of the baseline to each probe, ``off`` so far apart on every token."""
    truth = -np.sort(rng.exponential(2.0, (probes, 1, 5)), axis=2)
    own, baseline = (truth + jitter * rng.normal(size=(probes, times, 5)) for times in (5, 10))
    away = off * rng.choice([-1.0, 1.0], (probes, 1, 5))
    return [StatedLogprobs(mine, theirs) for mine, theirs in zip(own + away, baseline, strict=True)]


def test_only_probes_that_both_sides_answered_twice_are_compared_and_tokens_that_half_of_them_list() -> None:
    """Who does not list a token holds it for no likelier than the last one listed."""
    own: dict[str, list[Listed]] = {
        "a": [{"x": -1.0, "y": -2.0}, {"x": -1.0, "z": -3.0}], "b": [{"x": -1.0}], "c": [{}, {}],
    }  # fmt: skip
    base: dict[str, list[Listed]] = {"a": [{"x": -1.5, "y": -2.5}] * 2, "b": [{"x": -1.0}] * 4, "c": [{"x": -1.0}] * 4}
    (only,) = tabled(own, base)
    assert only.own.tolist() == [[-1.0, -2.0], [-1.0, -3.0]]
    assert only.baseline.tolist() == [[-1.5, -2.5]] * 2


def test_minus_9999_and_more_than_certain_are_taken_for_what_can_be() -> None:
    (only,) = tabled({"a": [{"x": -9_999.0, "y": 3.0}] * 2}, {"a": [{"x": -20.0, "y": 0.0}] * 2})
    assert only.own.tolist() == only.baseline.tolist() == [[-20.0, 0.0]] * 2


def test_numbers_that_stand_still_and_are_the_same_differ_in_nothing() -> None:
    still = [StatedLogprobs(np.full((3, 2), -1.0), np.full((6, 2), -1.0))]
    assert _test(still) == Shift(3, 1, 0.0, 1.0, 0.0, LEAST_SHIFT)
    assert _test([]).p_value == 1.0


def test_the_order_of_answers_and_tokens_changes_nothing() -> None:
    tables = _sides(np.random.default_rng(5), off=0.01)
    turned = [StatedLogprobs(each.own[::-1, ::-1], each.baseline[::-1, ::-1]) for each in tables]
    one, other = _test(tables), _test(turned)
    assert one.nats == pytest.approx(other.nats)
    assert one.z == pytest.approx(other.z, rel=0.1)


def test_a_shift_is_measured_in_nats_and_what_chance_adds_is_taken_off() -> None:
    rng = np.random.default_rng(6)
    far, near = _test(_sides(rng, off=0.3)), _test(_sides(rng, jitter=0.3))
    assert far.nats == pytest.approx(0.3, abs=0.02)
    assert far.p_value < 0.001
    assert near.nats < 0.06
    assert near.p_value > 0.01


def test_what_jitters_more_shows_larger_shifts_only() -> None:
    calm, wild = (_test(_sides(np.random.default_rng(7), jitter=jitter)).seen for jitter in (0.05, 0.5))
    assert LEAST_SHIFT <= calm < wild


@pytest.mark.slow
def test_a_twin_is_found_unlike_at_the_stated_level_at_most(script: ModuleType) -> None:
    """400 runs at 1 %, of any shift at all: more than 10 would happen by chance once in 300 times."""
    found = 0
    for seed in range(71_000, 71_400):
        rng = np.random.default_rng(seed)
        found += shift(script.stated(rng, 12, script.TWIN), rng, 1_000).p_value <= 0.01
    assert found <= 10


@pytest.mark.slow
@pytest.mark.parametrize(("place", "least"), [(0, 20), (1, 20), (2, 19), (3, 19)])
def test_another_precision_or_a_mixture_is_found_as_often_as_stated(script: ModuleType, place: int, least: int) -> None:
    """As of 4 bits, a third of it, as of 8 bits, and a fifth of the requests sent to another model: of 20 runs."""
    assert script.found_by_logprobs(60, script.DEFECTS[place], 20, first_seed=72_000) >= least


@pytest.mark.slow
def test_the_shift_that_is_said_to_be_seen_is_found_in_eight_of_ten_runs() -> None:
    """With a jitter that makes it more than the least; 12 of 20 or fewer would be chance once in 30 times."""
    found = 0
    for seed in range(74_000, 74_020):
        off = _test(_sides(np.random.default_rng(seed), jitter=0.3, probes=30), seed).seen
        found += _test(_sides(np.random.default_rng(seed), off=off, jitter=0.3, probes=30), seed).p_value <= 0.01
    assert found >= 13
