"""By how much the clocks of workers elsewhere differ from ours, asked for and answered over the channels of a run.

The offset is taken from the answer that was quickest (Cristian's algorithm), of the last few, because clocks drift.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

# So many answers make a clock known; afterwards so many of the last ones are kept.
_FIRST = 5
_KEPT = 8


class WorkerClocks:
    """The clocks of sessions by name. ``ask(name)`` has one asked."""

    def __init__(self, ask: Callable[[str], None]) -> None:
        self._ask = ask
        self._answers: dict[str, deque[tuple[int, int]]] = {}
        # The most by which each offset may be wrong, of sessions that left, too.
        self.error_ms: dict[str, float] = {}

    def joined(self, name: str) -> None:
        """Begin to ask a session."""
        self._answers[name] = deque(maxlen=_KEPT)
        self._ask(name)

    def left(self, name: str) -> None:
        """Forget a session."""
        self._answers.pop(name, None)

    def ask_all(self) -> None:
        """Ask every session again."""
        for name in self._answers:
            self._ask(name)

    def answered(self, name: str, asked_ns: int, theirs_ns: int, now_ns: int) -> bool:
        """Take an answer; whether the session's clock is known from now on and was not before."""
        answers = self._answers.get(name)
        if answers is None:
            return False
        answers.append((now_ns - asked_ns, theirs_ns - (asked_ns + now_ns) // 2))
        self.error_ms[name] = round(min(answers)[0] / 2e6, 2)
        if len(answers) < _FIRST:
            self._ask(name)
        return len(answers) == _FIRST

    def offset_ns(self, name: str) -> int:
        """Its clock minus ours; it must be known."""
        return min(self._answers[name])[1]
