"""Tells equal questions apart across result files by the line they came from, so that a lost row shifts no other.

A content that occurs once needs no telling. For one that occurs several times, the lines on which it stood in the
samples file (``data_index``) are gathered over all files and ranked: the smallest is occurrence 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

Content = str
Place = tuple[Content, int | None, int]
"""(content digest, data_index or None, line in the result file)."""


class Occurrences:
    """Numbers occurrences. ``sample_lines``: content → lines in the test file, if there is one."""

    def __init__(self, places: Iterable[Place], sample_lines: Mapping[Content, Sequence[int]] | None = None) -> None:
        seen: dict[Content, set[int]] = {}
        for content, index, _ in places:
            if index is not None:
                seen.setdefault(content, set()).add(index)
        self._order = {content: sorted(indices) for content, indices in seen.items()}
        for content, lines in (sample_lines or {}).items():
            # Another count (from 0, or of a filtered file) says only the order; the same count says the very line.
            if set(self._order.get(content, ())) <= set(lines):
                self._order[content] = sorted(lines)
        self._number = {
            (content, index): number
            for content, indices in self._order.items()
            for number, index in enumerate(indices, 1)
        }

    def of_file(self, places: Sequence[Place]) -> list[int]:
        """The occurrence number of each place of one file; rows without an index count in the order they stand."""
        unnumbered: dict[Content, int] = {}
        numbers: list[int] = []
        for content, index, _ in places:
            if index is None:
                number = unnumbered[content] = unnumbered.get(content, 0) + 1
            else:
                number = self._number[content, index]
            numbers.append(number)
        return numbers
