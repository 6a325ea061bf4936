"""Permits to send: places per account, pauses, budgets, and the end of entries, accounts and the run.

Theory of operation. What a vendor limits is an account (one origin with one key), not a model or a path; so places,
pauses and budgets are the account's, and entries that share it share them. A permit is asked for before every single
attempt, also before a retry: a wait between two attempts holds no place, and time spent waiting for a permit is never
part of a latency.

A permit passes three checks in this order: a place (a plain semaphore, because every request passes here and most
accounts have nothing else), then pause and budgets, then the last word whether the entry, the account or the run is
over. The last word comes last because any of these may have ended while the request waited. Requests wait for pause and
budgets in a line of their own, so that a large request is not overtaken for ever by small ones; those without budgets
skip the line.

Places are lowered by the rule of TCP (additive increase, multiplicative decrease): more than ``_TOO_MANY`` of the last
``_LOOKED_AT`` answers being refusals of our rate halve them, every ``_GOOD_PER_PLACE`` answers without one give one
back. A window instead of single refusals, because some hosts refuse one request in ten all day and fewer places would
not change that. Places in use are not revoked; they are withheld when they come back.

Two kinds of end are kept apart. A refused key or an empty account ends only the entry whose answer it was: with the
same key another model, path or protocol may well be served, and if it is not, its own first answer shows it. An account
that cannot be reached for many samples in a row ends as a whole, as does one whose entries all ended. Who waits is
woken by an end at once.

One process, several processes and a cluster differ in the implementation behind :class:`Limiter`; the engine does not
know which it has.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, Protocol

import anyio

from vendor_verifier.records.failures import KINDS
from vendor_verifier.records.plan import Entry, Plan
from vendor_verifier.records.record import Attempt
from vendor_verifier.run.budgets import Ask, RequestBudget, Spending, TokenBudget
from vendor_verifier.run.retry import slows_account

_LOOKED_AT = 24
_TOO_MANY = 8
# So many answers in a row without a refusal earn one place back.
_GOOD_PER_PLACE = 10


class ConcurrencyBackoff:
    """The places of one account: ``given`` by the plan, ``now``, and ``lowest`` so far."""

    def __init__(self, given: int) -> None:
        self.given = self.now = self.lowest = given
        self._withheld = 0  # places that have really been taken out of use
        self._good = 0
        self._recent: deque[bool] = deque(maxlen=_LOOKED_AT)

    @property
    def was_lowered(self) -> bool:
        return self.lowest < self.given

    def attempt_ended(self, *, is_limited: bool) -> None:
        """Count one attempt that ended."""
        self._recent.append(is_limited)
        if not is_limited:
            self._recover()
            return
        self._good = 0
        if sum(self._recent) > _TOO_MANY:
            self._recent.clear()
            self.now = max(1, self.now // 2)
            self.lowest = min(self.lowest, self.now)

    def places_back(self) -> int:
        """Places that the end of one attempt frees: usually 1, none while places are being withdrawn."""
        wanted = self.given - self.now
        if self._withheld < wanted:
            self._withheld += 1
            return 0
        back = 1 + self._withheld - wanted
        self._withheld = wanted
        return back

    def _recover(self) -> None:
        self._good += 1
        if self._good >= _GOOD_PER_PLACE and self.now < self.given:
            self._good = 0
            self.now += 1


# A vendor counts as down when so many samples in a row, each after all its tries, did not reach it.
DOWN_AFTER = 10

# granted: send now and release afterwards; stopped: this entry is finished; closed: the run takes nothing new.
Permit = Literal["granted", "stopped", "closed"]
# (model, label)
Name = tuple[str, str]
# An attempt that nothing came of.
_UNSENT = Attempt(1)


class Limiter(Protocol):
    """Gives and withholds permits to send."""

    async def acquire(self, entry: Entry, ask: Ask) -> Permit:
        """Wait for this entry's turn to send ``ask``. Only "granted" must be followed by :meth:`release`."""

    def release(self, entry: Entry) -> None:
        """Give the place back when the attempt is over."""

    async def rest(self, entry: Entry, seconds: float) -> None:
        """Wait between two attempts without holding a place; shorter when there will be no permit anyway."""

    def pause(self, entry: Entry, seconds: float) -> None:
        """Hold back everything on this entry's account for that long."""

    def stop(self, entry: Entry, reason: str) -> None:
        """Send nothing more to this entry; others on its account go on."""

    def attempt_ended(self, entry: Entry, attempt: Attempt, ask: Ask) -> None:
        """Take one attempt's outcome; ``ask`` is the one that its permit was given to."""

    def turn_ended(self, entry: Entry, attempt: Attempt) -> None:
        """Take a turn's outcome after all its tries."""


