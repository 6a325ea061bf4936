"""Small rules of English that many messages share."""

from __future__ import annotations

from collections.abc import Sequence


def counted(count: object, one: str, others: str | None = None) -> str:
    """``1 request`` or ``7 requests``; ``others`` is ``one`` with an s unless it is given."""
    return f"{count} {one if str(count) == '1' else others or f'{one}s'}"


def times(count: int) -> str:
    """``once``, ``twice`` or ``7 times``."""
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def too_few(count: int, one: str) -> str:
    """``1 sample is too few`` or ``7 samples are too few``."""
    return f"{counted(count, one)} {'is' if count == 1 else 'are'} too few"


def listed(names: Sequence[str], most: int = 3) -> str:
    """``a``, ``a and b``, ``a, b and c``, or ``a, b, c and 4 more``."""
    if len(names) > most + 1:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
