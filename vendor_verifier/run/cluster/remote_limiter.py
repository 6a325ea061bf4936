"""The limiter as a session sees it: questions go to the lease server, answers come back; it decides nothing itself."""

from __future__ import annotations

import asyncio
import pickle
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import chain

import anyio
from msgspec import structs

from vendor_verifier.run.budgets import Ask
from vendor_verifier.run.cluster.job import Outbox
from vendor_verifier.run.rate_limiter import Permit
from vendor_verifier.values.plan import Entry, Plan
from vendor_verifier.values.record import Attempt, Response


class RemoteLimiter:
    """Asks the lease server for permits. Entries are named by their place in the plan."""

    def __init__(self, plan: Plan, outbox: Outbox) -> None:
        self._places = {(entry.model, entry.label): place for place, entry in enumerate(plan.entries)}
        self._outbox = outbox
        self._tells_all = plan.max_cost_usd is not None
        self._counted = {entry.account for entry in plan.entries if entry.tokens_per_minute is not None}
        self._waiting: dict[int, deque[asyncio.Future[Permit]]] = {}
        # Where tokens are counted each request is known by a number, because each takes its own share.
        self._numbers: dict[Ask, int] = {}
        self._numbered: dict[int, asyncio.Future[Permit]] = {}
        self._last_number = 0
        self._over = {name: asyncio.Event() for name in self._places}
        self._accounts = {(entry.model, entry.label): entry.account for entry in plan.entries}
        self._closed = False

    async def acquire(self, entry: Entry, ask: Ask) -> Permit:
        place = self._place(entry)
        if entry.account not in self._counted:
            return await self.ask(place)
        if self._closed:
            return "closed"
        self._last_number += 1
        number = self._numbers[ask] = self._last_number
        answer: asyncio.Future[Permit] = asyncio.get_running_loop().create_future()
        self._numbered[number] = answer
        self._outbox.send("acquire_counted", [place, number, ask.size, ask.most_tokens])
        permit = await answer
        if permit != "granted":
            del self._numbers[ask]
        return permit

    async def ask(self, place: int) -> Permit:
        """Wait for one lease of ``place``."""
        if self._closed:
            return "closed"
        answer: asyncio.Future[Permit] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(place, deque()).append(answer)
        self._outbox.send("acquire", place)
        return await answer

    def release(self, entry: Entry) -> None:
        self.give_back(self._place(entry))

    def give_back(self, place: int) -> None:
        self._outbox.send("release", place)

    async def rest(self, entry: Entry, seconds: float) -> None:
        with anyio.move_on_after(seconds):
            await self._over[entry.model, entry.label].wait()

    def pause(self, entry: Entry, seconds: float) -> None:
        self._outbox.send("pause", [self._place(entry), seconds])

    def stop(self, entry: Entry, reason: str) -> None:
        self._outbox.send("stop", [self._place(entry), reason])

    def heard(self, entry: Entry, attempt: Attempt, ask: Ask) -> None:
        number = self._numbers.pop(ask, None)
        if attempt.failure is None and number is None and not self._tells_all:
            self._outbox.send("fine", self._place(entry))
        else:
            packed = pickle.dumps(self._shortened(attempt))
            self._outbox.send("heard", [self._place(entry), packed, ask.size, number])

    def concluded(self, entry: Entry, attempt: Attempt) -> None:
        # That a turn ended well follows from what was heard of its last attempt.
        if attempt.failure is not None:
            self._outbox.send("concluded", [self._place(entry), pickle.dumps(self._shortened(attempt))])

    def answer(self, permits: Sequence[tuple[int, Permit]]) -> None:
        """What the lease server said. A lease that nobody waits for any more goes straight back."""
        for place, permit in permits:
            waiting = self._waiting.get(place)
            while waiting:
                future = waiting.popleft()
                if not future.done():
                    future.set_result(permit)
                    break
            else:
                if permit == "granted":
                    self.give_back(place)

    def answer_counted(self, permits: Sequence[tuple[int, int, Permit]]) -> None:
        """The same where each request has its number."""
        for place, number, permit in permits:
            future = self._numbered.pop(number, None)
            if future is not None and not future.done():
                future.set_result(permit)
            elif permit == "granted":
                self.give_back(place)

    def over(self, accounts: Sequence[str]) -> None:
        """Nothing more will be sent on these accounts: whoever rests before a retry need not."""
        self.refused(name for name, account in self._accounts.items() if account in accounts)

    def refused(self, entries: Iterable[Sequence[str]]) -> None:
        """The same of single entries, each as (model, label)."""
        for model, label in entries:
            self._over[model, label].set()

    def close(self) -> None:
        """The lease server gives no more permits, or is gone."""
        self._closed = True
        self.refused(self._over)
        for future in [*self._numbered.values(), *chain.from_iterable(self._waiting.values())]:
            if not future.done():
                future.set_result("closed")
        self._numbered.clear()
        self._waiting.clear()

    def _place(self, entry: Entry) -> int:
        return self._places[(entry.model, entry.label)]

    def _shortened(self, attempt: Attempt) -> Attempt:
        """What pacing looks at: how it failed, and what it took; its words only when somebody counts the cost."""
        if self._tells_all:
            return attempt
        response = attempt.response
        return structs.replace(attempt, timing=None, response=response and Response(usage=response.usage))
