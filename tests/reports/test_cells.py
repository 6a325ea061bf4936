"""How figures are written."""

from __future__ import annotations

import math
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.reports import number_format


@pytest.mark.parametrize(
    ("value", "written"),
    [(1.0, "1"), (0.0, "0"), (0.9967, "0.9967"), (0.8, "0.8000"), (0.99996, ">0.9999"), (1e-6, "<0.0001"), (None, "–")],
)
def test_rates_are_written_as_on_the_page(value: float | None, written: str) -> None:
    """Four decimals; 1 and 0 only when nothing is missing."""
    assert number_format.rate(value) == written


@pytest.mark.parametrize(
    ("value", "written"),
    [(99.36, "99.36"), (103.7, "103.7"), (22.3, "22.3"), (3897.2, "3897"), (246.0, "246"), (777.3, "777.3"),
     (999.96, "1000"), (12345.6, "12346"), (1e6, "1000000"), (0.0, "0"), (None, "–"), (math.nan, "–")],
)  # fmt: skip
def test_quantities_are_written_as_on_the_page(value: float | None, written: str) -> None:
    """Four significant digits, never in powers of ten."""
    assert number_format.quantity(value) == written


@given(st.floats(0, 1))
def test_only_a_perfect_rate_reads_as_one(value: float) -> None:
    """A single failure in any number of samples can be seen."""
    assert (number_format.rate(value) == "1") == (value == 1)
    assert number_format.rate(value) != "1.0000"


def test_tally_is_ordered_and_escaped() -> None:
    """Most frequent first, ties by name, words escaped."""
    assert number_format.tally({"b": 1, "a": 1, "c": 5}, str.upper) == "C 5, A 1, B 1"
    assert number_format.tally({}, str.upper) == "–"


def test_marks(reports: ModuleType) -> None:
    """The baseline's F1 is marked, another vendor's is not; an IRF over fewer metrics than others is marked."""
    model = reports.full().models[0]
    by_label = {vendor.label: vendor for vendor in model.vendors}
    assert number_format.metric(by_label["official"], "f1") == "1†"
    assert number_format.metric(by_label["twin a"], "f1") == "0.8427"
    assert number_format.irf(reports.dead(), model) == "0.2000‡"
    assert number_format.irf(by_label["twin a"], model) == "0.8690"
    assert number_format.irf(reports.vendor("never measured", irf=0.0, irf_metrics=0), model) == "–"
