"""The lease server of one run: gives, remembers and takes back every permit of every worker, on one clock.

Theory of operation. Limits divided among workers are wrong twice: a worker without work holds places that others need,
and a worker that joins or dies changes all shares. So there is one :class:`LocalLimiter` for the whole run and every
attempt asks it, over the connection that also carries blocks and rows; a limit then means the same on one machine and
on a thousand. It costs a round trip per attempt, before the attempt is timed, and messages of some milliseconds travel
together (:class:`~vendor_verifier.run.cluster.job.Outbox`). Sessions that ask for the same account get its permits in
turn, and none gets more than its share while others wait: one that has just begun to hang, which nobody knows yet, is
given no more than that, so that the others never stand still.

A permit given away is a lease: the server counts it until the worker says that the attempt is over. That the vendor
never sees more than the limit rests on what happens when a worker does not. A session whose connection ended is
forgotten at once, but its leases become free only ``SETTLE_S`` later, when its connections have surely been closed at
the vendor, too.

A session that hangs keeps its connections, here and at the vendors, and may wake at any moment. So each says once a
second what its own clock shows, and hears with its permits which of these words came last. A permit is used only while
that word is younger than ``PERMIT_LIFE_S`` by the worker's clock, and not before the server was told that it is: when
nothing has come for ``PERMIT_LIFE_S`` by the server's clock, permits not known to be used cannot be used any more and
are free, and what the session asked for is put aside until it speaks again. What it has in flight counts until it is
killed, gives it back, or its attempt's time is over. After ``hang_after_s`` its work goes to others and it is told to
end; it may still hand in rows, because these were paid for. If this process itself was stopped, nobody's silence
counts.

A request that is granted when its session has left is never sent, for its task was cancelled with the session. A
session's name is admitted once: a scheduler that starts a task twice must not double its requests. The outcomes of
attempts come in before the requests for permits of the same message, so that a pause or a stop holds for them.

A request that waits for its permit while this process stands still begins late by our doing, and its own process cannot
see it. So every session is told how long that was.

Blocks and rows pass through unread, and nothing is ever sent to a vendor from here.
"""

from __future__ import annotations

import asyncio
import math
import pickle
import time
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from typing import Any

from vendor_verifier.records.plan import Entry, Plan
from vendor_verifier.records.record import Attempt
from vendor_verifier.run.budgets import Ask, CostOf, Spending
from vendor_verifier.run.cluster.job import PERMIT_LIFE_S, Message
from vendor_verifier.run.cluster.leases import Leases, Send, Session
from vendor_verifier.run.cluster.notifying_limiter import NotifyingLimiter
from vendor_verifier.run.event_loop_lag import LoopLag
from vendor_verifier.run.rate_limiter import limits_of
from vendor_verifier.scoring.answer import LEAST_NS

# A dead worker's closed connections reach the vendor one network trip later than us.
SETTLE_S = 0.25
# Silent for that long, though it should say something every second: its work goes to others.
HANG_AFTER_S = 10.0
# Sessions are looked at so often.
_LOOK_S = 0.5

# An attempt of which only its success matters.
_FINE = Attempt(1)
# Where no tokens are counted it does not matter what is asked.
_NOTHING_COUNTED = Ask(0)


