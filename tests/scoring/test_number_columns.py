"""Numbers in blocks of columns: the same as a list of rows, across the borders of blocks."""

from __future__ import annotations

import math
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.scoring import number_columns
from vendor_verifier.scoring.number_columns import NumberColumns

NUMBERS = st.none() | st.floats(-1e9, 1e9)
ROWS = st.lists(st.tuples(NUMBERS, NUMBERS, st.none() | st.floats(0, 1)), max_size=14)


@given(ROWS, st.lists(st.tuples(st.integers(0, 13), st.tuples(NUMBERS, NUMBERS, NUMBERS)), max_size=6))
def test_columns_are_a_list_of_rows(
    came: list[tuple[float | None, ...]], instead: list[tuple[int, tuple[float | None, ...]]]
) -> None:
    """Whatever is appended and replaced, before or after its block was packed, comes back to the last digit, and
    nothing as NaN."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(number_columns, "BLOCK_ROWS", 4)
        columns = NumberColumns(3)
        for row in came:
            columns.append(row)
        kept = list(came)
        for place, row in instead:
            if place < len(kept):
                columns.replace(place, row)
                kept[place] = row
        expected = [[math.nan if number is None else number for number in row] for row in kept]
        assert len(columns) == len(expected)
        for number in range(3):
            assert repr(columns.column(number).tolist()) == repr([row[number] for row in expected])
        assert repr(list(columns)) == repr(expected)
        assert repr([columns.row(place) for place in range(len(columns))]) == repr(expected)


def test_a_column_without_numbers_takes_no_room() -> None:
    """Two columns of twenty hold numbers: their rows take the room of two."""
    rows = 8 * number_columns.BLOCK_ROWS
    tracemalloc.start()
    columns = NumberColumns(20)
    for number in range(rows):
        columns.append([float(number), *[math.nan] * 18, 1.0])
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < rows * 8 * 3
    assert columns.column(0)[-1] == rows - 1


def test_columns_that_are_the_same_take_the_room_of_one_until_they_differ() -> None:
    """As the time to the first token and that to the first text, where nobody thinks."""
    rows = 8 * number_columns.BLOCK_ROWS
    tracemalloc.start()
    columns = NumberColumns(4)
    for number in range(rows):
        columns.append([float(number)] * 4)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < rows * 8 * 2
    columns.replace(5, (1.0, -0.0, math.nan, 5.0))
    assert repr([columns.column(each)[5].item() for each in range(4)]) == "[1.0, -0.0, nan, 5.0]"
    assert all(columns.column(each)[6] == 6 for each in range(4))


def test_numbers_take_as_few_bytes_as_they_need() -> None:
    """Counts of tokens take two or four bytes each, a moment eight; what comes in place of one may be any number."""
    rows = 8 * number_columns.BLOCK_ROWS
    tracemalloc.start()
    columns = NumberColumns(3)
    for number in range(rows):
        columns.append([1.0, float(100_000 + number), 1.7e9 + number / 7])
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < rows * (2 + 4 + 8) * 1.3
    columns.replace(5, (1 / 3, -0.0, math.nan))
    assert repr(columns.row(5)) == "[0.3333333333333333, -0.0, nan]"
    assert columns.row(6) == [1.0, 100_006.0, 1.7e9 + 6 / 7]
