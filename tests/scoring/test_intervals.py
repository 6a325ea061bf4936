"""The 95 % intervals of the ranked metrics and of IRF."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from msgspec import structs
from scored import MODEL, scored_demo

from vendor_verifier.scoring.intervals import intervals


def test_intervals_hold_their_figures() -> None:
    """Every figure lies in its interval; the baseline's F1 of 1 has none, nor has anything below eight blocks."""
    demo = scored_demo()
    model = demo.report.models[MODEL]
    blocks = (np.arange(len(demo.records)) % 10).astype(float)
    found = intervals(model, demo.records.assign(block=blocks), "missed")
    assert "f1" not in found["official"]
    assert found["slow"]["success_rate"] == pytest.approx((0.839, 1.0), abs=0.001)
    for label, spans in found.items():
        assert {"success_rate", "avg_tokens", "avg_ttft_ms"} <= set(spans)
        for metric, (low, high) in spans.items():
            value = model.vendors[label].metric(metric)
            assert value is not None
            assert low - 1e-9 <= value <= high + 1e-9, (label, metric)
    assert intervals(model, demo.records.assign(block=0.0), "missed") == {}


def test_draws_without_a_measurement_are_no_zero() -> None:
    """A vendor whose answers were timed in one block of ten only."""
    demo = scored_demo()
    records = demo.records.assign(block=(np.arange(len(demo.records)) % 10).astype(float))
    ttft = records["ttft_ms"].where((records["label"] != "slow") | (records["block"] == 0))
    vendor = structs.replace(
        demo.report.models[MODEL].vendors["slow"], avg_ttft_ms=ttft[records["label"] == "slow"].mean()
    )
    model = demo.report.models[MODEL]
    model = structs.replace(model, vendors={**model.vendors, "slow": vendor})
    low, high = intervals(model, records.assign(ttft_ms=ttft))["slow"]["avg_ttft_ms"]
    assert low == high == pytest.approx(vendor.avg_ttft_ms)


def test_schema_accuracy_is_that_of_the_policy() -> None:
    demo = scored_demo()
    blocks, model = (np.arange(len(demo.records)) % 10).astype(float), demo.report.models[MODEL]
    classes = pd.Categorical(np.where(demo.records["classes"].notna(), "empty_arguments", None))
    records = demo.records.assign(block=blocks, classes=classes)
    strict = {label: structs.replace(vendor, schema_accuracy=0.0) for label, vendor in model.vendors.items()}
    found = intervals(structs.replace(model, vendors=strict), records, policy="strict")
    assert found["slow"]["schema_accuracy"][0] == 0 < found["slow"]["schema_accuracy"][1] < 0.5
