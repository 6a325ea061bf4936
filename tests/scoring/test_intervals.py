"""The 95 % intervals of the ranked metrics and of IRF."""

from __future__ import annotations

import numpy as np
import pytest
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
