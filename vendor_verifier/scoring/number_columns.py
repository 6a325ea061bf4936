"""Rows of numbers kept by columns, in blocks, so that a column takes room only in the blocks where it has a number."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Few enough that packing them is a moment's work, many enough that it is seldom done.
BLOCK_ROWS = 4096


class NumberColumns:
    """Rows of ``width`` numbers, NaN where there is none."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._blocks: list[dict[int, NDArray[np.float64]]] = []
        self._last = array("d")

    def __len__(self) -> int:
        return len(self._blocks) * BLOCK_ROWS + len(self._last) // self._width

    def append(self, numbers: Sequence[float]) -> None:
        """Append a row."""
        self._last.extend(numbers)
        if len(self._last) == BLOCK_ROWS * self._width:
            self._pack()

    def replace(self, place: int, numbers: Sequence[float]) -> None:
        """Put another row in the place of one."""
        import numpy as np

        number, row = divmod(place, BLOCK_ROWS)
        if number == len(self._blocks):
            self._last[row * self._width : (row + 1) * self._width] = array("d", numbers)
            return
        block = self._blocks[number]
        for column, value in enumerate(numbers):
            if column not in block and value == value:
                block[column] = np.full(BLOCK_ROWS, math.nan)
            if column in block:
                if sum(each is block[column] for each in block.values()) > 1:
                    block[column] = block[column].copy()
                block[column][row] = value

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
        kept: dict[bytes, NDArray[np.float64]] = {}
        block = {}
        for each in np.flatnonzero((~np.isnan(rows)).any(axis=0)).tolist():
            column = rows[:, each].copy()
            block[each] = kept.setdefault(column.tobytes(), column)
        self._blocks.append(block)
        self._last = array("d")
