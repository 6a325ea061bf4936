"""Which repetitions have their decisions compared."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.scoring.repetitions import MOST, compared


@given(repeat=st.integers(1, 500), samples=st.integers(1, 50))
def test_all_of_a_planned_run_are(repeat: int, samples: int) -> None:
    """Without a time or a schedule every repetition counts, however many."""
    assert list(compared(repeat, None, samples)) == list(range(repeat))


@given(begun=st.integers(0, 100_000), samples=st.integers(1, 50))
def test_of_a_run_by_time_few_and_whole_ones_are(begun: int, samples: int) -> None:
    """At most eight, each whole, the first and the last whole one among them; the only one even if it is a part."""
    repeat = max(1, -(-begun // samples))
    found = list(compared(repeat, begun, samples))
    whole = begun // samples
    assert found == sorted(set(found))
    assert 1 <= len(found) <= MOST
    if whole > 1:
        assert (found[0], found[-1]) == (0, whole - 1)
        assert len(found) == min(whole, MOST)
    else:
        assert found == [0]
