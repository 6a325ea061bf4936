"""Texts of rows in one run of bytes, in place of an object each."""

from __future__ import annotations

from array import array
from collections.abc import Iterator


class PackedTexts:
    """A text or ``None`` a row; an empty text is ``None``."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._ends = array("q", [0])
        self._replaced: dict[int, str | None] = {}

    def __len__(self) -> int:
        return len(self._ends) - 1

    def append(self, text: str | None) -> None:
        """Append a row."""
        if text:
            self._bytes += text.encode("utf-8", "surrogatepass")
        self._ends.append(len(self._bytes))

    def replace(self, row: int, text: str | None) -> None:
        """Put another text in the place of one, which is rare."""
        self._replaced[row] = text or None

    def __getitem__(self, row: int) -> str | None:
        if row in self._replaced:
            return self._replaced[row]
        return self._bytes[self._ends[row] : self._ends[row + 1]].decode("utf-8", "surrogatepass") or None

    def __iter__(self) -> Iterator[str | None]:
        return map(self.__getitem__, range(len(self)))
