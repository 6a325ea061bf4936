"""Plays one sample of one suite against one vendor: its turns, their attempts, the record.

Every attempt is recorded with its own timing; waits lie between attempts, never inside one. An attempt that already
delivered a token is not repeated: what the vendor began to answer is the finding.
"""

from __future__ import annotations

import asyncio
import random
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import anyio.to_thread
import msgspec
from msgspec import structs

from vendor_verifier.records.plan import RetryRules, as_asked
from vendor_verifier.records.record import Attempt, Exchange, Failure, Phase, Record, TurnRecord
from vendor_verifier.records.request import Endpoint, HttpRequest, RunTools, ToolRun, ToolRunner, Turn
from vendor_verifier.redaction import Scrubber
from vendor_verifier.run.budgets import Ask, most_tokens_of
from vendor_verifier.run.event_loop import LoopLag
from vendor_verifier.run.limits import Limiter, Name
from vendor_verifier.run.queue import Target, WorkItem
from vendor_verifier.scoring.answer import LOOP_LAG, STALL_NS
from vendor_verifier.suites import AnyPlay
from vendor_verifier.transport.exchange import Client, ProgressMeter, Sending
from vendor_verifier.wire.parse_answer import Outcome, read_answer, takes_long

# Keeps finished records, which hold no secret any more.
Emit = Callable[[Sequence[Record]], None]

# Noted next to what a wire sends in other words.
_WITHOUT_USAGE = "dropped:stream_options"
# A record that waits for another try or turn when the run ends is kept, and charged to nobody.
_ENDED = Failure.of("skipped", "the run ended before another try")
# The longest wait that a vendor may ask for; beyond it a daily quota is used up.
_LONGEST_PAUSE_S = 600.0
# A record of more bytes is scrubbed in a thread: on the event loop that would make every stream's times late.
_MOST_READ_HERE = 256 * 1024
# The waits before further attempts, where the vendor names none: they double.
_FIRST_WAIT_S, _LONGEST_OWN_WAIT_S = 0.5, 8.0


class RunClosed(Exception):
    """Raised when the run takes nothing new; the sample stays unrecorded and is due on resume."""


class Due(msgspec.Struct, frozen=True):
    """When a play was due: on ``perf_counter_ns``, and in seconds after the schedule's start."""

    due_ns: int
    offered_s: float


@dataclass(slots=True)
class _Question:
    """One turn ready to be asked of one entry. ``most_tokens`` is its limit where tokens are counted, ``due_ns`` when
    it was due by a schedule, ``begun_late_ns`` how long after that it was ready, where it is the first turn."""

    target: Target
    endpoint: Endpoint
    request: HttpRequest
    turn: Turn
    total_s: float | None
    most_tokens: int | None
    due_ns: int | None
    begun_late_ns: int | None

    @property
    def wishes_usage(self) -> bool:
        """Whether we ask for usage at the end of the stream; what the entry itself states is left alone."""
        is_settled = "stream_options" in self.endpoint.body or _WITHOUT_USAGE in self.request.rewritten
        return not is_settled and b'"stream_options"' in self.request.body

    def wish_no_usage(self) -> None:
        """Build the request again without that wish, and note it."""
        endpoint = replace(self.endpoint, body={**self.endpoint.body, "stream_options": None})
        request = self.target.wire.request(self.turn, endpoint)
        self.request = structs.replace(request, rewritten=(*request.rewritten, _WITHOUT_USAGE))


