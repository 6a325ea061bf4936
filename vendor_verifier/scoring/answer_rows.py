"""The answers of one entry as columns, for judging who gave them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from vendor_verifier.scoring.number_columns import BLOCK_ROWS
from vendor_verifier.scoring.observation import Traits
from vendor_verifier.scoring.packed_texts import PackedTexts
from vendor_verifier.scoring.row_keys import Question

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def counted(known: Sequence[Traits], codes: NDArray[np.int32]) -> dict[Traits, int]:
    """The distinct traits in the order in which they first stand, each with its number of rows; ``known`` by code."""
    import numpy as np

    times = np.bincount(codes, minlength=len(known))
    first = np.full(len(known), codes.size)
    # From the last row to the first, which is the one that stays.
    first[codes[::-1]] = np.arange(codes.size)[::-1]
    return {known[code]: int(times[code]) for code in np.argsort(first, kind="stable").tolist() if times[code]}


def each_of(
    known: Sequence[Traits], codes: NDArray[np.int32], of: Callable[[Traits], float | None]
) -> NDArray[np.float64]:
    """A number of every row that follows from its traits, asked once of those that rows share; NaN for ``None``."""
    import numpy as np

    found: NDArray[np.float64] = np.array([of(traits) for traits in known], dtype=np.float64)[codes]
    return found


class AnswerRows(msgspec.Struct, frozen=True):
    """Rows with an answer, in their order. ``known`` traits stand by ``codes``, ``questions`` by ``asked``.

    ``places`` index ``response_ids``. ``digests`` are 0 where there is none; ``output`` are the tokens billed for the
    answer, 0 where unknown.
    """

    known: Sequence[Traits]
    codes: NDArray[np.int32]
    questions: Sequence[Question]
    asked: NDArray[np.int32]
    repetitions: NDArray[np.int64]
    places: NDArray[np.int64]
    response_ids: PackedTexts
    digests: NDArray[np.uint64]
    output: NDArray[np.int64]

    def __len__(self) -> int:
        return int(self.codes.size)

    def kinds(self) -> Mapping[Traits, int]:
        """The distinct traits, each with its number of rows."""
        return counted(self.known, self.codes)

    def tally(self, of: Callable[[Traits], str | None]) -> Counter[str]:
        """Each text with its number of rows, in the order in which they first stand."""
        found: Counter[str] = Counter()
        for traits, times in self.kinds().items():
            if word := of(traits):
                found[word] += times
        return found

    def each_of(self, of: Callable[[Traits], float | None]) -> NDArray[np.float64]:
        """A number of every row that follows from its traits."""
        return each_of(self.known, self.codes, of)

    def first_samples(self, rows: NDArray[np.bool_]) -> tuple[str, ...]:
        """The first three samples of these rows."""
        return tuple(dict.fromkeys(self.questions[number][1] for number in self.asked[rows].tolist()))[:3]

    def ids(self) -> Iterator[str]:
        """The ids of the answers that have one."""
        # A list of a million numbers would take more room than what they stand for.
        parts = (self.places[begin : begin + BLOCK_ROWS] for begin in range(0, len(self), BLOCK_ROWS))
        return filter(None, (self.response_ids[place] for part in parts for place in part.tolist()))
