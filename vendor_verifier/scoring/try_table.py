"""The attempts of an entry in columns, a few bytes each, in place of objects."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from vendor_verifier.records.event import Usage
from vendor_verifier.scoring.number_columns import NumberColumns
from vendor_verifier.scoring.observation import Try

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TokenPart = Literal["input", "output", "cached", "reasoning"]
# Their columns in a table of attempts, where begin and duration come first.
_PARTS: Mapping[TokenPart, int] = {"input": 2, "output": 3, "cached": 4, "reasoning": 5}
_BEGIN, _SECONDS, _WIDTH = 0, 1, 7


class TryTable:
    """Attempts in their order, each with the index of its record's row."""

    def __init__(self) -> None:
        self.rows = array("i")
        self._numbers = NumberColumns(_WIDTH)
        self._flags = bytearray()

    def __len__(self) -> int:
        return len(self.rows)

    def add(self, row: int, tries: Iterable[Try]) -> None:
        """Append a record's attempts."""
        for each in tries:
            use = each.usage
            numbers = (each.begin_s, each.seconds, use.input, use.output, use.cached, use.reasoning, use.cost_usd)
            self._numbers.append(numbers)
            flags = each.useful | each.retried << 1 | each.is_billed << 2 | each.resent << 3 | each.answered << 4
            self._flags.append(flags)
            self.rows.append(row)

    def at(self, place: int) -> Try:
        """The attempt at an index."""
        return _try(self._numbers.row(place), self._flags[place])

    def __iter__(self) -> Iterator[Try]:
        return map(_try, self._numbers, self._flags)

    def billed(self) -> Iterator[tuple[int, Try]]:
        """Row index and attempt of everything that may be billed; a request that was sent twice counts twice."""
        for row, each in zip(self.rows, self, strict=True):
            if each.resent:
                yield row, Try()
            if each.is_billed:
                yield row, each

    def tokens(self, part: TokenPart) -> NDArray[np.float64]:
        """The tokens of a part of every attempt's usage, NaN where it reports none."""
        return self._numbers.column(_PARTS[part])

    def output_tokens(self) -> NDArray[np.float64]:
        """The output tokens of every attempt that was sent, NaN where it reports none."""
        import numpy as np

        found: NDArray[np.float64] = self.tokens("output")[~np.isnan(self._numbers.column(_BEGIN))]
        return found

    def seconds_by_row(self, rows: int) -> NDArray[np.float64]:
        """The seconds that all attempts of each of so many rows took together."""
        import numpy as np

        seconds = np.nan_to_num(self._numbers.column(_SECONDS), copy=False)
        return np.bincount(np.array(self.rows), seconds, rows).astype(np.float64, copy=False)

    def spans(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_]]:
        """Begin and end of every attempt that was sent, whether it was answered, and whether its record's first."""
        import numpy as np

        begins, ends = self._numbers.column(_BEGIN), self._numbers.column(_SECONDS)
        ends += begins
        sent = ~np.isnan(begins)
        answered = (np.frombuffer(bytes(self._flags), np.uint8) >> 4 & 1).astype(bool)
        first = np.diff(np.array(self.rows)[sent], prepend=-1) != 0
        return begins[sent], ends[sent], answered[sent], first


def _try(row: Sequence[float], flags: int) -> Try:
    """The attempt of a row of numbers and its flags."""
    numbers = [None if number != number else number for number in row]
    took, gave, cached, thought = [None if number is None else int(number) for number in numbers[2:6]]
    useful, retried, is_billed, resent, answered = [flags >> bit & 1 == 1 for bit in range(5)]
    usage = Usage(took, gave, cached, thought, numbers[6])
    return Try(usage, useful, retried, is_billed, resent, answered, numbers[0], numbers[1])