def places_of(plan: Plan) -> int:
    """The most requests of a plan in flight at once, all accounts together."""
    return sum(limits_of(plan.entries, plan.request_concurrency).values())


class LocalLimiter:
    """The limiter of one process. ``spending`` ends the run when a limit is reached.

    Without ``gives_way`` an account that asks for less gets what was planned all the same: whoever measures a load must
    not send another one. A single retry still waits as long as it was told to. ``in_flight`` counts permits in use, by
    (model, label). ``stopped`` are accounts that are finished, ``refused`` entries stopped on their own.
    """

    def __init__(
        self,
        entries: Sequence[Entry],
        request_concurrency: int,
        spending: Spending | None = None,
        in_flight: Counter[tuple[str, str]] | None = None,
        *,
        gives_way: bool = True,
    ) -> None:
        requests = _smallest((entry.account, entry.requests_per_minute) for entry in entries)
        tokens = _smallest((entry.account, entry.tokens_per_minute) for entry in entries)
        self._accounts = {
            account: AccountLimit(limit, requests.get(account), tokens.get(account))
            for account, limit in limits_of(entries, request_concurrency).items()
        }
        self._closed = False
        self._spending = spending or Spending()
        self._gives_way = gives_way
        self._in_flight: Counter[tuple[str, str]] = Counter() if in_flight is None else in_flight
        self._over = {(entry.model, entry.label): anyio.Event() for entry in entries}
        self._sharing: dict[str, list[Name]] = {}
        for entry in entries:
            self._sharing.setdefault(entry.account, []).append((entry.model, entry.label))
        self.stopped: dict[str, str] = {}
        self.refused: dict[Name, str] = {}

    @property
    def places(self) -> int:
        """The most requests in flight at once, all accounts together."""
        return sum(account_limit.backoff.given for account_limit in self._accounts.values())

    @property
    def eased(self) -> Mapping[str, ConcurrencyBackoff]:
        """Accounts whose places were lowered because they limited our rate."""
        return {
            account: account_limit.backoff
            for account, account_limit in self._accounts.items()
            if account_limit.backoff.was_lowered
        }

    async def acquire(self, entry: Entry, ask: Ask) -> Permit:
        account_limit = self._accounts[entry.account]
        await account_limit.places.acquire()
        permit: Permit = "closed"
        try:
            if account_limit.may_wait and not self._refusal(entry):
                await account_limit.wait_for_turn(ask, self._over[entry.model, entry.label])
            permit = self._refusal(entry) or "granted"
            # Also asked when closed already: it learns that there was something left to send.
            if permit != "stopped" and not self._spending.take(is_open=permit == "granted"):
                self.close()
                permit = "closed"
        finally:
            if permit != "granted":
                account_limit.places.release()
        if permit == "granted":
            self._in_flight[entry.model, entry.label] += 1
        return permit

    def release(self, entry: Entry) -> None:
        self._in_flight[entry.model, entry.label] -= 1
        account_limit = self._accounts[entry.account]
        for _ in range(account_limit.backoff.places_back()):
            account_limit.places.release()

    def give_back(self, entry: Entry, ask: Ask) -> None:
        """Take a permit back by which nothing was sent."""
        self._accounts[entry.account].settle(ask, _UNSENT)
        self._spending.requests -= 1
        self.release(entry)

    def attempt_ended(self, entry: Entry, attempt: Attempt, ask: Ask) -> None:
        account_limit = self._accounts[entry.account]
        account_limit.settle(ask, attempt)
        if self._gives_way:
            account_limit.backoff.attempt_ended(
                is_limited=attempt.failure is not None and slows_account(attempt.failure)
            )
        self._spending.pay(entry, attempt, ask.size)
        if self._spending.is_used_up:
            self.close()

    def turn_ended(self, entry: Entry, attempt: Attempt) -> None:
        account_limit = self._accounts[entry.account]
        failure = attempt.failure
        if failure is None or not KINDS[failure.kind].unreachable:
            account_limit.lost_in_a_row = 0
            return
        account_limit.lost_in_a_row += 1
        if account_limit.lost_in_a_row >= DOWN_AFTER:
            self._stop_account(
                entry.account, f"not reached for {DOWN_AFTER} samples in a row, last: {failure.kind}: {failure.message}"
            )

    async def rest(self, entry: Entry, seconds: float) -> None:
        with anyio.move_on_after(seconds):
            await self._over[entry.model, entry.label].wait()

    def pause(self, entry: Entry, seconds: float) -> None:
        if not self._gives_way:
            return
        account_limit = self._accounts[entry.account]
        account_limit.paused_until = max(account_limit.paused_until, anyio.current_time() + seconds)

    def stop(self, entry: Entry, reason: str) -> None:
        name = (entry.model, entry.label)
        self.refused.setdefault(name, reason)
        self._over[name].set()
        if all(sibling in self.refused for sibling in self._sharing[entry.account]):
            self._stop_account(entry.account, reason)
        else:
            self._accounts[entry.account].wake()

    def _stop_account(self, account: str, reason: str) -> None:
        """Stop an account that cannot be reached, or whose entries are all stopped."""
        self.stopped.setdefault(account, reason)
        self._end(account)

    def close(self) -> None:
        """Give no more permits to anyone; requests in flight go on."""
        self._closed = True
        for account in self._accounts:
            self._end(account)

    def _end(self, account: str) -> None:
        """Wake everybody who waits for this account."""
        for name in self._sharing[account]:
            self._over[name].set()
        self._accounts[account].wake()

    def _refusal(self, entry: Entry) -> Literal["stopped", "closed"] | None:
        if self._closed:
            return "closed"
        is_over = entry.account in self.stopped or (entry.model, entry.label) in self.refused
        return "stopped" if is_over else None


