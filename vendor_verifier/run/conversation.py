"""Plays one sample of one suite against one vendor: its turns, their attempts, the turn records.

When a request may be sent is the limiter's business, how often it is tried again is decided by the retry rules.
"""

from __future__ import annotations

import asyncio
import random
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import anyio
from msgspec import structs

from vendor_verifier.errors import UsageError
from vendor_verifier.records.plan import Entry, RetryRules
from vendor_verifier.records.record import Attempt, Exchange, Failure, Phase, Response, TurnRecord
from vendor_verifier.records.request import Endpoint, HttpRequest, Turn
from vendor_verifier.records.tool_use import RunTools, ToolRun, ToolRunner
from vendor_verifier.redaction import Scrubber
from vendor_verifier.run.api_keys import KeyRing
from vendor_verifier.run.budgets import ask_for
from vendor_verifier.run.event_loop_lag import STALL_NS, LoopLag, Stalls
from vendor_verifier.run.rate_limiter import Limiter
from vendor_verifier.run.retry import attempt_until_done, refuses_usage, should_retry, stops_vendor
from vendor_verifier.scoring.answer import LOOP_LAG
from vendor_verifier.suites import AnyPlay
from vendor_verifier.transport.policy import Client, ProgressMeter, RoundLimit, Sending
from vendor_verifier.vendor import Vendor
from vendor_verifier.wire.base import Reader, Wire
from vendor_verifier.wire.parse_answer import read_answer

CLOCK_JUMP = "clock_jump"
# Noted beside what a wire sends in other words.
_WITHOUT_USAGE = "dropped:stream_options"
MAX_DRIFT_S = 5.0
# Read in a thread, so that no other answer is stamped late for it.
_LONG_ANSWER = 256 * 1024


class ClockWatch:
    """Compares the wall clock with the monotonic one, from its making to :meth:`stop`."""

    __slots__ = ("_monotonic_s", "_wall_s", "jumped")

    def __init__(self) -> None:
        self.jumped = False
        self._wall_s = time.time()
        self._monotonic_s = time.monotonic()

    def stop(self) -> None:
        wall_s = time.time() - self._wall_s
        monotonic_s = time.monotonic() - self._monotonic_s
        self.jumped = abs(wall_s - monotonic_s) > MAX_DRIFT_S

    def flagged(self, response: Response | None) -> Response | None:
        """The response, marked if the wall clock was set while it came in."""
        if response is None or not self.jumped:
            return response
        return structs.replace(response, anomalies=(*response.anomalies, CLOCK_JUMP))


class RunClosed(Exception):
    """Raised when the run takes nothing new; the sample stays unrecorded and is due on resume."""


@dataclass(frozen=True, slots=True)
class Target:
    """Everything needed to talk to one entry."""

    entry: Entry
    vendor: Vendor
    wire: Wire


@dataclass(slots=True)
class _Question:
    """One turn ready to be asked of one entry, as often as it takes.

    ``due_ns`` is when it was due by a schedule. ``begun_late_ns`` is how long it took to be ready once it could
    begin, where it is the first turn of what was due.
    """

    target: Target
    endpoint: Endpoint
    request: HttpRequest
    turn: Turn
    total_s: float | None
    due_ns: int | None
    begun_late_ns: int | None

    @property
    def wishes_usage(self) -> bool:
        """Whether we ask for usage at the end of the stream; what the entry itself states is its own affair."""
        is_settled = "stream_options" in self.endpoint.body or _WITHOUT_USAGE in self.request.rewritten
        return self.turn.stream and not is_settled

    def wish_no_usage(self) -> None:
        """Build the request anew without that wish, and with a note of it."""
        endpoint = replace(self.endpoint, body={**self.endpoint.body, "stream_options": None})
        request = self.target.wire.request(with_parameters(self.turn, self.target.entry), endpoint)
        self.request = structs.replace(request, rewritten=(*request.rewritten, _WITHOUT_USAGE))

    def reader(self) -> Reader:
        return self.target.wire.reader(self.turn.tools)


