"""The probe test: exact under the null, as powerful as stated on toy models, blind where nothing can be told apart."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from vendor_verifier.stats.probe_test import ProbeCounts, counted, seen_mixture, unlikeness

_WORDS = 16
# Text is nearly certain at most places, a probe is not: the same disturbance moves its answer far more.
_CERTAINTY, _SPREAD = 9.0, 2.5


def _shares(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    found: NDArray[np.float64] = weights / weights.sum(axis=1, keepdims=True)
    return found


@cache
def _disturbance(divergence: float) -> float:
    """The noise on logits that gives this Kullback-Leibler divergence per token of ordinary text, on the average."""
    rng = np.random.default_rng(0)
    logits, noise = _CERTAINTY * rng.gumbel(size=(2_000, _WORDS)), rng.normal(size=(2_000, _WORDS))
    low, high = 0.0, 5.0
    for _ in range(30):
        middle = (low + high) / 2
        own, other = _shares(logits), _shares(logits + middle * noise)
        below = float((own * np.log(own / np.maximum(other, 1e-300))).sum(axis=1).mean()) < divergence
        low, high = (middle, high) if below else (low, middle)
    return low


def _world(
    rng: np.random.Generator, *, divergence: float = 0.0, mixed: float = 0.0, probes: int = 60, asked: int = 20
) -> list[ProbeCounts]:
    """A vendor's counts beside a baseline that was asked twice as often, its model disturbed or mixed with another."""
    logits = _SPREAD * rng.normal(size=(probes, _WORDS))
    usual = _shares(logits)
    noise = _disturbance(divergence) * rng.normal(size=logits.shape) if divergence else 0.0
    own = (1 - mixed) * _shares(logits + noise) + mixed * _shares(_SPREAD * rng.normal(size=logits.shape))
    made = []
    for theirs, mine in zip(usual, own, strict=True):
        counts = ProbeCounts(rng.multinomial(asked, mine), rng.multinomial(2 * asked, theirs))
        seen = counts.both > 0
        made.append(ProbeCounts(counts.own[seen], counts.baseline[seen]))
    return made


def _found(runs: int, seed: int, level: float = 0.01, **world: float) -> float:
    rng = np.random.default_rng(seed)
    tests = [unlikeness(_world(rng, **world), rng) for _ in range(runs)]  # type: ignore[arg-type]
    return sum(test is not None and test.p_value <= level for test in tests) / runs


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


def test_another_model_is_found_and_the_same_one_is_not() -> None:
    rng = np.random.default_rng(11)
    other, twin = unlikeness(_world(rng, mixed=1.0), rng), unlikeness(_world(rng), rng)
    assert other is not None
    assert twin is not None
    assert other.p_value < 0.001 < 0.01 < twin.p_value
    assert (other.probes, other.n) == (60, 1_200)


def test_more_answers_show_a_smaller_mixture() -> None:
    rng = np.random.default_rng(3)
    few, many = (seen_mixture(_world(rng, probes=30, asked=asked), 0.01, rng) for asked in (5, 40))
    assert many is not None
    assert many < (few or 1.1)


@pytest.mark.slow
def test_a_twin_is_found_unlike_at_the_stated_level_at_most() -> None:
    # 400 runs at 1 %: more than 10 would happen by chance once in 300 times.
    assert _found(400, 101, probes=20) * 400 <= 10


@pytest.mark.slow
@pytest.mark.parametrize(
    ("world", "least"),
    [({"divergence": 0.03}, 0.95), ({"divergence": 0.01}, 0.5), ({"mixed": 0.2}, 0.9)],
    ids=["as if in 4 bits", "a third of it", "a fifth from another model"],
)
def test_a_disturbed_or_mixed_model_is_found_as_often_as_stated(world: dict[str, float], least: float) -> None:
    assert _found(60, 202, **world) >= least
