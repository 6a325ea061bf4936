"""Each entry's work on its way to sessions: what is left, what goes out again, how much is out; and whose turn it is.

Entries are supplied apart: one whose answers are slow holds back its own blocks and nobody else's.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence

from vendor_verifier.run.streams import Stream
from vendor_verifier.run.work_queue import WorkItem

WorkBlock = tuple[int, Sequence[WorkItem]]


class Supply:
    """One entry's blocks. ``out`` counts by session the records that are still to come of what was handed out."""

    def __init__(self, stream: Stream) -> None:
        entry = stream.entry
        self.name = (entry.model, entry.label)
        self.plays = stream.plays
        self.plays_in_turn = stream.plays_in_turn
        self.out: Counter[str] = Counter()
        self.handed_in_turn = 0
        # Nothing more is sent to this entry: what is left of it comes back at once, and is nobody's turn.
        self.is_stopped = False
        self._blocks = stream.blocks()
        # Blocks that are made: those that go out again, and no more than one that never did.
        self._ready: deque[WorkBlock] = deque()

    @property
    def all_out(self) -> int:
        """Records that are still to come, from all sessions."""
        return self.out.total()

    def has_more(self) -> bool:
        """Whether there is a block to hand out."""
        if not self._ready and (block := next(self._blocks, None)) is not None:
            self._ready.append(block)
        return bool(self._ready)

    def take(self) -> WorkBlock:
        """The next block; there must be one."""
        block = self._ready.popleft()
        self.handed_in_turn += len(block[1])
        return block

    def again(self, block: WorkBlock) -> None:
        """What came back undone is the next to go out."""
        self._ready.appendleft(block)


class Rota:
    """Whose turn it is: everybody's, or with a ``limit`` so many entries' at a time.

    An entry gives its turn to the next when it has had so many plays and all of them have ended, or when it is through.
    """

    def __init__(self, supplies: Iterable[Supply], limit: int | None) -> None:
        self._waiting = deque(supplies)
        self._limit = len(self._waiting) if limit is None else limit
        self._running: list[Supply] = []

    def open(self) -> list[Supply]:
        """The entries that may be handed something now."""
        for supply in list(self._running):
            if self._is_due_to_leave(supply) and (supply.is_stopped or not supply.all_out):
                self._running.remove(supply)
                self._waiting.append(supply)
        for _ in range(len(self._waiting)):
            if len(self._running) >= self._limit:
                break
            supply = self._waiting.popleft()
            if supply.has_more() and not supply.is_stopped:
                supply.handed_in_turn = 0
                self._running.append(supply)
            else:
                self._waiting.append(supply)
        stopped = [supply for supply in self._waiting if supply.is_stopped and supply.has_more()]
        return [supply for supply in self._running if not self._is_due_to_leave(supply)] + stopped

    def _is_due_to_leave(self, supply: Supply) -> bool:
        if supply.is_stopped or not supply.has_more():
            return True
        is_wanted = any(other.has_more() and not other.is_stopped for other in self._waiting)
        return is_wanted and supply.handed_in_turn >= supply.plays_in_turn
