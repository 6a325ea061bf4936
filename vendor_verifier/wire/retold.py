"""Remembers text that a protocol tells more than once, so that it is counted once; it knows no protocol.

Every check costs no more than the retelling itself is long, so that a hostile stream buys no time with short ones.
"""

from __future__ import annotations


class Retold:
    """One text heard in pieces. ``add`` a piece; ask what a whole retelling adds with ``missing``."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._size = 0

    def __bool__(self) -> bool:
        return self._size > 0

    def add(self, piece: str) -> None:
        self._pieces.append(piece)
        self._size += len(piece)

    def missing(self, whole: str) -> str | None:
        """What ``whole`` adds to what was heard; ``None`` if it contradicts it. An empty retelling adds nothing."""
        if not whole:
            return ""
        if len(whole) < self._size:
            return None
        known = "".join(self._pieces)
        self._pieces = [known]
        return whole[len(known) :] if whole.startswith(known) else None


def ends_with(pieces: list[str], words: str) -> bool:
    """Whether ``pieces`` run together end with ``words``."""
    tail: list[str] = []
    wanted = len(words)
    for piece in reversed(pieces):
        if wanted <= 0:
            break
        tail.append(piece[-wanted:])
        wanted -= len(piece)
    return "".join(reversed(tail)).endswith(words)
