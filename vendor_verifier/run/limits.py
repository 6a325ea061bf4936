"""Permits to send: places per account, pauses, budgets, and the end of entries, accounts and the run.

What a vendor limits is an account (one origin with one key). A permit is asked for before every attempt, and time spent
waiting for it is never part of a latency. It passes three checks: a place, then pause and budgets, then whether the
entry, the account or the run ended meanwhile.

Places are lowered by the rule of TCP (additive increase, multiplicative decrease): more than ``_TOO_MANY`` of the last
``_LOOKED_AT`` answers being refusals of our rate halve them, every ``_GOOD_PER_PLACE`` answers without one give one
back. A window, because some hosts refuse one request in ten all day.

A refused key or an empty account ends only the entry whose answer it was: with the same key another model, path or
protocol may well be served. An account that cannot be reached for many samples in a row ends as a whole.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from typing import Literal

import anyio

from vendor_verifier.records.plan import Entry
from vendor_verifier.records.record import Attempt, Failure
from vendor_verifier.run.budgets import Ask, Bucket, Spending

_LOOKED_AT = 24
_TOO_MANY = 8
# This many answers in a row without a refusal earn one place back.
_GOOD_PER_PLACE = 10
# A vendor counts as down when this many samples in a row, each after all its tries, were lost over these seconds. Many
# samples wait for their tries together, so that without the time a restart of a few seconds would end it.
DOWN_AFTER, DOWN_AFTER_S = 10, 30.0
# An account that only refuses and asks us to wait, as many times over these seconds, is not waited for any longer.
REFUSED_AFTER_S = 600.0

# granted: send now and release afterwards; stopped: this entry is finished; closed: the run takes nothing new.
Permit = Literal["granted", "stopped", "closed"]
# (model, label)
Name = tuple[str, str]


class Backoff:
    """The places of one account: ``given`` by the plan, ``now``, and ``lowest`` so far."""

    def __init__(self, given: int) -> None:
        self.given = self.now = self.lowest = given
        self._good = 0
        self._recent: deque[bool] = deque(maxlen=_LOOKED_AT)

    def attempt_ended(self, *, is_limited: bool) -> None:
        """Count one attempt that ended."""
        self._recent.append(is_limited)
        self._good = 0 if is_limited else self._good + 1
        if is_limited and sum(self._recent) > _TOO_MANY:
            self._recent.clear()
            self.now = max(1, self.now // 2)
            self.lowest = min(self.lowest, self.now)
        elif self._good >= _GOOD_PER_PLACE and self.now < self.given:
            self._good = 0
            self.now += 1


class Account:
    """One account's places, pause and budgets. A free place goes to the entry that uses the fewest."""

    def __init__(self, places: int, entries: Sequence[Entry]) -> None:
        self.names = [(entry.model, entry.label) for entry in entries]
        self.backoff = Backoff(places)
        # Failures of a sort in a row: how many, and since when. Times on the loop's clock; 0.0: never paused.
        self.failed: dict[str, tuple[int, float]] = {}
        self.paused_until = 0.0
        requests = [each.requests_per_minute for each in entries if each.requests_per_minute is not None]
        tokens = [each.tokens_per_minute for each in entries if each.tokens_per_minute is not None]
        self._buckets = [Bucket(min(requests))] if requests else []
        self._buckets += [Bucket(min(tokens), tokens=True)] if tokens else []
        self._using = Counter[Name]()
        # By entry; the one that was served last comes last.
        self._waiting: dict[Name, deque[asyncio.Future[None]]] = {name: deque() for name in self.names}
        self._line = asyncio.Lock()
        self._answered = asyncio.Event()

    async def take_place(self, name: Name) -> None:
        """Wait for a place."""
        waiting = asyncio.get_running_loop().create_future()
        self._waiting[name].append(waiting)
        self._hand_out()
        try:
            await waiting
        except asyncio.CancelledError:
            if not waiting.cancelled():
                self.free_place(name)
            raise

    def free_place(self, name: Name) -> None:
        """Take back a place; while there are too many it is not given to another."""
        self._using[name] -= 1
        self._hand_out()

    def _hand_out(self) -> None:
        while self._using.total() < self.backoff.now:
            waiting = [name for name, line in self._waiting.items() if line]
            if not waiting:
                return
            chosen = min(waiting, key=self._using.__getitem__)
            line = self._waiting[chosen] = self._waiting.pop(chosen)
            first = line.popleft()
            if not first.cancelled():
                first.set_result(None)
                self._using[chosen] += 1

    async def wait_for_turn(self, ask: Ask, over: asyncio.Event) -> None:
        """Wait until no pause holds and, first come first served, the budgets have room, or until ``over``."""
        # Others may lengthen the pause meanwhile.
        while (seconds := self.paused_until - anyio.current_time()) > 0 and not over.is_set():
            with anyio.move_on_after(seconds):
                await over.wait()
        if not self._buckets or over.is_set():
            return
        async with self._line:
            while not over.is_set() and (seconds := self._wait_s(now := anyio.current_time())) > 0:
                with anyio.move_on_after(seconds):
                    # An answer may have needed less than was put by for it.
                    await self._answered.wait()
            for bucket in self._buckets if not over.is_set() else ():
                bucket.begin(now, ask)

    def settle(self, ask: Ask, attempt: Attempt) -> None:
        """Take what the attempt used in place of what was put by for it."""
        for bucket in self._buckets:
            bucket.settle(ask, attempt)
        self.wake()

    def wake(self) -> None:
        """Let those who wait check whether there is still something to wait for."""
        self._answered.set()
        self._answered = asyncio.Event()

    def _wait_s(self, now: float) -> float:
        return max(self.paused_until - now, *(bucket.wait_s(now) for bucket in self._buckets))