class AccountLimit:
    """One account's places, pause and budgets."""

    def __init__(self, limit: int, requests_per_minute: float | None, tokens_per_minute: float | None) -> None:
        # asyncio's own: every request passes here, and anyio's looks for a cancellation each time.
        self.places = asyncio.Semaphore(limit)
        self.backoff = ConcurrencyBackoff(limit)
        self.lost_in_a_row = 0
        # On anyio's clock, which most runs need never ask; 0.0: never paused.
        self.paused_until = 0.0
        self._requests = RequestBudget(requests_per_minute) if requests_per_minute is not None else None
        self._tokens = TokenBudget(tokens_per_minute) if tokens_per_minute is not None else None
        self._line = anyio.Lock(fast_acquire=True)
        self._answered = anyio.Event()

    @property
    def may_wait(self) -> bool:
        """Whether it was ever paused or has a budget; most accounts were not and have none."""
        return self.paused_until > 0 or self._requests is not None or self._tokens is not None

    async def wait_for_turn(self, ask: Ask, over: anyio.Event) -> None:
        """Wait, first come first served, until no pause holds and the budgets have room, or until ``over``."""
        if self._requests is None and self._tokens is None:
            # Others may lengthen the pause meanwhile.
            while self.paused_until and not over.is_set():
                seconds = self.paused_until - anyio.current_time()
                if seconds <= 0:
                    break
                with anyio.move_on_after(seconds):
                    await over.wait()
            return
        async with self._line:
            while not over.is_set() and (seconds := self._wait_s(now := anyio.current_time(), ask)) > 0:
                with anyio.move_on_after(seconds):
                    # An answer may have needed less than was put by for it.
                    await self._answered.wait()
            if not over.is_set():
                self._take(now, ask)

    def settle(self, ask: Ask, attempt: Attempt) -> None:
        """Replace the estimated tokens of ``ask`` by what the attempt used."""
        if self._tokens is not None:
            self._tokens.settle(ask, attempt)
            self.wake()

    def wake(self) -> None:
        """Let those who wait check whether there is still something to wait for."""
        self._answered.set()
        self._answered = anyio.Event()

    def _wait_s(self, now: float, ask: Ask) -> float:
        waits = [self.paused_until - now]
        if self._requests is not None:
            waits.append(self._requests.wait_s(now))
        if self._tokens is not None:
            waits.append(self._tokens.wait_s(now, ask))
        return max(waits)

    def _take(self, now: float, ask: Ask) -> None:
        if self._requests is not None:
            self._requests.take(now)
        if self._tokens is not None:
            self._tokens.take(now, ask)


def limits_of(entries: Sequence[Entry], request_concurrency: int) -> Mapping[str, int]:
    """Places per account: the smallest promise of the entries that share it."""
    limits: dict[str, int] = {}
    for entry in entries:
        own = entry.concurrency or request_concurrency
        limits[entry.account] = min(own, limits.get(entry.account, own))
    return limits


def _smallest(budgets: Iterable[tuple[str, float | None]]) -> Mapping[str, float]:
    """The smallest budget per account, where any of its entries has one."""
    found: dict[str, float] = {}
    for account, budget in budgets:
        if budget is not None:
            found[account] = min(budget, found.get(account, budget))
    return found