@dataclass(slots=True, eq=False)
class Conversation:
    """Sends the turns of plays, for all plays of one run. ``rng`` only spreads waits, ``tools`` runs real tools.
    ``without_usage`` are the entries that take no ``stream_options``, ``behind_proxy`` the words of the proxy that lets
    nothing through to an account."""

    client: Client
    limiter: Limiter
    retry: RetryRules
    rng: random.Random
    scrubber: Scrubber
    run: str = ""
    lag: LoopLag = field(default_factory=LoopLag)
    tools: ToolRunner | None = None
    reading: asyncio.Lock = field(default_factory=asyncio.Lock)
    behind_proxy: dict[str, str] = field(default_factory=dict)
    without_usage: set[Name] = field(default_factory=set)

    async def record(self, item: WorkItem, block: int, due: Due | None = None) -> Record | None:
        """The record of one item, after all its turns, without a secret; ``None`` when the run takes nothing new.

        ``due``: when it was to begin by a schedule.
        """
        entry = item.target.entry
        try:
            turns = await self.play(item.suite.play(item.sample), item.target, item.total_s, due)
        except RunClosed:
            return None
        if not _was_sent(turns):
            # Nothing was sent, so nothing was awaited: many such records in a row must not block the loop.
            await asyncio.sleep(0)
        made = Record(
            run=self.run,
            model=entry.model,
            label=entry.label,
            vendor=entry.vendor,
            suite=item.suite.name,
            sample=item.sample.id,
            repetition=item.repetition,
            turns=turns,
            block=block,
            offered_s=None if due is None else due.offered_s,
            sample_name=None if (name := item.sample.tags.get("id")) is None else str(name),
        )
        answers = [attempt.response for turn in turns for attempt in turn.attempts if attempt.response is not None]
        if sum(answer.characters for answer in answers) > _MOST_READ_HERE:
            return await anyio.to_thread.run_sync(self.scrubber.record, made, item.sample.turn.tools)
        return self.scrubber.record(made, item.sample.turn.tools)

    async def play(
        self, play: AnyPlay, target: Target, total_s: float | None = None, due: Due | None = None
    ) -> tuple[TurnRecord, ...]:
        """Run one play to its end; ``total_s`` is the evaluation's own limit for a whole attempt.

        By a schedule every attempt is timed from when the play was due.

        Raises:
            RunClosed: nothing was sent, and no more permits are given.
        """
        due_ns = None if due is None else due.due_ns
        turns: list[TurnRecord] = []
        try:
            step = next(play)
            while True:
                if isinstance(step, Turn):
                    try:
                        turns.append(await self._send(step, target, total_s, due_ns, is_first=not turns))
                    except RunClosed:
                        if not _was_sent(turns):
                            raise
                        return (*turns, TurnRecord((Attempt(1, failure=_ENDED),)))
                    step = play.send(turns[-1].attempts[-1])
                    continue
                began_ns = time.perf_counter_ns()
                ran = await self._run_tools(step)
                # By a schedule: no vendor is late because of our tools.
                due_ns = None if due_ns is None else due_ns + time.perf_counter_ns() - began_ns
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
            return ToolRun(failure="real tools work only with `run` and `check`, in one process on this machine")
        ran = await self.tools.run(step.requests)
        # A tool that reads files must not hand one vendor the key of another.
        results = [structs.replace(each, text=self.scrubber.text(each.text)) for each in ran.results]
        return ToolRun(tuple(results), ran.failure)

    async def _send(
        self, turn: Turn, target: Target, total_s: float | None, due_ns: int | None, *, is_first: bool
    ) -> TurnRecord:
        entry = target.entry
        try:
            turn, endpoint = as_asked(turn, entry)
            request = target.wire.request(turn, endpoint)
            most_tokens = None if entry.tokens_per_minute is None else most_tokens_of(request.body)
        except Exception as error:  # noqa: BLE001 a plugin may raise anything; it must not take the other vendors along
            return TurnRecord((Attempt(1, failure=self._plugin_failure(error, "plan")),))
        if request.untranslatable:
            words = "this protocol cannot express: " + ", ".join(request.untranslatable)
            return TurnRecord((Attempt(1, failure=Failure.of("untranslatable", words)),))
        begun_late_ns = max(0, time.perf_counter_ns() - due_ns) if is_first and due_ns is not None else None
        question = _Question(target, endpoint, request, turn, total_s, most_tokens, due_ns, begun_late_ns)
        attempts = [await self._attempt(1, question)]
        if should_retry(attempts[0]):
            attempts = await self._retried(attempts[0], question)
        self.limiter.turn_ended(entry, attempts[-1])
        return TurnRecord(tuple(attempts), question.request.rewritten)

    async def _retried(self, first: Attempt, question: _Question) -> list[Attempt]:
        """``first`` and those after it, until one succeeds or fails for good, or the tries are used up."""
        # Most runs never come here, and loading it takes as long as a dozen requests.
        import tenacity

        entry, attempts = question.target.entry, list[Attempt]()

        def wait_s(_state: object) -> float:
            """The wait; failures of the whole account hold back all of it, also after the last try."""
            seconds, failure = wait_after(attempts, self.retry, self.rng), attempts[-1].failure
            if failure is not None and (failure.rules.pauses or failure.retry_after_s is not None):
                self.limiter.pause(entry, seconds, failure)
            return seconds

        retrying = tenacity.AsyncRetrying(
            retry=tenacity.retry_if_result(should_retry),
            stop=tenacity.stop_after_attempt(self.retry.retries + 1),
            wait=wait_s,
            sleep=partial(self.limiter.rest, entry),
            retry_error_callback=lambda _state: None,
        )
        async for tried in retrying:
            attempts.append(await self._attempt(len(attempts) + 1, question) if attempts else first)
            tried.retry_state.set_result(attempts[-1])
        # A retry that was not sent because the vendor was stopped: its last answer stays the outcome.
        is_stopped = _is_skipped(attempts[-1]) and attempts[-1].failure is not _ENDED
        return attempts[:-1] if is_stopped else attempts

    async def _attempt(self, number: int, question: _Question) -> Attempt:
        """An attempt with an answer, or with a failure that is not our doing."""
        # Without a schedule, waiting counts from the start of this attempt.
        scheduled_ns = time.perf_counter_ns() if question.due_ns is None else question.due_ns
        attempt = await self._send_once(number, question, scheduled_ns, fresh=False)
        if attempt is None:
            # A kept connection that ends as a request comes in is not a failure: HTTP lets either side close it.
            again = await self._send_once(number, question, scheduled_ns, fresh=True)
            assert again is not None
            return again if _is_skipped(again) else structs.replace(again, resent=True)
        if not refuses_usage(attempt, question.request.body) or not question.wishes_usage:
            return attempt
        # From now on it goes without our wish, so that nobody wins another try at hard samples by refusing it.
        self.without_usage.add((question.target.entry.model, question.target.entry.label))
        return await self._attempt(number, question)

    async def _send_once(self, number: int, question: _Question, scheduled_ns: int, *, fresh: bool) -> Attempt | None:
        """One request's attempt; None when its reused connection was closed under it. ``fresh``: on a connection of its
        own."""
        entry = question.target.entry
        ask = Ask(len(question.request.body), question.most_tokens)
        permit = await self.limiter.acquire(entry, ask)
        if permit == "closed" and number == 1:
            raise RunClosed
        if permit == "closed":
            return Attempt(number, failure=_ENDED)
        if permit == "stopped":
            # Where a proxy is in the way, the failure is the proxy's.
            if (words := self.behind_proxy.get(entry.account)) is not None:
                return Attempt(number, failure=Failure.of("proxy", words, phase="plan"))
            return Attempt(number, failure=Failure.of("skipped", "the vendor was stopped earlier in this run"))
        began_ns = time.perf_counter_ns()
        try:
            if (entry.model, entry.label) in self.without_usage and question.wishes_usage:
                question.wish_no_usage()
            meter, wire = ProgressMeter(question.target.wire.reader(question.turn.tools)), question.target.wire.name
            sending = Sending(question.request, meter, scheduled_ns, wire, question.total_s, fresh)
            exchange = await self.client.exchange(sending)
        except Exception as error:  # noqa: BLE001 as above: the plugin's reader runs inside
            return Attempt(number, failure=self._plugin_failure(error, "stream"))
        finally:
            self.limiter.release(entry)
        if exchange.lost and not fresh:
            self.limiter.attempt_ended(entry, Attempt(number, failure=exchange.failure, resent=True), ask)
            return None
        attempt = await self._read(number, question, exchange, scheduled_ns, began_ns)
        if attempt.failure is not None and stops_vendor(attempt.failure):
            wait_s = attempt.failure.retry_after_s or 0.0
            asked = f" (it asks to wait {wait_s:.0f} s)" if wait_s > _LONGEST_PAUSE_S else ""
            self.limiter.stop(entry, attempt.failure.message + asked)
            if attempt.failure.kind == "proxy":
                self.behind_proxy[entry.account] = attempt.failure.message
        self.limiter.attempt_ended(entry, attempt, ask)
        return attempt

    async def _read(
        self, number: int, question: _Question, exchange: Exchange, scheduled_ns: int, began_ns: int
    ) -> Attempt:
        begun_late_ns = question.begun_late_ns
        if exchange.scheduled_ns is None:
            late_ns = self.lag.lateness_ns(began_ns, time.perf_counter_ns())
        else:
            sent_ns = scheduled_ns - exchange.scheduled_ns
            # The most by which our stamps, from connecting to the end, may be late.
            late_ns = self.lag.lateness_ns(sent_ns - (exchange.connect_ns or 0), sent_ns + exchange.end_ns)
            if begun_late_ns is not None:
                # Our part of the time from due to sent: until it was ready, or a stall while it waited for its turn.
                begun_late_ns = max(begun_late_ns, self.lag.lateness_ns(scheduled_ns, sent_ns) or 0)
        read: Callable[[], Outcome] = partial(
            read_answer,
            exchange,
            question.target.wire.reader(question.turn.tools),
            tool_names=question.request.tool_names,
            classify=question.target.vendor.classify,
            asked_stream=question.turn.stream,
        )
        try:
            if takes_long(exchange):
                timing, response, failure = await anyio.to_thread.run_sync(read)
            elif exchange.status != 200:
                # What a refusal means must be known before the next is asked.
                timing, response, failure = read()
            else:
                async with self.reading:
                    # One answer in a round of the event loop, so that others are stamped when they come.
                    await asyncio.sleep(0)
                    timing, response, failure = read()
        except Exception as error:  # noqa: BLE001 as above
            return Attempt(number, failure=self._plugin_failure(error, "parse"))
        if failure is not None:
            # A failure's words go to screens and manifests as well as to the journal, which scrubs for itself.
            failure = structs.replace(failure, message=self.scrubber.text(failure.message))
        if response is not None and late_ns is not None and late_ns > STALL_NS:
            response = structs.replace(response, anomalies=(*response.anomalies, LOOP_LAG))
        timing = structs.replace(timing, our_lateness_ns=late_ns, begun_late_ns=begun_late_ns)
        return Attempt(number, timing, response, failure)

    def _plugin_failure(self, error: Exception, phase: Phase) -> Failure:
        """A bug on our side as a failure: it is counted as ours, never charged to the vendor."""
        where = traceback.extract_tb(error.__traceback__)[-1]
        words = f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"
        return Failure.of("harness", self.scrubber.text(words), phase=phase)


