"""The attempts of an entry in columns, a few bytes each, in place of objects."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Literal

from vendor_verifier.scoring.observation import Try
from vendor_verifier.values.event import Usage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_NAN = math.nan
TokenPart = Literal["input", "output", "cached", "reasoning"]
# Their columns in a table of attempts, where begin and duration come first.
_PARTS: Mapping[TokenPart, int] = {"input": 2, "output": 3, "cached": 4, "reasoning": 5}


class TryTable:
    """Attempts in their order, each with the index of its record's row."""

    _WIDTH = 7

    def __init__(self) -> None:
        self.rows = array("i")
        self._numbers = array("d")
        self._flags = bytearray()

    def __len__(self) -> int:
        return len(self.rows)

    def add(self, row: int, tries: Iterable[Try]) -> None:
        """Append a record's attempts."""
        for each in tries:
            use = each.usage
            numbers = (each.begin_s, each.seconds, use.input, use.output, use.cached, use.reasoning, use.cost_usd)
            self._numbers.extend([_NAN if value is None else value for value in numbers])
            flags = each.useful | each.retried << 1 | each.is_billed << 2 | each.resent << 3 | each.answered << 4
            self._flags.append(flags)
            self.rows.append(row)

    def at(self, place: int) -> Try:
        """The attempt at an index."""
        flags, begin = self._flags[place], place * self._WIDTH
        numbers = [None if number != number else number for number in self._numbers[begin : begin + self._WIDTH]]
        took, gave, cached, thought = [None if number is None else int(number) for number in numbers[2:6]]
        useful, retried, is_billed, resent, answered = [flags >> bit & 1 == 1 for bit in range(5)]
        usage = Usage(took, gave, cached, thought, numbers[6])
        return Try(usage, useful, retried, is_billed, resent, answered, numbers[0], numbers[1])

    def __iter__(self) -> Iterator[Try]:
        return map(self.at, range(len(self)))

    def billed(self) -> Iterator[tuple[int, Try]]:
        """Row index and attempt of everything that may be billed; a request that was sent twice counts twice."""
        for place, row in enumerate(self.rows):
            each = self.at(place)
            if each.resent:
                yield row, Try()
            if each.is_billed:
                yield row, each

    def tokens(self, part: TokenPart) -> NDArray[np.float64]:
        """The tokens of a part of every attempt's usage, NaN where it reports none."""
        import numpy as np

        found: NDArray[np.float64] = np.array(self._numbers[_PARTS[part] :: self._WIDTH])
        return found

    def output_tokens(self) -> NDArray[np.float64]:
        """The output tokens of every attempt that was sent, NaN where it reports none."""
        import numpy as np

        sent = ~np.isnan(np.array(self._numbers[:: self._WIDTH]))
        found: NDArray[np.float64] = self.tokens("output")[sent]
        return found

    def seconds_by_row(self, rows: int) -> NDArray[np.float64]:
        """The seconds that all attempts of each of so many rows took together."""
        import numpy as np

        seconds = np.nan_to_num(np.array(self._numbers[1 :: self._WIDTH]))
        return np.bincount(np.array(self.rows), seconds, rows).astype(np.float64)

    def spans(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_]]:
        """Begin and end of every attempt that was sent, whether it was answered, and whether its record's first."""
        import numpy as np

        numbers = np.array(self._numbers).reshape(-1, self._WIDTH)
        sent = ~np.isnan(numbers[:, 0])
        answered = (np.frombuffer(bytes(self._flags), np.uint8) >> 4 & 1).astype(bool)
        first = np.diff(np.array(self.rows)[sent], prepend=-1) != 0
        return numbers[sent, 0], numbers[sent, 0] + numbers[sent, 1], answered[sent], first
