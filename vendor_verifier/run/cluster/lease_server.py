"""The lease server of one run: gives, remembers and takes back every permit of every worker, on one clock.

Theory of operation. Limits divided among workers are wrong twice: a worker without work holds places that others need,
and a worker that joins or dies changes all shares. So there is one :class:`LocalLimiter` for the whole run and every
attempt asks it, over the connection that also carries blocks and rows; a limit then means the same on one machine and
on a thousand. It costs a round trip per attempt, before the attempt is timed, and messages of some milliseconds travel
together (:class:`~vendor_verifier.run.cluster.job.Outbox`).

A permit given away is a lease: the server counts it until the worker says that the attempt is over. That the vendor
never sees more than the limit rests on what happens when a worker does not: a session that leaves is forgotten at once,
but its leases become free only ``SETTLE_S`` later, when its connections have surely been closed at the vendor, too. A
session that hangs (silent for ``hang_after_s``, though it sends something every two seconds) is treated the same and
told to end; it may still hand in rows, because these were paid for. If this process itself was stopped, nobody's
silence counts.

A request that is granted when its session has left is never sent, for its task was cancelled with the session. A
session's name is admitted once: a scheduler that starts a task twice must not double its requests. The outcomes of
attempts come in before the requests for permits of the same message, so that a pause or a stop holds for them.

Blocks and rows pass through unread, and nothing is ever sent to a vendor from here.
"""

from __future__ import annotations

import asyncio
import pickle
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from vendor_verifier.run.budgets import Ask, CostOf, Spending
from vendor_verifier.run.cluster.job import Message
from vendor_verifier.run.rate_limiter import LocalLimiter
from vendor_verifier.values.plan import Entry, Plan
from vendor_verifier.values.record import Attempt

# A dead worker's closed connections reach the vendor one network trip later than us.
SETTLE_S = 0.25
# Silent for that long, though it should say something every two seconds: it hangs.
HANG_AFTER_S = 30.0

Send = Callable[..., None]
# An attempt of which only its success matters.
_FINE = Attempt(1)
# Where no tokens are counted it does not matter what is asked.
_NOTHING_COUNTED = Ask(0)


@dataclass(slots=True)
class _Session:
    """One worker's session as the lease server knows it."""

    name: str
    worker: str
    send: Send
    last_message_at: float
    held: Counter[int] = field(default_factory=Counter)
    counted: dict[int, Ask] = field(default_factory=dict)
    asking: set[asyncio.Task[None]] = field(default_factory=set)
    revoked: bool = False


