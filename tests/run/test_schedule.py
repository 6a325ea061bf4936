"""Due times of an open loop."""

from __future__ import annotations

import math
from itertools import islice, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.records.plan import LoadShape
from vendor_verifier.run.load import due_times


def times(shape: LoadShape, count: int, seed: int = 0) -> list[float]:
    return list(islice(due_times(shape, seed), count))


def test_poisson_gaps_have_the_mean_and_the_spread() -> None:
    """Gaps at R a second have mean 1 ÷ R and the same standard deviation, and are not all alike."""
    found = times(LoadShape(request_rate=50, arrival="poisson"), 20_000)
    gaps = [later - earlier for earlier, later in pairwise(found)]
    mean = sum(gaps) / len(gaps)
    deviation = math.sqrt(sum((gap - mean) ** 2 for gap in gaps) / len(gaps))
    assert mean == pytest.approx(0.02, rel=0.03)
    assert deviation == pytest.approx(0.02, rel=0.05)


@given(rate=st.floats(0.1, 500), ramp_s=st.floats(0.1, 100), share=st.floats(0.1, 3))
def test_a_rate_grows_linearly(rate: float, ramp_s: float, share: float) -> None:
    """Until t, R·t² ÷ 2r requests were due while the rate grew, and R·(t − r ÷ 2) afterwards, to within one."""
    t = share * ramp_s
    offered = rate * t * t / (2 * ramp_s) if t < ramp_s else rate * (t - ramp_s / 2)
    due = times(LoadShape(request_rate=rate, ramp_up_s=ramp_s), int(offered) + 3)
    assert abs(sum(moment < t for moment in due) - offered) <= 1 + 1e-6
    assert due == sorted(due)
