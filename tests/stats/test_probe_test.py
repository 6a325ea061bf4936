"""The probe test: exact under the null, as powerful as stated on toy models, blind where nothing can be told apart."""

from __future__ import annotations

import numpy as np
import pytest

from vendor_verifier.stats.probe_test import counted, seen_mixture, unlikeness


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