def _was_sent(turns: Sequence[TurnRecord]) -> bool:
    return any(attempt.timing for turn in turns for attempt in turn.attempts)


def _is_skipped(attempt: Attempt) -> bool:
    return attempt.failure is not None and attempt.failure.kind == "skipped"


def should_retry(attempt: Attempt) -> bool:
    """Whether this attempt's failure is worth another try."""
    failure = attempt.failure
    has_token = attempt.timing is not None and attempt.timing.first_token_ns is not None
    if failure is None or has_token:
        return False
    retried = failure.rules.retried
    return retried == "always" or (retried == "once" and attempt.number == 1)


def wait_after(attempts: Sequence[Attempt], rules: RetryRules, rng: random.Random) -> float:
    """Seconds to wait after the last of ``attempts``: 0.5 s doubling up to 8 s, with up to a quarter less at random, or
    longer if the vendor asks for it."""
    failure = attempts[-1].failure
    own_s = min(_FIRST_WAIT_S * 2.0 ** (len(attempts) - 1), _LONGEST_OWN_WAIT_S) * (1 - 0.25 * rng.random())
    asked_s = 0.0 if failure is None or failure.retry_after_s is None else failure.retry_after_s
    return min(max(own_s, asked_s), rules.max_wait_s)


def refuses_usage(attempt: Attempt, body: bytes) -> bool:
    """Whether this vendor takes no request that asks for usage at the end of a stream, which only we ask for. If
    ``body`` has a word of it more than once, it is in the question, too, and the refusal may quote that."""
    failure = attempt.failure
    if failure is None or failure.status not in (400, 422):
        return False
    wished = (name for name in ("stream_options", "include_usage") if body.count(name.encode()) == 1)
    return any(name in failure.message for name in wished)


def stops_vendor(failure: Failure) -> bool:
    """Whether nothing more should be asked of this entry: no key, no credit, also inside a 200, no way there, or a rate
    limit of hours. A 403 does not stop it: it is as often about one prompt as about the key."""
    asks_too_long = failure.rules.charge == "rate_limit" and (failure.retry_after_s or 0.0) > _LONGEST_PAUSE_S
    return asks_too_long or (failure.rules.stops and (failure.status != 403 or failure.rules.name == "no_credit"))