class _NotifyingLimiter(LocalLimiter):
    """A limiter that reports every account and entry that is finished, and the end of the run."""

    on_stop: Callable[[str], None]
    on_refusal: Callable[[Entry], None]
    on_close: Callable[[], None]

    def stop(self, entry: Entry, reason: str) -> None:
        super().stop(entry, reason)
        if entry.account not in self.stopped:
            self.on_refusal(entry)

    def _stop_account(self, account: str, reason: str) -> None:
        super()._stop_account(account, reason)
        self.on_stop(account)

    def close(self) -> None:
        super().close()
        self.on_close()


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
        settle_s: float = SETTLE_S,
    ) -> None:
        self._entries = plan.entries
        self._spending = spending or Spending(plan.max_requests, plan.max_cost_usd, costs or {})
        self._limiter = _NotifyingLimiter(
            plan.entries, plan.request_concurrency, self._spending, in_flight, gives_way=plan.load.gives_way
        )
        self._limiter.on_stop = lambda account: self._broadcast("over", account)
        self._limiter.on_refusal = lambda entry: self._broadcast("refused", [entry.model, entry.label])
        self._limiter.on_close = self._announce_closed
        self._hang_after_s = hang_after_s
        self._settle_s = settle_s
        self._sessions: dict[str, _Session] = {}
        self._claimed: set[str] = set()
        self._coordinator: Send | None = None
        self._cpu_before_s = time.process_time()
        self.closed = False

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
        """Take a message of the coordinator: blocks for sessions, ``close``, ``finish``, ``facts``."""
        for name, dispatch, block in message.get("blocks", ()):
            session = self._sessions.get(name)
            if session is not None and not session.revoked:
                session.send("blocks", [dispatch, block])
        if "close" in message:
            self._limiter.close()
        if "finish" in message:
            self._broadcast("finish", True)
        if "facts" in message:
            self._notify("facts", self.facts())

    def facts(self) -> dict[str, Any]:
        """The facts of the run's end, and the CPU seconds of the lease server's process."""
        return {
            "stopped": dict(self._limiter.stopped),
            "refused": [[*name, reason] for name, reason in self._limiter.refused.items()],
            "limit": None if self._spending.reason is None else str(self._spending.reason),
            "eased": {name: [one.given, one.lowest, one.now] for name, one in self._limiter.eased.items()},
            "cpu_s": time.process_time() - self._cpu_before_s,
        }

    # --- sessions

    def join(self, name: str, worker: str, send: Send) -> bool:
        """Admit a session, once: a second one of the same name was started twice and must not send."""
        if name in self._claimed:
            return False
        self._claimed.add(name)
        self._sessions[name] = _Session(name, worker, send, time.monotonic())
        if self.closed:
            send("closed", True)
        if self._limiter.stopped:
            send("over", *self._limiter.stopped)
        if self._limiter.refused:
            send("refused", *(list(name) for name in self._limiter.refused))
        self._notify("joined", name)
        return True

    def leave(self, name: str, reason: str) -> None:
        """Forget a session that ended; what it held is free once its connections are surely closed."""
        session = self._sessions.pop(name, None)
        if session is None:
            return
        silent_s = time.monotonic() - session.last_message_at
        self._take_back(session)
        self._notify("left", [name, reason, silent_s])

    def worker_gone(self, worker: str) -> None:
        """Forget all sessions of that worker."""
        for session in [one for one in self._sessions.values() if one.worker == worker]:
            self.leave(session.name, "the worker died")

    def receive(self, name: str, message: Message) -> None:
        """Take a session's message. Of a session that was given up only its rows count."""
        session = self._sessions.get(name)
        if session is None:
            return
        session.last_message_at = time.monotonic()
        if "rows" in message:
            self._notify("rows", *([name, *row] for row in message["rows"]))
        if "report" in message:
            self._notify("report", *([name, report] for report in message["report"]))
        if session.revoked:
            return
        self._take_outcomes(session, message)
        self._take_asks(session, message)
        if "ended" in message:
            self._notify("ended", *([name, dispatch] for dispatch in message["ended"]))

    def _take_outcomes(self, session: _Session, message: Message) -> None:
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

    def _take_asks(self, session: _Session, message: Message) -> None:
        for place in message.get("release", ()):
            self._release(session, place)
        for place, number, *counted in message.get("acquire", ()):
            ask = _NOTHING_COUNTED
            if counted:
                ask = session.counted[number] = Ask(*counted)
            task = asyncio.ensure_future(self._grant(session, place, number, ask))
            session.asking.add(task)
            task.add_done_callback(session.asking.discard)

    def _succeeded(self, entry: Entry, attempt: Attempt, ask: Ask) -> None:
        """Count an attempt that succeeded, and with it its turn."""
        self._limiter.attempt_ended(entry, attempt, ask)
        self._limiter.turn_ended(entry, attempt)

    async def watch(self) -> None:
        """Give up sessions that have been silent too long; runs until cancelled."""
        every_s = self._hang_after_s / 10
        while True:
            slept_at = time.monotonic()
            await asyncio.sleep(every_s)
            late_s = time.monotonic() - slept_at - every_s
            if late_s > every_s:
                # We hung ourselves and could read no message meanwhile.
                for session in self._sessions.values():
                    session.last_message_at += late_s
            for session in list(self._sessions.values()):
                silent_s = time.monotonic() - session.last_message_at
                if silent_s > self._hang_after_s and not session.revoked:
                    self._revoke(session, silent_s)

    def _revoke(self, session: _Session, silent_s: float) -> None:
        """Give up a hanging session. If it wakes up it may hand in its rows, but send nothing more."""
        session.revoked = True
        session.send("finish", True)
        self._take_back(session)
        self._notify("left", [session.name, f"silent for {silent_s:.0f} s", silent_s])

    # --- leases

    async def _grant(self, session: _Session, place: int, number: int, ask: Ask) -> None:
        permit = await self._limiter.acquire(self._entries[place], ask)
        if permit == "granted":
            session.held[place] += 1
        else:
            session.counted.pop(number, None)
        session.send("permit", [place, number, permit])

    def _release(self, session: _Session, place: int) -> None:
        if session.held[place] > 0:
            session.held[place] -= 1
            self._limiter.release(self._entries[place])

    def _take_back(self, session: _Session) -> None:
        for task in list(session.asking):
            task.cancel()
        held, session.held = list(session.held.elements()), Counter()
        asyncio.get_running_loop().call_later(self._settle_s, self._free_all, held)

    def _free_all(self, places: Sequence[int]) -> None:
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
