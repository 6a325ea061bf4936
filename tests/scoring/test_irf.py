"""IRF: ranks with average ties, best direction, missing values."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vendor_verifier.scoring.metrics import RANK_METRICS, irf, ranks

VALUES = st.one_of(st.none(), st.floats(allow_nan=True, allow_infinity=False), st.integers(0, 2).map(float))
TABLES = st.dictionaries(st.text(max_size=3), st.fixed_dictionaries(dict.fromkeys(RANK_METRICS, VALUES)), max_size=5)


def test_ranks_of_a_table() -> None:
    """Equal values share the mean rank; who has no value has no rank."""
    table = {
        "a": {"f1": 0.9, "avg_ttft_ms": 100.0},
        "b": {"f1": 0.9, "avg_ttft_ms": 50.0},
        "c": {"f1": 0.5, "avg_ttft_ms": None},
        "d": {"f1": float("nan")},
    }
    assert ranks(table) == {
        "a": {"f1": 1.5, "avg_ttft_ms": 2.0}, "b": {"f1": 1.5, "avg_ttft_ms": 1.0}, "c": {"f1": 3.0}, "d": {},
    }  # fmt: skip
    assert irf(table) == {"a": 1 / 6.5 + 1 / 7, "b": 1 / 6.5 + 1 / 6, "c": 1 / 8, "d": 0.0}


def test_a_metric_of_ones_own() -> None:
    table = {"a": {"cost": 1.0}, "b": {"cost": 2.0}}
    assert irf(table)["b"] > irf(table)["a"]
    assert irf(table, directions={"cost": "lower"})["a"] > irf(table, directions={"cost": "lower"})["b"]


@settings(max_examples=40)
@given(TABLES)
def test_ranks_sum_up_as_without_ties(table: dict[str, dict[str, float | None]]) -> None:
    """Each metric hands out 1 … n in all, whatever the ties, and IRF lies in [0, 1]."""
    found = ranks(table)
    for name in RANK_METRICS:
        given_ = [by_metric[name] for by_metric in found.values() if name in by_metric]
        assert sum(given_) == pytest.approx(len(given_) * (len(given_) + 1) / 2)
    assert all(0 <= value <= 1 + 1e-12 for value in irf(table).values())
