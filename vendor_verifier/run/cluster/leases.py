"""The state of one worker's session at the lease server, with its leases: permits given to it, and which are in flight.

It reads no clock.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from vendor_verifier.run.budgets import Ask

Send = Callable[..., None]


@dataclass(slots=True)
class _Lease:
    """One permit for an entry, by its ``place`` in the plan. ``over_at`` is None until it is known to be used."""

    place: int
    over_at: float | None = None


class Leases:
    """Leases by number. An attempt takes ``attempt_s`` at most; ``accounts`` are those of the places.

    ``held`` counts them by account.
    """

    def __init__(self, attempt_s: float, accounts: Sequence[str]) -> None:
        self._attempt_s = attempt_s
        self._accounts = accounts
        self._held: dict[int, _Lease] = {}
        self.held: Counter[str] = Counter()

    def give(self, number: int, place: int) -> None:
        """Note a permit given."""
        self._held[number] = _Lease(place)
        self.held[self._accounts[place]] += 1

    def took(self, numbers: Iterable[int], now: float) -> None:
        """Note that these are used from now on."""
        for number in numbers:
            lease = self._held.get(number)
            if lease is not None:
                lease.over_at = now + self._attempt_s

    def back(self, number: int) -> int | None:
        """Take one back: its place, or None if it is not held."""
        lease = self._held.pop(number, None)
        if lease is None:
            return None
        self.held[self._accounts[lease.place]] -= 1
        return lease.place

    def unused(self) -> Sequence[int]:
        """The numbers of those not known to be used."""
        return [number for number, lease in self._held.items() if lease.over_at is None]

    @property
    def used(self) -> int:
        """The number of those known to be used."""
        return len(self._held) - len(self.unused())

    def over(self, now: float) -> Sequence[int]:
        """Take those back whose attempt's time is over; their places."""
        late = [number for number, lease in self._held.items() if lease.over_at is not None and lease.over_at < now]
        return [place for number in late if (place := self.back(number)) is not None]

    def all(self) -> Sequence[int]:
        """Take all back; their places."""
        return [place for number in list(self._held) if (place := self.back(number)) is not None]


@dataclass(slots=True)
class Session:
    """One worker's session as the lease server knows it."""

    name: str
    worker: str
    send: Send
    leases: Leases
    # When it last said what its clock showed, and what it was; ``echoed`` is the last that it was told again.
    heard_at: float
    beat: float | None = None
    echoed: float | None = None
    # What it asks for by account, as (place, number, ask), and who waits for the first; none while it is silent.
    lines: dict[str, deque[tuple[int, int, Ask]]] = field(default_factory=dict)
    asking: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    counted: dict[int, Ask] = field(default_factory=dict)
    is_silent: bool = False
    revoked: bool = False
