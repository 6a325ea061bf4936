"""The leases of one session: permits given to it, and of those the ones in flight. It reads no clock."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(slots=True)
class _Lease:
    """One permit for an entry, by its ``place`` in the plan. ``over_at`` is None until it is known to be used."""

    place: int
    over_at: float | None = None


class Leases:
    """Leases by number. An attempt takes ``attempt_s`` at most."""

    def __init__(self, attempt_s: float) -> None:
        self._attempt_s = attempt_s
        self._held: dict[int, _Lease] = {}

    def give(self, number: int, place: int) -> None:
        """Note a permit given."""
        self._held[number] = _Lease(place)

    def took(self, numbers: Iterable[int], now: float) -> None:
        """Note that these are used from now on."""
        for number in numbers:
            lease = self._held.get(number)
            if lease is not None:
                lease.over_at = now + self._attempt_s

    def back(self, number: int) -> int | None:
        """Take one back: its place, or None if it is not held."""
        lease = self._held.pop(number, None)
        return None if lease is None else lease.place

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
        return [self._held.pop(number).place for number in late]

    def all(self) -> Sequence[int]:
        """Take all back; their places."""
        held, self._held = self._held, {}
        return [lease.place for lease in held.values()]
