"""The answers test: exact under the null, as powerful as stated, blind where nothing can be told apart."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.stats.answers_test import (
    change_point,
    holm,
    leanings,
    odd_one_out,
    seen_shift,
    similarity,
)

_WORDS = [chr(0x4E00 + 7 * number) * (3 + number % 5) for number in range(40)]


def _answer(rng: np.random.Generator, spread: float, *, like: int = 0) -> str:
    """A text of ten words; each differs from the model's favourite with probability ``spread``."""
    favourites = [(like * 7 + place * 3) % len(_WORDS) for place in range(10)]
    return "".join(_WORDS[int(rng.integers(40)) if rng.random() < spread else each] for each in favourites)


def _world(seed: int, n: int, *, own: float = 0.15, mixed: float = 0.0) -> np.ndarray:
    """The leanings of a vendor over ``n`` questions; ``mixed`` of its answers are another model's."""
    rng = np.random.default_rng(seed)
    triples = []
    for question in range(n):
        other = rng.random() < mixed
        vendor = _answer(rng, own, like=question + (1_003 if other else 0))
        triples.append((vendor, _answer(rng, 0.15, like=question), _answer(rng, 0.15, like=question)))
    return leanings(triples)


@given(st.text(max_size=50), st.text(max_size=50))
def test_similarity_is_symmetric_and_1_only_for_equal_texts(one: str, other: str) -> None:
    assert similarity(one, other) == similarity(other, one)
    assert 0 <= similarity(one, other) <= 1
    assert (similarity(one, other) == 1) == (one == other)


def test_similarity_counts_equal_characters_by_position_of_the_longer_text() -> None:
    assert similarity("abcd", "abxd") == 0.75
    assert similarity("ab", "abcd") == 0.5
    assert similarity("", "") == 1
    assert similarity("x" * 1_500, "x" * 1_000 + "y" * 500) == 1


@pytest.mark.slow
@pytest.mark.parametrize("n", [20, 60, 250])
def test_an_honest_vendor_is_found_at_the_stated_level_at_most(n: int) -> None:
    rng = np.random.default_rng(5)
    runs = 300
    found = sum(odd_one_out(_world(seed, n), rng).p_value < 0.05 for seed in range(runs))  # type: ignore[union-attr]
    # 300 runs at 5 %: more than 27 would happen by chance once in 500 times.
    assert found <= 27


def test_another_model_behind_a_fifth_of_the_answers_is_found_in_most_runs_of_300_questions() -> None:
    rng = np.random.default_rng(5)
    found = sum(odd_one_out(_world(seed, 300, mixed=0.2), rng).p_value < 0.01 for seed in range(40))  # type: ignore[union-attr]
    assert found >= 32


def test_colder_sampling_leans_to_the_other_side() -> None:
    whole = odd_one_out(_world(1, 300, own=0.0), np.random.default_rng(5))
    assert whole is not None
    assert whole.z < -3
    assert whole.p_value < 0.01


def test_nothing_can_be_told_where_all_answers_agree() -> None:
    assert odd_one_out(leanings([("a", "a", "a")] * 30), np.random.default_rng(5)) is None
    assert odd_one_out(leanings([]), np.random.default_rng(5)) is None


@pytest.mark.slow
def test_what_would_be_seen_is_seen_in_about_eight_of_ten_runs() -> None:
    shares = []
    for n in (250, 600):
        shift = float(np.mean([seen_shift(_world(seed, n), 0.01) for seed in range(10)]))
        rng = np.random.default_rng(7)
        seen = 0
        for seed in range(100):
            found = _world(1_000 + seed, n)
            # A shift of that size, spread over all questions.
            found[:, 0] += shift
            found[:, 1:] -= shift / 2
            seen += odd_one_out(found, rng).p_value < 0.01  # type: ignore[union-attr]
        shares.append(seen / 100)
    assert all(0.68 <= share <= 0.95 for share in shares), shares


@pytest.mark.slow
def test_a_change_at_half_time_is_placed_near_it_and_none_is_invented() -> None:
    found = np.vstack([_world(1, 150), _world(2, 150, mixed=0.8)])
    change = change_point(found, np.random.default_rng(5))
    assert change is not None
    assert change[1] < 0.01
    assert abs(change[0] - 150) <= 15
    rng = np.random.default_rng(6)
    invented = sum(change_point(_world(seed, 120), rng)[1] < 0.05 for seed in range(100))  # type: ignore[index]
    assert invented <= 12


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_never_lowers_a_p_value_and_keeps_their_order(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    assert all(before <= after <= 1 for before, after in zip(p_values, adjusted, strict=True))
    assert sorted(range(len(p_values)), key=p_values.__getitem__) == sorted(
        range(len(p_values)), key=lambda place: (adjusted[place], p_values[place], place)
    ) or len(set(p_values)) < len(p_values)


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
