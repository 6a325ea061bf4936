"""Decides when a request may be sent: how many are in flight per account, pauses, and vendors that are finished.

An account that keeps saying "not so fast" gets fewer places (:mod:`vendor_verifier.run.easing`); one that cannot be
reached for many samples in a row is stopped; when a spending limit is reached nobody gets leave any more. It knows
accounts (origin and key), not protocols. One process, several processes and a cluster differ in who stands behind
:class:`Limiter`; the engine asks it before every attempt and does not know which it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

import anyio

from vendor_verifier.run.easing import Easing
from vendor_verifier.run.retry import UNREACHABLE, slows_account
from vendor_verifier.run.spending import Spending
from vendor_verifier.values.plan import Entry
from vendor_verifier.values.record import Attempt

# Samples in a row, each after all its tries, that must have found nobody before a vendor counts as down.
DOWN_AFTER = 10

# go: send now and release afterwards; stopped: this account is finished; closed: the run takes nothing new.
Leave = Literal["go", "stopped", "closed"]


class Limiter(Protocol):
    """Who may send, and when."""

    async def acquire(self, entry: Entry) -> Leave:
        """Wait for this entry's turn. Only "go" must be followed by :meth:`release`."""

    def release(self, entry: Entry) -> None:
        """The attempt is over."""

    async def rest(self, entry: Entry, seconds: float) -> None:
        """Wait between two attempts, less long when there will be no leave anyway. Holds no place."""

    def pause(self, entry: Entry, seconds: float) -> None:
        """Hold back everything on this entry's account for that long."""

    def stop(self, entry: Entry, reason: str) -> None:
        """Send nothing more on this entry's account."""

    def heard(self, entry: Entry, attempt: Attempt, sent_bytes: int) -> None:
        """How one attempt ended; ``sent_bytes`` is the size of what was asked."""

    def concluded(self, entry: Entry, attempt: Attempt) -> None:
        """How a turn ended after all its tries."""


class LocalLimiter:
    """The limiter of a run in one process. ``spending`` ends the run when a limit is reached.

    Without ``gives_way`` an account that asks for less gets what was planned all the same: whoever measures a load must
    not send another one. A single retry still waits as long as it was told to.
    """

    def __init__(
        self,
        entries: Sequence[Entry],
        request_concurrency: int,
        spending: Spending | None = None,
        *,
        gives_way: bool = True,
    ) -> None:
        rates = _rates(entries)
        limits = _limits(entries, request_concurrency)
        self._gates = {account: _Gate(limit, rates.get(account)) for account, limit in limits.items()}
        self._closed = False
        self._spending = spending or Spending()
        self._gives_way = gives_way
        self.stopped: dict[str, str] = {}

    @property
    def places(self) -> int:
        """How many requests can be in flight at once, all accounts together."""
        return sum(gate.easing.given for gate in self._gates.values())

    @property
    def eased(self) -> Mapping[str, Easing]:
        """Accounts whose places were lowered because they limited our rate."""
        return {account: gate.easing for account, gate in self._gates.items() if gate.easing.was_lowered}

    async def acquire(self, entry: Entry) -> Leave:
        gate = self._gates[entry.account]
        await gate.places.acquire()
        leave: Leave = "closed"
        try:
            if not self._refusal(entry):
                await gate.wait_for_pause()
                await gate.wait_for_turn()
            leave = self._refusal(entry) or "go"
            # Also asked when closed already: it learns that there was something left to send.
            if leave != "stopped" and not self._spending.take(is_open=leave == "go"):
                self.close()
                leave = "closed"
        finally:
            if leave != "go":
                gate.places.release()
        return leave

    def release(self, entry: Entry) -> None:
        gate = self._gates[entry.account]
        for _ in range(gate.easing.places_back()):
            gate.places.release()

    def heard(self, entry: Entry, attempt: Attempt, sent_bytes: int) -> None:
        gate = self._gates[entry.account]
        if self._gives_way:
            gate.easing.heard(is_limited=attempt.failure is not None and slows_account(attempt.failure))
        self._spending.pay(entry, attempt, sent_bytes)
        if self._spending.is_used_up:
            self.close()

    def concluded(self, entry: Entry, attempt: Attempt) -> None:
        gate = self._gates[entry.account]
        failure = attempt.failure
        if failure is None or failure.kind not in UNREACHABLE:
            gate.lost_in_a_row = 0
            return
        gate.lost_in_a_row += 1
        if gate.lost_in_a_row >= DOWN_AFTER:
            self.stop(entry, f"not reached for {DOWN_AFTER} samples in a row, last: {failure.kind}: {failure.message}")

    async def rest(self, entry: Entry, seconds: float) -> None:
        await self._gates[entry.account].rest(seconds)

    def pause(self, entry: Entry, seconds: float) -> None:
        if not self._gives_way:
            return
        gate = self._gates[entry.account]
        gate.paused_until = max(gate.paused_until, anyio.current_time() + seconds)

    def stop(self, entry: Entry, reason: str) -> None:
        self.stopped.setdefault(entry.account, reason)
        self._gates[entry.account].over.set()

    def close(self) -> None:
        """Give no more leave to anyone; requests in flight go on."""
        self._closed = True
        for gate in self._gates.values():
            gate.over.set()

    def _refusal(self, entry: Entry) -> Literal["stopped", "closed"] | None:
        if self._closed:
            return "closed"
        return "stopped" if entry.account in self.stopped else None


class _Gate:
    """One account's places and pause. ``over`` is set for good when there is nothing left to wait for."""

    def __init__(self, limit: int, requests_per_minute: float | None = None) -> None:
        self.places = anyio.Semaphore(limit, fast_acquire=True)
        self.easing = Easing(limit)
        self.lost_in_a_row = 0
        self.paused_until = 0.0
        self._apart_s = 60 / requests_per_minute if requests_per_minute is not None else 0.0
        self._next_turn = 0.0
        self.over = anyio.Event()

    async def wait_for_pause(self) -> None:
        # Others may lengthen the pause meanwhile.
        while not self.over.is_set() and (seconds := self.paused_until - anyio.current_time()) > 0:
            await self.rest(seconds)

    async def wait_for_turn(self) -> None:
        """Requests begin at even distances, so that no second holds more than its share (GCRA without bursts)."""
        now = anyio.current_time()
        turn = max(now, self._next_turn)
        self._next_turn = turn + self._apart_s
        if turn > now and not self.over.is_set():
            await self.rest(turn - now)

    async def rest(self, seconds: float) -> None:
        with anyio.move_on_after(seconds):
            await self.over.wait()


def _limits(entries: Sequence[Entry], request_concurrency: int) -> Mapping[str, int]:
    """Places per account. Entries that share an account keep the smallest promise any of them made."""
    limits: dict[str, int] = {}
    for entry in entries:
        own = entry.concurrency or request_concurrency
        limits[entry.account] = min(own, limits.get(entry.account, own))
    return limits


def _rates(entries: Sequence[Entry]) -> Mapping[str, float]:
    """Requests per minute by account, where there is such a limit: the smallest any of its entries names."""
    rates: dict[str, float] = {}
    for entry in entries:
        if entry.requests_per_minute is not None:
            rates[entry.account] = min(entry.requests_per_minute, rates.get(entry.account, entry.requests_per_minute))
    return rates
