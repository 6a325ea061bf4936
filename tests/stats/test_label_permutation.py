"""The permutation test of two groups: exact where nothing differs, sharp where it does."""

from __future__ import annotations

import numpy as np

from vendor_verifier.stats.label_permutation import larger_in_first


def test_equal_values_are_never_larger() -> None:
    assert larger_in_first([0.0] * 30, [0.0] * 30, np.random.default_rng(1)) == 1.0


def test_only_the_first_group_may_be_the_larger_one() -> None:
    low, high = [0.0] * 40, [0.0] * 28 + [1.0] * 12
    assert larger_in_first(high, low, np.random.default_rng(1)) < 0.001
    assert larger_in_first(low, high, np.random.default_rng(1)) > 0.99


def test_its_p_values_are_even_where_labels_are_drawn() -> None:
    rng = np.random.default_rng(4)
    found = [larger_in_first(*np.split(rng.normal(size=60), 2), rng) for _ in range(300)]  # type: ignore[arg-type]
    assert 0.05 < np.mean(np.array(found) <= 0.1) < 0.16
