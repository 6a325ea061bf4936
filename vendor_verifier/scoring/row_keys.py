"""The keys of rows as numbers, a few bytes each, in place of a tuple and its slot in a dictionary."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Question = tuple[str, str]
"""Suite and sample."""
Key = tuple[str, str, int]
"""Suite, sample and repetition."""
Unit = tuple[str, int]
"""Sample and repetition."""


class RowKeys:
    """Different keys in the order in which they came: the row of a key is its place among them.

    Every question has a number, and rows are found by repetition and number. ``questions`` stand by their numbers.
    """

    def __init__(self) -> None:
        self.questions: list[Question] = []
        self._numbers: dict[Question, int] = {}
        self._asked = array("i")
        self._repetitions = array("q")
        self._rows: dict[int, array[int]] = {}

    def __len__(self) -> int:
        return len(self._asked)

    def __iter__(self) -> Iterator[Key]:
        questions = self.questions
        rows = zip(self._asked, self._repetitions, strict=True)
        return ((*questions[asked], repetition) for asked, repetition in rows)

    def __getitem__(self, row: int) -> Key:
        return (*self.questions[self._asked[row]], self._repetitions[row])

    def add(self, key: Key) -> int:
        """The row of a key; the next one for a key that is new."""
        suite, sample, repetition = key
        question = (suite, sample)
        number = self._numbers.get(question)
        if number is None:
            number = self._numbers[question] = len(self.questions)
            self.questions.append(question)
        rows = self._rows.get(repetition)
        if rows is None:
            rows = self._rows[repetition] = array("i")
        known = len(rows)
        row = rows[number] if number < known else -1
        if row < 0:
            row = len(self._asked)
            if number == known:
                rows.append(row)
            else:
                rows.extend([-1] * (number + 1 - known))
                rows[number] = row
            self._asked.append(number)
            self._repetitions.append(repetition)
        return row

    def of_repetition(self, repetition: int) -> Iterator[tuple[Question, int]]:
        """The questions of a repetition and their rows."""
        rows = zip(self.questions, self._rows.get(repetition, ()), strict=False)
        return ((question, row) for question, row in rows if row >= 0)

    def lacking(self, suite: str, samples: Iterable[str], repetition: int) -> list[str]:
        """Those of a suite's samples that have no row of a repetition."""
        rows, number_of = self._rows.get(repetition, ()), self._numbers.get
        there = range(len(rows))
        return [
            sample for sample in samples if (number := number_of((suite, sample), -1)) not in there or rows[number] < 0
        ]

    def asked(self) -> NDArray[np.int32]:
        """The number of every row's question."""
        import numpy as np

        return np.array(self._asked, dtype=np.int32)

    def repetitions(self) -> NDArray[np.int64]:
        """The repetition of every row."""
        import numpy as np

        return np.array(self._repetitions, dtype=np.int64)

    def units(self) -> Units:
        """The units of the rows."""
        import numpy as np

        names = [name for _, name in self.questions]
        different = list(dict.fromkeys(names))
        numbers = dict(zip(different, range(len(different)), strict=True))
        samples = np.fromiter(map(numbers.__getitem__, names), dtype=np.int32, count=len(names))
        return Units(different, samples[self.asked()], self.repetitions())


class Units(Sequence[Unit]):
    """Units by the numbers of their samples, which index ``samples``, and by their repetitions."""

    def __init__(self, samples: Sequence[str], numbers: NDArray[np.int32], repetitions: NDArray[np.int64]) -> None:
        self.samples, self.numbers, self.repetitions = samples, numbers, repetitions

    @classmethod
    def of(cls, units: Iterable[Unit], samples: Iterable[str] = ()) -> Units:
        """These units; ``samples`` have the first numbers."""
        import numpy as np

        found = list(units)
        known = {name: number for number, name in enumerate(samples)}
        numbers = np.array([known.setdefault(name, len(known)) for name, _ in found], dtype=np.int32)
        return cls(list(known), numbers, np.array([repetition for _, repetition in found], dtype=np.int64))

    def __len__(self) -> int:
        return int(self.numbers.size)

    @overload
    def __getitem__(self, place: int) -> Unit: ...

    @overload
    def __getitem__(self, place: slice) -> Units: ...

    def __getitem__(self, place: int | slice) -> Unit | Units:
        if isinstance(place, slice):
            return self.at(place)
        return self.samples[self.numbers[place]], int(self.repetitions[place])

    def __iter__(self) -> Iterator[Unit]:
        names = map(self.samples.__getitem__, self.numbers.tolist())
        return zip(names, self.repetitions.tolist(), strict=True)

    def at(self, places: NDArray[Any] | slice) -> Units:
        """Those at these places."""
        return Units(self.samples, self.numbers[places], self.repetitions[places])

    def followed_by(self, more: Iterable[Unit]) -> Units:
        """These units and then ``more``."""
        import numpy as np

        other = Units.of(more, self.samples)
        if not len(other):
            return self
        numbers = np.concatenate([self.numbers, other.numbers])
        return Units(other.samples, numbers, np.concatenate([self.repetitions, other.repetitions]))

    def once(self) -> tuple[Units, NDArray[np.int32]]:
        """Each unit once, in the order of their first places, and for every place its unit's among these."""
        import numpy as np

        # Repetitions are numbered afresh, so that a number of both is small whatever they are.
        different, repetitions = np.unique(self.repetitions, return_inverse=True)
        _, first, places = np.unique(
            self.numbers * np.int64(different.size) + repetitions, return_index=True, return_inverse=True
        )
        if first.size == len(self):
            return self, np.arange(len(self), dtype=np.int32)
        order = np.argsort(first)
        return self.at(first[order]), np.argsort(order)[places].astype(np.int32)

    def places_in(self, samples: Mapping[str, int]) -> NDArray[np.int64]:
        """The place of every unit's sample among ``samples``; -1 where it has none."""
        import numpy as np

        return np.array([samples.get(name, -1) for name in self.samples], dtype=np.int64)[self.numbers]
