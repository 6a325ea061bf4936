"""Percentiles are those of NumPy's default method, and nothing measured is not zero."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.metrics.base import distribution, percentile
from vendor_verifier.records.score import Distribution

NUMBERS = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40)


@given(NUMBERS)
def test_percentiles_equal_numpys(values: list[float]) -> None:
    """Type 7 interpolation, checked against an independent implementation."""
    found = distribution(values)
    expected = np.percentile(values, [50, 90, 95, 99])
    assert [found.p50, found.p90, found.p95, found.p99] == pytest.approx(list(expected), abs=1e-6)
    assert found.mean == pytest.approx(float(np.mean(values)), abs=1e-6)
    assert (found.n, found.min, found.max) == (len(values), min(values), max(values))


def test_what_was_not_measured_is_left_out() -> None:
    """None adds neither to the sum nor to the count."""
    assert distribution([None, 2.0, None, 4.0]).mean == 3.0
    assert distribution([None]) == Distribution(0)


def test_one_number_is_all_its_percentiles() -> None:
    """A single measurement is not extrapolated."""
    assert distribution([7.0]) == Distribution(1, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0)


def test_nothing_has_no_percentile() -> None:
    """An empty list is a mistake of the caller."""
    with pytest.raises(ValueError, match="nothing"):
        percentile([], 50)