class LeaseServer:
    """Leases, claims and messages of one run. All methods belong to one event loop."""

    def __init__(
        self,
        plan: Plan,
        costs: Mapping[tuple[str, str], CostOf] | None = None,
        in_flight: Counter[tuple[str, str]] | None = None,
        *,
        spending: Spending | None = None,
        hang_after_s: float = HANG_AFTER_S,
        attempt_s: float = math.inf,
        settle_s: float = SETTLE_S,
        permit_life_s: float = PERMIT_LIFE_S,
    ) -> None:
        """``attempt_s`` is the longest that one attempt may take."""
        self._entries = plan.entries
        self._spending = spending or Spending(plan.max_requests, plan.max_cost_usd, costs or {})
        self._limiter = NotifyingLimiter(
            plan.entries, plan.request_concurrency, self._spending, in_flight, gives_way=plan.load.gives_way
        )
        self._limiter.on_stop = lambda account: self._broadcast("over", account)
        self._limiter.on_refusal = lambda entry: self._broadcast("refused", [entry.model, entry.label])
        self._limiter.on_close = self._announce_closed
        self._hang_after_s = hang_after_s
        self._attempt_s = attempt_s
        self._settle_s = settle_s
        self._permit_life_s = permit_life_s
        self._places = limits_of(plan.entries, plan.request_concurrency)
        self._accounts = [entry.account for entry in plan.entries]
        # By account, how many sessions are waited for, and those that have their share until somebody gives one back.
        self._asking: Counter[str] = Counter()
        self._sated: dict[str, dict[str, Session]] = {account: {} for account in self._accounts}
        self._sessions: dict[str, Session] = {}
        self._claimed: set[str] = set()
        self._coordinator: Send | None = None
        self._cpu_before_s = time.process_time()
        self.closed = False

    @property
    def workers(self) -> set[str]:
        """The workers whose sessions are at work."""
        return {session.worker for session in self._sessions.values() if not session.revoked}

    # --- the coordinator

    def attend(self, send: Send) -> None:
        """Send everything the coordinator needs through ``send``."""
        self._coordinator = send

    def abandon(self) -> None:
        """Close the run, because the coordinator is gone and nobody would keep the answers."""
        self._coordinator = None
        self._limiter.close()
        self._broadcast("finish", True)

    def order(self, message: Message) -> None:
        """Take a message of the coordinator: blocks and questions for sessions, ``close``, ``finish``, ``facts``."""
        for name, dispatch, block in message.get("blocks", ()):
            session = self._sessions.get(name)
            if session is not None and not session.revoked:
                session.send("blocks", [dispatch, block])
        for name, asked_ns in message.get("clock", ()):
            if name in self._sessions:
                self._sessions[name].send("clock", asked_ns)
        if "close" in message:
            self._limiter.close()
        if "finish" in message:
            self._broadcast("finish", True)
        if "facts" in message:
            self._notify("facts", self.facts())

    @property
    def requests(self) -> int:
        """Requests that permits were given for, without those that came back unused."""
        return self._spending.requests

    def facts(self) -> dict[str, Any]:
        """The facts of the run's end, and the CPU seconds of the lease server's process."""
        return {
            "stopped": dict(self._limiter.stopped),
            "refused": [[*name, reason] for name, reason in self._limiter.refused.items()],
            "limit": None if self._spending.reason is None else str(self._spending.reason),
            "eased": {name: [one.given, one.lowest, one.now] for name, one in self._limiter.eased.items()},
            "books": self._spending.books(),
            "held": sum(session.leases.used for session in self._sessions.values() if session.revoked),
            "cpu_s": time.process_time() - self._cpu_before_s,
        }

    # --- sessions

    def join(self, name: str, worker: str, send: Send) -> bool:
        """Admit a session, once: a second one of the same name was started twice and must not send."""
        if name in self._claimed:
            return False
        self._claimed.add(name)
        self._sessions[name] = Session(name, worker, send, Leases(self._attempt_s, self._accounts), time.monotonic())
        if self.closed:
            send("closed", True)
        if self._limiter.stopped:
            send("over", *self._limiter.stopped)
        if self._limiter.refused:
            send("refused", *(list(name) for name in self._limiter.refused))
        self._notify("joined", name)
        return True

    def leave(self, name: str, reason: str) -> None:
        """Forget a session whose connection ended; what it held is free once its others are surely closed, too."""
        session = self._sessions.pop(name, None)
        if session is None:
            return
        self._set_aside(session)
        asyncio.get_running_loop().call_later(self._settle_s, self._free, session.leases.all())
        if not session.revoked:
            self._notify("left", [name, reason, time.monotonic() - session.heard_at])

    def worker_gone(self, worker: str) -> None:
        """Give up the sessions of a worker that the cluster counts as gone.

        It may be a process that only hangs: what it held is free when its connection ends.
        """
        for session in [one for one in self._sessions.values() if one.worker == worker]:
            self._revoke(session, "the worker died")

    def receive(self, name: str, message: Message) -> None:
        """Take a session's message. One that was given up gets nothing any more, but what it did counts."""
        session = self._sessions.get(name)
        if session is None:
            return
        if "beat" in message:
            self._hear(session, message["beat"][-1])
        if "rows" in message:
            self._notify("rows", *([name, *row] for row in message["rows"]))
        if "clock" in message:
            self._notify("clock", *([name, *answer] for answer in message["clock"]))
        if "report" in message:
            self._notify("report", *([name, report] for report in message["report"]))
        self._take_outcomes(session, message)
        self._take_leases(session, message)
        if session.revoked:
            return
        for place, number, *counted in message.get("acquire", ()):
            ask = _NOTHING_COUNTED
            if counted:
                ask = session.counted[number] = Ask(*counted)
            account = self._entries[place].account
            session.lines.setdefault(account, deque()).append((place, number, ask))
            self._serve(session, account)
        if "ended" in message:
            self._notify("ended", *([name, dispatch] for dispatch in message["ended"]))

    def _take_outcomes(self, session: Session, message: Message) -> None:
        for place in message.get("fine", ()):
            self._succeeded(self._entries[place], _FINE, _NOTHING_COUNTED)
        for place, packed, size, number in message.get("attempt", ()):
            attempt = _unpacked(packed)
            ask = Ask(size) if number is None else session.counted.pop(number, Ask(size))
            if attempt.failure is None:
                self._succeeded(self._entries[place], attempt, ask)
            else:
                self._limiter.attempt_ended(self._entries[place], attempt, ask)
        for place, seconds in message.get("pause", ()):
            self._limiter.pause(self._entries[place], seconds)
        for place, reason in message.get("stop", ()):
            self._limiter.stop(self._entries[place], reason)
        for place, packed in message.get("turn", ()):
            self._limiter.turn_ended(self._entries[place], _unpacked(packed))

    def _take_leases(self, session: Session, message: Message) -> None:
        if "took" in message:
            session.leases.took(message["took"], time.monotonic())
        for number in message.get("unused", ()):
            self._give_back(session, number)
        for number in message.get("release", ()):
            place = session.leases.back(number)
            if place is not None:
                self._limiter.release(self._entries[place])
                self._reconsider(self._accounts[place])

    def _succeeded(self, entry: Entry, attempt: Attempt, ask: Ask) -> None:
        """Count an attempt that succeeded, and with it its turn."""
        self._limiter.attempt_ended(entry, attempt, ask)
        self._limiter.turn_ended(entry, attempt)

    async def watch(self) -> None:
        """Look after sessions that are silent, and tell them when we stood still; runs until cancelled."""
        with LoopLag(self._tell_stall):
            await self._watch_sessions()

    def _tell_stall(self, late_ns: int) -> None:
        if late_ns > LEAST_NS:
            self._broadcast("stalled", late_ns)

    async def _watch_sessions(self) -> None:
        every_s = min(_LOOK_S, self._permit_life_s / 4, self._hang_after_s / 4)
        while True:
            slept_at = time.monotonic()
            await asyncio.sleep(every_s)
            now = time.monotonic()
            late_s = now - slept_at - every_s
            for session in list(self._sessions.values()):
                if late_s > every_s:
                    # We hung ourselves and could read no message meanwhile.
                    session.heard_at += late_s
                self._look_at(session, now)

    def _look_at(self, session: Session, now: float) -> None:
        silent_s = now - session.heard_at
        if silent_s > self._permit_life_s:
            session.is_silent = True
            self._set_aside(session)
            for number in session.leases.unused():
                self._give_back(session, number)
            self._free(session.leases.over(now))
        if silent_s > self._hang_after_s:
            self._revoke(session, f"silent for {silent_s:.0f} s")

    def _hear(self, session: Session, beat: float) -> None:
        session.heard_at, session.beat = time.monotonic(), beat
        if session.is_silent:
            session.is_silent = False
            for account in session.lines:
                self._serve(session, account)

    def _revoke(self, session: Session, reason: str) -> None:
        """Give up a session. If it wakes up it may hand in its rows, but gets nothing more."""
        if session.revoked:
            return
        session.revoked = True
        session.send("finish", True)
        self._set_aside(session)
        self._notify("left", [session.name, reason, time.monotonic() - session.heard_at])

    # --- leases

    def _serve(self, session: Session, account: str) -> None:
        """Have somebody wait for what the session asks for at an account, if it may have anything."""
        if not (session.is_silent or session.revoked or account in session.asking):
            self._asking[account] += 1
            session.asking[account] = asyncio.ensure_future(self._grant(session, account))

    def _has_share(self, session: Session, account: str) -> bool:
        """Whether the session has as much of an account as is due to it while others wait for some."""
        others = self._asking[account] - 1
        if not others:
            return False
        sharing = others + len(self._sated[account]) + (session.name not in self._sated[account])
        return session.leases.held[account] * sharing >= self._places[account]

    def _reconsider(self, account: str) -> None:
        """Wait again in the name of those who had their share."""
        if self._sated[account]:
            sated, self._sated[account] = self._sated[account], {}
            for session in sated.values():
                self._serve(session, account)

    async def _grant(self, session: Session, account: str) -> None:
        """Ask for one permit of the session after the other, so that sessions get them in turn and none takes all."""
        line = session.lines[account]
        while line and not self._has_share(session, account):
            place, number, ask = line[0]
            permit = await self._limiter.acquire(self._entries[place], ask)
            line.popleft()
            if permit == "granted":
                session.leases.give(number, place)
            else:
                session.counted.pop(number, None)
            if session.echoed != session.beat:
                session.echoed = session.beat
                session.send("beat", session.beat)
            session.send("permit", [place, number, permit])
        del session.asking[account]
        self._asking[account] -= 1
        if line:
            self._sated[account][session.name] = session
        else:
            self._reconsider(account)

    def _set_aside(self, session: Session) -> None:
        """Wait for nothing in the session's name."""
        accounts = list(session.asking)
        for account in accounts:
            session.asking.pop(account).cancel()
            self._asking[account] -= 1
        for account, sated in self._sated.items():
            sated.pop(session.name, None)
            self._reconsider(account)

    def _give_back(self, session: Session, number: int) -> None:
        """Take a permit back that nothing was sent by."""
        place = session.leases.back(number)
        if place is not None:
            self._limiter.give_back(self._entries[place], session.counted.pop(number, _NOTHING_COUNTED))
            self._reconsider(self._accounts[place])

    def _free(self, places: Sequence[int]) -> None:
        for place in places:
            self._limiter.release(self._entries[place])

    # --- telling

    def _announce_closed(self) -> None:
        if self.closed:
            return
        self.closed = True
        self._broadcast("closed", True)
        self._notify("closed", True)

    def _broadcast(self, kind: str, *items: Any) -> None:
        for session in self._sessions.values():
            session.send(kind, *items)

    def _notify(self, kind: str, *items: Any) -> None:
        if self._coordinator is not None:
            self._coordinator(kind, *items)


def _unpacked(attempt: bytes) -> Attempt:
    """The attempt as :class:`RemoteLimiter` pickled it. The channel carries code anyway, so pickle adds no risk."""
    found = pickle.loads(attempt)  # noqa: S301 see the docstring
    assert isinstance(found, Attempt)
    return found
