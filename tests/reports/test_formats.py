"""How numbers are written, the same everywhere."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.reports import formats


@pytest.mark.parametrize(
    ("value", "form", "text"),
    [
        *((value, formats.rate, text) for value, text in (
            (1.0, "1"), (0.0, "0"), (0.9967, "0.9967"), (0.8, "0.8000"), (0.99996, ">0.9999"), (1e-6, "<0.0001"),
        )),
        *((value, formats.quantity, text) for value, text in (
            (99.36, "99.36"), (103.7, "103.7"), (3897.2, "3897"), (246.0, "246"), (999.96, "1000"), (1e6, "1000000"),
            (-1.5, "−1.5"), (0.0, "0"),
        )),
        *((value, formats.usd, text) for value, text in (
            (1250.4, "$1,250"), (0.37, "$0.37"), (0.0037, "$0.0037"), (0.0, "$0.00"),
        )),
        (0.9996, formats.short_rate, "0.999"), (1.0, formats.short_rate, "1.000"), (1e-5, formats.short_rate, "0.001"),
        (0.876543, formats.irf, "0.8765"), (1e-12, formats.p_value, "<1e-9"), (0.031, formats.p_value, "0.031"),
        (None, formats.rate, "–"), (math.nan, formats.quantity, "–"), (math.inf, formats.usd, "–"),
    ],
)  # fmt: skip
def test_numbers(value: float | None, form: formats.Format, text: str) -> None:
    """As on the product's page; what was not measured is "–", never 0."""
    assert formats.written(value, form) == text


@given(st.floats(0, 1))
def test_only_a_perfect_rate_reads_as_one(value: float) -> None:
    assert (formats.rate(value) == "1") == (value == 1)
    assert (formats.short_rate(value) == "1.000") == (value == 1)
