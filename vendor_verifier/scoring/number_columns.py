"""Rows of numbers kept by columns, in blocks, so that a column takes room only in the blocks where it has a number,
and there as few bytes as its numbers need."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Few enough that packing them is a moment's work, many enough that it is seldom done.
BLOCK_ROWS = 4096
_NAN = math.nan


def narrowed(numbers: NDArray[np.float64]) -> NDArray[np.floating[Any]]:
    """The same numbers in two bytes each, or four, where that loses nothing, as of rates and tokens: add them up as
    doubles only."""
    import numpy as np

    with np.errstate(over="ignore"):
        for width in (np.float16, np.float32):
            short: NDArray[np.floating[Any]] = numbers.astype(width)
            if np.array_equal(short, numbers, equal_nan=True):
                return short
    return numbers


class NumberColumns:
    """Rows of ``width`` numbers; ``None`` is given and NaN comes back where there is none."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._blocks: list[dict[int, NDArray[np.floating[Any]]]] = []
        self._changed: set[int] = set()
        self._last = array("d")

    def __len__(self) -> int:
        return len(self._blocks) * BLOCK_ROWS + len(self._last) // self._width

    def append(self, numbers: Sequence[float | None]) -> None:
        """Append a row."""
        # A list is taken over in a third of the time of any other sequence.
        self._last.fromlist([_NAN if number is None else number for number in numbers])
        if len(self._last) == BLOCK_ROWS * self._width:
            self._pack()

    def replace(self, place: int, others: Sequence[float | None]) -> None:
        """Put another row in the place of one."""
        import numpy as np

        numbers = [_NAN if number is None else number for number in others]
        number, row = divmod(place, BLOCK_ROWS)
        if number == len(self._blocks):
            self._last[row * self._width : (row + 1) * self._width] = array("d", numbers)
            return
        if number not in self._changed:
            # Doubles of their own, in which any number may stand.
            self._blocks[number] = {each: np.array(column, np.float64) for each, column in self._blocks[number].items()}
            self._changed.add(number)
        block = self._blocks[number]
        for column, value in enumerate(numbers):
            if column not in block and value == value:
                block[column] = np.full(BLOCK_ROWS, math.nan)
            if column in block:
                block[column][row] = value

    def row(self, place: int) -> list[float]:
        """One row."""
        number, row = divmod(place, BLOCK_ROWS)
        if number == len(self._blocks):
            return self._last[row * self._width : (row + 1) * self._width].tolist()
        found = [math.nan] * self._width
        for column, numbers in self._blocks[number].items():
            found[column] = float(numbers[row])
        return found

    def __iter__(self) -> Iterator[list[float]]:
        """All rows."""
        import numpy as np

        for block in self._blocks:
            rows = np.full((BLOCK_ROWS, self._width), math.nan)
            for column, numbers in block.items():
                rows[:, column] = numbers
            yield from rows.tolist()
        for begin in range(0, len(self._last), self._width):
            yield self._last[begin : begin + self._width].tolist()

    def column(self, column: int) -> NDArray[np.float64]:
        """The numbers of all rows in one column, as a copy."""
        import numpy as np

        found = np.full(len(self), math.nan)
        for number, block in enumerate(self._blocks):
            if column in block:
                found[number * BLOCK_ROWS : (number + 1) * BLOCK_ROWS] = block[column]
        found[len(self._blocks) * BLOCK_ROWS :] = self._last[column :: self._width]
        return found

    def _pack(self) -> None:
        import numpy as np

        rows = np.array(self._last).reshape(-1, self._width)
        # Several columns are often the same, as TTFT and that over used connections: these are kept once.
        kept: dict[bytes, NDArray[np.floating[Any]]] = {}
        block = {}
        for each in np.flatnonzero((~np.isnan(rows)).any(axis=0)).tolist():
            column = rows[:, each].copy()
            written = column.tobytes()
            if written not in kept:
                kept[written] = narrowed(column)
            block[each] = kept[written]
        self._blocks.append(block)
        self._last = array("d")
