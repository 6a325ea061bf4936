"""What a run sees of F1, by simulation: figures as the page has them, and size and drop are each other's inverse."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vendor_verifier.stats.trigger_power import TriggerDesign, f1_samples, f1_seen_drop, seen

PLAIN = TriggerDesign(0.95, 0.5, 0.01)


@pytest.mark.parametrize(("vendors", "points", "needed"), [(1, 6.1, 1633), (3, 7.1, 2036), (9, 8.1, 2459)])
def test_vendors_that_share_the_error_make_a_run_blinder(vendors: int, points: float, needed: int) -> None:
    """What 300 samples show and what 2 points need, with a ceiling of 0.95 and half the samples calling."""
    design = TriggerDesign(0.95, 0.5, 0.01 / vendors)
    assert 100 * f1_seen_drop(300, design) == pytest.approx(points, abs=0.2)
    assert f1_samples(0.02, design) == pytest.approx(needed, rel=0.05)


@settings(deadline=None, max_examples=15)
@given(st.floats(0.02, 0.2), st.floats(0.75, 0.99), st.floats(0.2, 0.7))
def test_size_and_drop_are_inverse(drop: float, ceiling: float, prevalence: float) -> None:
    """As many samples as a drop needs show about that drop."""
    design = TriggerDesign(ceiling, prevalence, 0.01)
    n = f1_samples(drop, design)
    assert n is not None
    assert f1_seen_drop(n, design) == pytest.approx(drop, rel=0.1)


@settings(deadline=None, max_examples=15)
@given(st.integers(30, 3000), st.floats(0.7, 0.98), st.floats(0.2, 0.6), st.floats(0.001, 0.05))
def test_more_samples_and_less_noise_show_smaller_drops(n: int, ceiling: float, calls: float, level: float) -> None:
    """Twice the samples, a higher ceiling or a milder level never makes the drop that is seen larger, within what 2,000
    simulated runs leave open."""
    drop = f1_seen_drop(n, TriggerDesign(ceiling, calls, level))
    assert 0 < drop <= 1
    assert f1_seen_drop(2 * n, TriggerDesign(ceiling, calls, level)) <= drop * 1.05
    assert f1_seen_drop(n, TriggerDesign((1 + ceiling) / 2, calls, level)) <= drop * 1.08
    assert f1_seen_drop(n, TriggerDesign(ceiling, calls, 2 * level)) <= drop * 1.05


def test_the_same_question_has_the_same_answer() -> None:
    """The simulation is seeded."""
    assert seen(0.1, 300, PLAIN) == seen(0.1, 300, PLAIN)
    assert seen(0.0, 300, PLAIN) <= 0.01 < 0.99 <= seen(0.5, 300, PLAIN)


def test_a_run_that_shows_nothing_says_so() -> None:
    """A baseline that is as often against itself as with itself, too few samples, too few calls, an impossible drop."""
    assert f1_seen_drop(300, TriggerDesign(0.5, 0.5, 0.02)) == 1.0
    assert f1_seen_drop(5, TriggerDesign(1.0, 0.5, 0.02)) == 1.0
    assert f1_seen_drop(300, TriggerDesign(1.0, 0.01, 0.02)) == 1.0
    assert f1_samples(0.1, TriggerDesign(0.5, 0.5, 0.02)) is None
    assert f1_samples(0.96, PLAIN) is None


def test_repeats_of_either_side_do_no_harm() -> None:
    """More answers to a sample show the same drop or a smaller one, within the simulation's own error."""
    more = f1_seen_drop(300, TriggerDesign(0.95, 0.5, 0.01, 3, 3))
    assert more <= f1_seen_drop(300, PLAIN) * 1.05
    assert f1_seen_drop(300, TriggerDesign(0.95, 0.5, 0.01, 9, 9)) == more


def test_senseless_questions_are_refused() -> None:
    """No drop, no calls, an F1 above 1, no samples, one run of the baseline."""
    for call in (
        lambda: f1_samples(0, PLAIN),
        lambda: TriggerDesign(0.9, 0, 0.01),
        lambda: TriggerDesign(1.1, 0.5, 0.01),
        lambda: f1_seen_drop(0, PLAIN),
        lambda: TriggerDesign(0.9, 0.5, 0.01, 1),
    ):
        with pytest.raises(ValueError, match=r"\w"):
            call()