@dataclass(slots=True, eq=False)
class Conversation:
    """Sends the turns of plays, for all plays of one run. ``rng`` only spreads waits, ``tools`` runs real tools.

    ``without_usage`` are model and label of entries that take no ``stream_options``. ``permits`` are the stretches in
    which another process, that gives the permits, stood still. ``streams`` is the most that may be open at a time.
    ``reading`` lets one answer be read in a round of the event loop. ``has_turn``: an answer was read, and nothing
    asked since.
    """

    client: Client
    limiter: Limiter
    retry: RetryRules
    rng: random.Random
    scrubber: Scrubber
    keys: KeyRing
    clock_ns: Callable[[], int] = time.perf_counter_ns
    lag: LoopLag = field(default_factory=LoopLag)
    permits: Stalls = field(default_factory=Stalls)
    streams: int = 0
    reading: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    starts: RoundLimit = field(init=False)
    blocked_by_proxy: dict[str, str] = field(default_factory=dict)
    without_usage: set[tuple[str, str]] = field(default_factory=set)
    tools: ToolRunner | None = None
    has_turn: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self.starts = RoundLimit(self.streams)

    async def play(
        self,
        play: AnyPlay,
        target: Target,
        total_s: float | None = None,
        due_ns: int | None = None,
        taken_ns: int | None = None,
    ) -> tuple[TurnRecord, ...]:
        """Run one play to its end; ``total_s`` is the evaluation's own limit for a whole attempt.

        ``due_ns`` is when the play was due by a schedule, on ``clock_ns``: every attempt is timed from it as well.
        ``taken_ns`` is since when it could begin.

        Raises:
            RunClosed: the limiter gave no more permits before the play was over.
        """
        turns: list[TurnRecord] = []
        try:
            step = next(play)
            while True:
                if isinstance(step, Turn):
                    turns.append(await self._send(step, target, total_s, due_ns, None if turns else taken_ns))
                    step = play.send(turns[-1].attempts[-1])
                    continue
                began_ns = self.clock_ns()
                ran = await self._run_tools(step)
                # By a schedule: no vendor is late because of our tools.
                due_ns = None if due_ns is None else due_ns + self.clock_ns() - began_ns
                if turns:
                    turns[-1] = structs.replace(turns[-1], tool_results=ran.results)
                if ran.failure is not None:
                    failure = Failure.of("tool_server", self.scrubber.text(ran.failure))
                    return (*turns, TurnRecord((Attempt(1, failure=failure),)))
                step = play.send(ran.results)
        except StopIteration:
            return tuple(turns)
        finally:
            play.close()

    async def _run_tools(self, step: RunTools) -> ToolRun:
        if self.tools is None:
            return ToolRun(failure="real tools are run by `run` and `check` alone, in one process of this machine")
        ran = await self.tools.run(step.requests)
        # A tool that reads files must not hand one vendor the key of another.
        results = [structs.replace(each, text=self.scrubber.text(each.text)) for each in ran.results]
        return ToolRun(tuple(results), ran.failure)

    async def _send(
        self, turn: Turn, target: Target, total_s: float | None, due_ns: int | None, taken_ns: int | None
    ) -> TurnRecord:
        entry = target.entry
        # A run begins with hundreds at once: building and connecting all of them in one go would make us late. Answers
        # have turns of their own, for one that stops its vendor must be read before the next is asked; who has just
        # read one asks on in the same turn.
        if self.has_turn:
            self.has_turn = False
        else:
            await self.starts.take()
        try:
            endpoint = await self.keys.endpoint(entry)
        except UsageError as error:
            # No key, no vendor; the others go on.
            self.limiter.stop(entry, str(error))
            return TurnRecord((Attempt(1, failure=Failure.of("auth", str(error), phase="plan")),))
        try:
            request = target.wire.request(with_parameters(turn, entry), endpoint)
        except Exception as error:  # noqa: BLE001 a plugin may raise anything; it must not take the other vendors along
            return TurnRecord((Attempt(1, failure=self._plugin_failure(error, "plan")),))
        if request.untranslatable:
            words = "not expressible on this wire: " + ", ".join(request.untranslatable)
            failure = Failure.of("untranslatable", words)
            return TurnRecord((Attempt(1, failure=failure),))
        begun_late_ns = None if taken_ns is None else max(0, self.clock_ns() - taken_ns)
        question = _Question(target, endpoint, request, turn, total_s, due_ns, begun_late_ns)
        first = await self._attempt(1, question)
        attempts = await self._again(first, question) if should_retry(first) else (first,)
        self.limiter.turn_ended(entry, attempts[-1])
        return TurnRecord(attempts, question.request.rewritten)

    async def _again(self, first: Attempt, question: _Question) -> tuple[Attempt, ...]:
        """All attempts that were sent at a question, of which ``first`` has failed."""
        entry = question.target.entry
        attempts = await attempt_until_done(
            first,
            lambda number: self._attempt(number, question),
            self.retry,
            self.rng,
            sleep=lambda seconds: self.limiter.rest(entry, seconds),
            pause=lambda seconds: self.limiter.pause(entry, seconds),
        )
        return _without_unsent(attempts)

    async def _attempt(self, number: int, question: _Question) -> Attempt:
        """An attempt with an answer, or with a failure that is not our doing."""
        # A retry waits anew, but not for who was promised an answer by schedule.
        scheduled_ns = self.clock_ns() if question.due_ns is None else question.due_ns
        attempt = await self._send_once(number, question, scheduled_ns, fresh=False)
        if attempt is not None:
            if not question.wishes_usage or not refuses_usage(attempt):
                return attempt
            # From now on it goes without our wish, so that nobody wins another try at hard samples by refusing it.
            self.without_usage.add((question.target.entry.model, question.target.entry.label))
            if question.begun_late_ns is not None:
                question.begun_late_ns = max(0, self.clock_ns() - scheduled_ns)
            return await self._attempt(number, question)
        # A kept connection that ends as a request comes in is no failure: HTTP lets either side close it.
        again = await self._send_once(number, question, scheduled_ns, fresh=True)
        assert again is not None
        was_skipped = again.failure is not None and again.failure.kind == "skipped"
        return again if was_skipped else structs.replace(again, resent=True)

    async def _send_once(self, number: int, question: _Question, scheduled_ns: int, *, fresh: bool) -> Attempt | None:
        """One request's attempt; None when its reused connection was closed under it. ``fresh``: on a connection of its
        own."""
        entry = question.target.entry
        ask = ask_for(question.request.body, reads_limit=entry.tokens_per_minute is not None)
        permit = await self.limiter.acquire(entry, ask)
        if permit == "closed":
            raise RunClosed
        if permit == "stopped":
            return Attempt(number, failure=self._stopped_failure(entry))
        watch, began_ns = ClockWatch(), time.perf_counter_ns()
        try:
            if self.without_usage and question.wishes_usage and (entry.model, entry.label) in self.without_usage:
                question.wish_no_usage()
            request = question.request
            meter = ProgressMeter(question.reader())
            wire = question.target.wire.name
            exchange = await self.client.exchange(Sending(request, meter, scheduled_ns, wire, question.total_s, fresh))
        except Exception as error:  # noqa: BLE001 as above: the plugin's reader runs inside
            return Attempt(number, failure=self._plugin_failure(error, "stream"))
        finally:
            self.limiter.release(entry)
        if exchange.lost and not fresh:
            self.limiter.attempt_ended(entry, Attempt(number, failure=exchange.failure, resent=True), ask)
            return None
        watch.stop()
        late_ns = self._lateness_ns(exchange, scheduled_ns, began_ns)
        if exchange.chunks:
            # Where nobody answered there is nothing to read, and what it means must be known before the next is asked.
            async with self.reading:
                await asyncio.sleep(0)
            self.has_turn = True
        try:
            read = partial(
                read_answer,
                exchange,
                question.reader(),
                tool_names=request.tool_names,
                classify=question.target.vendor.classify,
                asked_stream=question.turn.stream,
            )
            is_long = sum(len(chunk) for _, chunk in exchange.chunks) > _LONG_ANSWER
            timing, response, failure = await anyio.to_thread.run_sync(read) if is_long else read()
        except Exception as error:  # noqa: BLE001 as above
            return Attempt(number, failure=self._plugin_failure(error, "parse"))
        if failure is not None:
            # A failure's words go to screens and manifests as well as to the journal, which scrubs for itself.
            failure = structs.replace(failure, message=self.scrubber.text(failure.message))
            if failure.kind == "proxy":
                self.blocked_by_proxy[entry.account] = failure.message
            if stops_vendor(failure):
                self.limiter.stop(entry, failure.message)
        if response is not None and late_ns is not None and late_ns > STALL_NS:
            response = structs.replace(response, anomalies=(*response.anomalies, LOOP_LAG))
        begun_late_ns = self._begun_late_ns(question, exchange, scheduled_ns)
        timing = structs.replace(timing, our_lateness_ns=late_ns, begun_late_ns=begun_late_ns)
        attempt = Attempt(number, timing, watch.flagged(response), failure)
        self.limiter.attempt_ended(entry, attempt, ask)
        return attempt

    def _stopped_failure(self, entry: Entry) -> Failure:
        """The failure of a request to a stopped vendor; where a proxy is in the way, the proxy's."""
        if entry.account in self.blocked_by_proxy:
            return Failure.of("proxy", self.blocked_by_proxy[entry.account], phase="plan")
        return Failure.of("skipped", "the vendor was stopped earlier in this run")

    def _lateness_ns(self, exchange: Exchange, scheduled_ns: int, began_ns: int) -> int | None:
        """The most by which our stamps of this exchange, from connecting to its end, may be late."""
        if exchange.scheduled_ns is None:
            return self.lag.lateness_ns(began_ns, time.perf_counter_ns())
        sent_ns = scheduled_ns - exchange.scheduled_ns
        return self.lag.lateness_ns(sent_ns - (exchange.connect_ns or 0), sent_ns + exchange.end_ns)

    def _begun_late_ns(self, question: _Question, exchange: Exchange, due_ns: int) -> int | None:
        """Our part of the time from due to sent: until it was ready, or a stall while it waited for its turn."""
        if question.begun_late_ns is None or exchange.scheduled_ns is None:
            return question.begun_late_ns
        sent_ns = due_ns - exchange.scheduled_ns
        stalled_ns = self.lag.lateness_ns(due_ns, sent_ns) or 0
        return max(question.begun_late_ns, stalled_ns, self.permits.longest_ns(due_ns, sent_ns))

    def _plugin_failure(self, error: Exception, phase: Phase) -> Failure:
        """A bug on our side as a failure: it is counted as ours, never charged to the vendor."""
        where = traceback.extract_tb(error.__traceback__)[-1]
        words = f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"
        return Failure.of("harness", self.scrubber.text(words), phase=phase)


def _without_unsent(attempts: tuple[Attempt, ...]) -> tuple[Attempt, ...]:
    """The attempts without a retry that was never sent: the vendor's last answer stays the outcome."""
    last = attempts[-1]
    was_skipped = last.failure is not None and last.failure.kind == "skipped"
    return attempts[:-1] if was_skipped and len(attempts) > 1 else attempts


def with_parameters(turn: Turn, entry: Entry) -> Turn:
    """The turn with the entry's own parameters over the sample's, except those that are examined."""
    own = {name: value for name, value in entry.parameters.items() if name not in turn.fixed}
    return structs.replace(turn, parameters={**turn.parameters, **own}) if own else turn
