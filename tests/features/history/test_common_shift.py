"""What all vendors share is taken out of times, and what one of them did alone never is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.features.history.run_diff import common_shift

_SMALL = st.floats(-0.02, 0.02)


@pytest.mark.parametrize(
    ("others", "shared"),
    [
        ([], 0),
        ([0.5], 0),
        ([0.5, 0.5], 0),
        ([0.5, 0.5, 0.5], 0.5),
        ([0.45, 0.5, 0.6], 0.5),
        ([-0.45, -0.5, -0.6], -0.5),
        ([0, 0.5, 0.5], 0),
        ([-0.01, 0.5, 0.5], 0),
        ([0, 0, 0.5, 0.5], 0),
        ([0.1, 0.5, 0.5, 0.5], 0.5),
        ([0, 0, 0, 0.5, 0.5, 0.5], 0),
        ([0, 0, 0, 0, 0, 0.5], 0),
        ([0, 0.5, 0.5, 0.5, 0.5, 0.5], 0.5),
    ],
)
def test_a_shift_is_common_when_three_others_and_three_in_four_agree_on_it(others: list[float], shared: float) -> None:
    """Two others never make one, and neither does one vendor, or half of them."""
    assert common_shift(others) == pytest.approx(shared)
    assert common_shift([-each for each in others]) == pytest.approx(-shared)


@given(st.lists(_SMALL, min_size=1, max_size=8), st.floats(-5, 5))
def test_one_changed_vendor_moves_the_common_shift_by_no_more_than_noise(others: list[float], changed: float) -> None:
    """However far it went, what is taken out of the rest stays twice within what these moved themselves."""
    assert abs(common_shift([*others, changed])) <= 2 * max(map(abs, others))


@given(st.lists(_SMALL, min_size=3, max_size=8), st.floats(0.1, 5))
def test_what_all_did_is_taken_out_whole(noise: list[float], shift: float) -> None:
    """Up to the others' own noise."""
    assert common_shift([each + shift for each in noise]) == pytest.approx(shift, abs=0.021)