class Limiter:
    """Gives and withholds permits to send. ``spending`` ends the run when a limit is reached. Without ``gives_way`` an
    account that asks for less gets what was planned: a measured load must be the one planned. ``stopped`` are
    accounts that are finished, ``refused`` entries stopped on their own; ``closed`` is set when the run takes nothing
    new."""

    def __init__(
        self,
        entries: Sequence[Entry],
        request_concurrency: int,
        spending: Spending | None = None,
        *,
        gives_way: bool = True,
    ) -> None:
        self.accounts = {
            account: Account(places, [entry for entry in entries if entry.account == account])
            for account, places in places_of(entries, request_concurrency).items()
        }
        self.stopped: dict[str, str] = {}
        self.refused: dict[Name, str] = {}
        self.closed = asyncio.Event()
        self._spending = spending or Spending()
        self._gives_way = gives_way
        self._over = {(entry.model, entry.label): asyncio.Event() for entry in entries}

    async def acquire(self, entry: Entry, ask: Ask) -> Permit:
        """Wait for this entry's turn to send ``ask``. Only "granted" must be followed by :meth:`release`."""
        account, name = self.accounts[entry.account], (entry.model, entry.label)
        await account.take_place(name)
        permit: Permit = "closed"
        try:
            await account.wait_for_turn(ask, self._over[name])
            permit = self._last_word(entry)
        finally:
            if permit != "granted":
                account.free_place(name)
        return permit

    def release(self, entry: Entry) -> None:
        """Give the place back when the attempt is over."""
        self.accounts[entry.account].free_place((entry.model, entry.label))

    async def rest(self, entry: Entry, seconds: float) -> None:
        """Wait between two attempts without holding a place; shorter when there will be no permit anyway."""
        with anyio.move_on_after(seconds):
            await self._over[entry.model, entry.label].wait()

    def pause(self, entry: Entry, seconds: float, failure: Failure) -> None:
        """Pause this entry's account for that long because of ``failure``."""
        account = self.accounts[entry.account]
        if self._gives_way:
            account.paused_until = max(account.paused_until, anyio.current_time() + seconds)
            self._count(entry, failure, "refused {} requests in a row", REFUSED_AFTER_S)

    def attempt_ended(self, entry: Entry, attempt: Attempt, ask: Ask) -> None:
        """Take one attempt's outcome; ``ask`` is the one that its permit was given to."""
        account = self.accounts[entry.account]
        account.settle(ask, attempt)
        if self._gives_way:
            # An overloaded host says less about how much we send than a limit of our rate.
            is_limited = attempt.failure is not None and attempt.failure.rules.charge == "rate_limit"
            account.backoff.attempt_ended(is_limited=is_limited)
            if attempt.failure is None or attempt.failure.rules.retried == "never":
                account.failed.clear()
        self._spending.pay(entry, attempt, ask.size)
        if self._spending.is_used_up:
            # Samples that wait for another try do not delay the end.
            self.close()

    def turn_ended(self, entry: Entry, attempt: Attempt) -> None:
        """Take a turn's outcome after all its tries."""
        failure, words = attempt.failure, "not reached for {} samples in a row"
        if failure is None or (failure.kind != "proxy_failed" and failure.rules.charge not in ("network", "door")):
            self.accounts[entry.account].failed.pop(words, None)
        else:
            self._count(entry, failure, words, DOWN_AFTER_S)

    def is_stopped(self, entry: Entry) -> bool:
        """Whether nothing more is sent to this entry, while others may go on."""
        return entry.account in self.stopped or (entry.model, entry.label) in self.refused

    def stop(self, entry: Entry, reason: str) -> None:
        """Send nothing more to this entry; others on its account go on, if any is left."""
        name, account = (entry.model, entry.label), self.accounts[entry.account]
        self.refused.setdefault(name, reason)
        self._over[name].set()
        account.wake()
        if all(sibling in self.refused for sibling in account.names):
            self._stop_account(entry.account, reason)

    def close(self) -> None:
        """Give no more permits to anyone; requests in flight go on."""
        self.closed.set()
        for account in self.accounts:
            self._end(account)

    def _last_word(self, entry: Entry) -> Permit:
        if not self.closed.is_set() and self.is_stopped(entry):
            return "stopped"
        # Also asked when closed already: it learns that there was something left to send.
        if not self._spending.take(is_open=not self.closed.is_set()):
            self.close()
            return "closed"
        return "granted"

    def _count(self, entry: Entry, failure: Failure, words: str, seconds: float) -> None:
        """Count one more failure of this sort; ``DOWN_AFTER`` in a row over ``seconds`` stop the account."""
        failed, now = self.accounts[entry.account].failed, anyio.current_time()
        count, since = failed.get(words, (0, now))
        failed[words] = count + 1, since
        if count + 1 >= DOWN_AFTER and now - since >= seconds:
            self._stop_account(entry.account, f"{words.format(count + 1)}; last: {failure.kind}: {failure.message}")

    def _stop_account(self, account: str, reason: str) -> None:
        self.stopped.setdefault(account, reason)
        self._end(account)

    def _end(self, account: str) -> None:
        """Wake everybody who waits for this account."""
        for name in self.accounts[account].names:
            self._over[name].set()
        self.accounts[account].wake()


def places_of(entries: Sequence[Entry], request_concurrency: int) -> Mapping[str, int]:
    """Places per account: the smallest promise of the entries that share it."""
    places: dict[str, int] = {}
    for entry in entries:
        own = entry.concurrency or request_concurrency
        places[entry.account] = min(own, places.get(entry.account, own))
    return places
