"""Sample sizes come out as tabulated, and size and drop are each other's inverse."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.stats.sample_size import f1_detectable_drop, f1_samples


@pytest.mark.parametrize(
    ("ceiling", "prevalence", "one", "two", "five"),
    [(0.95, 0.5, 3915, 979, 157), (0.86, 0.5, 10774, 2694, 431)],
)
def test_samples_for_a_drop(ceiling: float, prevalence: float, one: int, two: int, five: int) -> None:
    """1, 2 and 5 points below the ceiling need the tabulated numbers of samples."""
    found = [f1_samples(drop, ceiling, prevalence) for drop in (0.01, 0.02, 0.05)]
    assert found == pytest.approx([one, two, five], abs=1)


@pytest.mark.parametrize(("n", "points"), [(200, 4.4), (300, 3.6), (2000, 1.4), (4000, 1.0)])
def test_detectable_drop(n: int, points: float) -> None:
    """With a ceiling of 0.95 and half the samples calling, 300 samples show 3.6 points."""
    assert 100 * f1_detectable_drop(n, 0.95, 0.5) == pytest.approx(points, abs=0.05)


@given(st.floats(0.01, 0.2), st.floats(0.6, 0.99), st.floats(0.1, 1.0))
def test_size_and_drop_are_inverse(drop: float, ceiling: float, prevalence: float) -> None:
    """As many samples as a drop needs show that drop, one fewer does not."""
    n = f1_samples(drop, ceiling, prevalence)
    assert f1_detectable_drop(n, ceiling, prevalence) <= drop * (1 + 1e-9)
    if n > 1:
        assert f1_detectable_drop(n - 1, ceiling, prevalence) > drop * (1 - 1e-9)


def test_senseless_questions_are_refused() -> None:
    """No drop, no calls, an F1 above 1, no samples."""
    for call in (
        lambda: f1_samples(0, 0.9, 0.5),
        lambda: f1_samples(0.1, 0.9, 0),
        lambda: f1_samples(0.1, 1.1, 0.5),
        lambda: f1_detectable_drop(0, 0.9, 0.5),
    ):
        with pytest.raises(ValueError, match=r"\w"):
            call()
