"""Evidence over nights: wealth that honest nights do not make grow, whenever one stops, and unlike ones do."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from vendor_verifier.stats.e_values import evidence_over
from vendor_verifier.stats.probe_test import counted, unlikeness

MOST_NIGHTS = 60


def found_at(p_values: NDArray[np.float64], level: float = 0.01) -> int | None:
    """The first night at which the evidence reaches 1 ÷ level; None where it never does."""
    return next(
        (night for night in range(1, len(p_values) + 1) if evidence_over(list(p_values[:night])).chance <= level), None
    )


def test_one_night_has_the_wealth_of_its_formula() -> None:
    """Half is spent on the first night, a quarter of it on each shift; the other half waits."""
    z = 3.0
    p_value = 0.5 * math.erfc(z / math.sqrt(2))
    spent = np.mean([math.exp(shift * z - shift**2 / 2) for shift in (0.5, 1.0, 2.0, 3.0)])
    found = evidence_over([p_value])
    assert found.e_value == pytest.approx(0.5 * spent + 0.5, rel=1e-6)
    assert (found.nights, found.first) == (1, 0)


def test_a_factor_is_worth_one_on_average() -> None:
    """By the density of z where p is any number between 0 and 1; so the wealth of honest nights is 1 on average."""
    grid = np.arange(-6, 6.8, 0.01)
    density = 0.01 * np.exp(-(grid**2) / 2) / math.sqrt(2 * math.pi)
    wealth = [evidence_over([0.5 * math.erfc(z / math.sqrt(2))]).e_value for z in grid]
    assert float(density @ np.array(wealth)) == pytest.approx(1.0, abs=0.001)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_evidence_is_a_number_and_a_smaller_p_value_is_never_less(p_values: list[float]) -> None:
    """Whatever the nights showed; the night it comes from is one of them."""
    found = evidence_over(p_values)
    assert 0 < found.e_value < math.inf
    assert 0 <= found.first < len(p_values)
    assert evidence_over([*p_values[:-1], p_values[-1] / 2]).e_value >= found.e_value * (1 - 1e-9)


def test_what_is_no_p_value_is_refused() -> None:
    """No night, and a number outside 0 … 1."""
    for p_values in ([], [0.5, 1.5]):
        with pytest.raises(ValueError, match="between 0 and 1"):
            evidence_over(p_values)


def test_a_change_that_begins_late_is_found_and_dated() -> None:
    """Forty honest nights do not bury five that are far off."""
    rng = np.random.default_rng(3)
    p_values = [*rng.random(40), *[0.001] * 5]
    found = evidence_over(list(p_values))
    assert found.chance < 0.01
    assert 38 <= found.first <= 41


@pytest.mark.slow
@pytest.mark.parametrize("level", [0.05, 0.01])
def test_honest_nights_ever_reach_the_limit_no_more_often_than_stated(level: float) -> None:
    """Looked at after every one of 60 nights, in 500 histories: at most the level, plus two standard errors."""
    rng = np.random.default_rng(20261)
    wrong = np.mean([found_at(rng.random(MOST_NIGHTS), level) is not None for _ in range(500)])
    assert wrong <= level + 2 * math.sqrt(level * (1 - level) / 500)


# Of a shift of nightly z: the power of one night at 1 %, and the nights within which 8 of 10 vendors are found, where
# they are unlike from the first night on, and from the 31st.
NIGHTS = {1.0: (0.09, 20, 28), 2.0: (0.37, 5, 9), 2.8: (0.68, 3, 5)}


@pytest.mark.slow
@pytest.mark.parametrize("shift", sorted(NIGHTS))
def test_unlike_nights_add_up_as_fast_as_the_page_says(shift: float) -> None:
    """Over 120 histories; a shift of 2.8 is what a KL of 0.01 per token makes of the suite ``probes``."""
    rng = np.random.default_rng(20262)
    one, early, late = NIGHTS[shift]
    z = rng.normal(shift, 1, (120, 40))
    p_values = 0.5 * np.vectorize(math.erfc)(z / math.sqrt(2))
    assert np.mean(p_values[:, 0] <= 0.01) == pytest.approx(one, abs=0.09)
    assert np.mean([found_at(row[:early]) is not None for row in p_values]) >= 0.73
    quiet = rng.random((120, 30))
    delays = [
        any(evidence_over([*before, *row[:night]]).chance <= 0.01 for night in range(1, late + 1))
        for before, row in zip(quiet, p_values, strict=True)
    ]
    assert np.mean(delays) >= 0.73


@pytest.mark.slow
def test_honest_nights_of_the_probe_test_itself_stay_below_the_limit() -> None:
    """Its p-values come from drawing: of 60 histories of 8 nights at most 6 reach 5 %, of 10 unlike ones 8 do."""
    rng = np.random.default_rng(20263)
    usual = rng.dirichlet(np.full(8, 0.7), 12)
    other = 0.75 * usual + 0.25 * rng.permuted(usual, axis=1)
    honest = sum(found_at(_nights(rng, usual, usual), 0.05) is not None for _ in range(60))
    unlike = sum(found_at(_nights(rng, usual, other), 0.05) is not None for _ in range(10))
    assert honest <= 6
    assert unlike >= 8


def _nights(rng: np.random.Generator, usual: NDArray[np.float64], own: NDArray[np.float64]) -> NDArray[np.float64]:
    """The p-values of eight nights, each of twelve probes asked twenty times on both sides."""
    p_values = []
    for _ in range(8):
        sides = [
            {f"p{i}": [str(token) for token in rng.choice(8, 20, p=chances)] for i, chances in enumerate(side)}
            for side in (own, usual)
        ]
        found = unlikeness(counted(*sides), rng)
        assert found is not None
        p_values.append(found.p_value)
    return np.array(p_values)
