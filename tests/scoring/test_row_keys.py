"""Keys and units as numbers: the same as dictionaries and lists of tuples."""

from __future__ import annotations

import tracemalloc

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.scoring.row_keys import Key, RowKeys, Unit, Units

KEYS = st.tuples(st.sampled_from("xy"), st.sampled_from("abcd"), st.sampled_from([0, 1, 2, 2**40]))
UNITS = st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 2)), max_size=12)
COUNT = 20_000


@given(st.lists(KEYS, max_size=20), KEYS)
def test_rows_are_found_as_in_a_dictionary(came: list[Key], other: Key) -> None:
    """Every key once, in the order in which they came, by the key and by the repetition."""
    keys, expected = RowKeys(), dict[Key, int]()
    for key in came:
        assert keys.add(key) == expected.setdefault(key, len(expected))
    assert list(keys) == list(expected) == [keys[row] for row in range(len(keys))]
    for suite, repetition in {(other[0], other[2]), *((key[0], key[2]) for key in expected)}:
        lacking = [sample for sample in "abcd" if (suite, sample, repetition) not in expected]
        assert keys.lacking(suite, "abcd", repetition) == lacking
    assert list(keys.units()) == [key[1:] for key in expected]
    assert [keys.questions[number] for number in keys.asked().tolist()] == [key[:2] for key in expected]
    for repetition in (0, 1, 2, 3, 2**40):
        own = {(*question, repetition): row for question, row in keys.of_repetition(repetition)}
        assert own == {key: row for key, row in expected.items() if key[2] == repetition}


@given(UNITS, UNITS)
def test_units_are_a_list_of_tuples(one: list[Unit], other: list[Unit]) -> None:
    """They are joined, chosen and counted as a list of tuples would be."""
    units = Units.of(one).followed_by(other)
    both = [*one, *other]
    assert list(units) == both == [units[place] for place in range(len(units))]
    assert list(units.at(np.arange(len(both)) % 2 == 0)) == both[::2] == list(units[::2])
    different, places = units.once()
    assert list(different) == list(dict.fromkeys(both))
    assert [different[place] for place in places.tolist()] == both
    assert units.places_in({"b": 7}).tolist() == [7 if sample == "b" else -1 for sample, _ in both]


def test_a_row_of_a_repeated_question_takes_few_bytes() -> None:
    """A tuple in a dictionary would take some 200."""
    questions = [("trigger", f"{number:018}") for number in range(COUNT // 20)]
    tracemalloc.start()
    keys = RowKeys()
    for suite, sample in questions:
        for repetition in range(20):
            keys.add((suite, sample, repetition))
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(keys) == COUNT
    assert size / COUNT < 40
