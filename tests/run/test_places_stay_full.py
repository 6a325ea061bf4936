"""Whatever the others do, every vendor has as many requests in flight as were asked for, by the server's own log.

The clock of the event loop jumps to the next timer when nothing else is left to do: a run of minutes takes a moment,
and how long the computing between two timers takes decides nothing.
"""

from __future__ import annotations

import asyncio
import math
import random
import selectors
from collections.abc import Callable
from functools import cache
from typing import Any
from unittest.mock import patch

import pytest
from asking import Ran, entry, run
from fault_server import FaultServer, Script, Seen, after, whole

from vendor_verifier.records.plan import Entry, Limits, RetryRules
from vendor_verifier.run import event_loop

Asked = tuple[FaultServer, Ran]
LIMITS = Limits(connect_s=10, first_token_s=60, idle_s=60, total_s=300)
PLACES, SAMPLES = 10, 200
# In truth, for what is on its way from one socket of this process to another.
_GRACE_S = 0.0002


class _Patient(selectors.DefaultSelector):  # type: ignore[valid-type,misc]
    """Jumps instead of waiting: when nothing is ready, the clock is put forward by the time-out."""

    jumped_s = 0.0

    def select(self, timeout: float | None = None) -> Any:
        if timeout is None or timeout <= 0:
            return super().select(timeout)
        ready = super().select(min(timeout, _GRACE_S))
        if not ready:
            self.jumped_s += timeout
        return ready


class JumpingLoop(asyncio.SelectorEventLoop):
    """Its clock moves by jumps only."""

    def __init__(self) -> None:
        self._patient = _Patient()
        super().__init__(self._patient)
        self._clock_resolution = 1e-9

    def time(self) -> float:
        return self._patient.jumped_s


def asked_by(answer: Callable[[Seen], Script], entries: Callable[[FaultServer], list[Entry]], **plan: Any) -> Asked:
    """The server's log of a run, and the run, on a loop of its own, by whose clock limits are counted as well."""

    async def whole_run() -> Asked:
        async with FaultServer(answer) as server:
            return server, await run(entries(server), SAMPLES, **{"limits": LIMITS} | plan)

    with asyncio.Runner(loop_factory=JumpingLoop) as runner:
        loop = runner.get_loop()
        # Each tick of the watch over the loop would be a jump of its own.
        with patch("time.perf_counter_ns", lambda: int(loop.time() * 1e9)), patch.object(event_loop, "TICK_S", 5.0):
            return runner.run(whole_run())


def took_ns(server: FaultServer, vendor: str) -> float:
    """From the vendor's first request to the end of its last."""
    visits = server.by_vendor(vendor)
    return max(seen.went_ns for seen in visits) - visits[0].at_ns


def mean_in_flight(server: FaultServer, *vendors: str, end_ns: float = math.inf) -> float:
    """Mean number of requests here, from the vendors' first request until the last sample has been sent once."""
    visits = [seen for seen in server.seen if seen.vendor in vendors]
    last = {(seen.vendor, asked_in(seen)): seen.at_ns for seen in reversed(visits)}
    begin, end = visits[0].at_ns, min(end_ns, max(last.values()))
    return sum(min(seen.went_ns, end) - min(seen.at_ns, end) for seen in visits) / (end - begin)


def asked_in(seen: Seen) -> str:
    """The question of a request."""
    return str(seen.body["messages"][0]["content"])


def healthy(seen: Seen) -> Script:
    """20 to 50 ms, by sample."""
    return after(0.02 + 0.03 * random.Random(asked_in(seen)).random())


def lot(seen: Seen) -> float:
    """0 to 1, by sample and vendor."""
    return random.Random(f"{seen.vendor} {asked_in(seen)}").random()


# One never answers 2 % of its samples, one takes 20 s for 1 %, one answers 429 to 10 % and asks for two seconds.
KINDS: dict[str, Callable[[Seen], Script]] = {
    "good": healthy,
    "mute": lambda seen: Script((), "hang") if lot(seen) < 0.02 else healthy(seen),
    "slow": lambda seen: after(20.0) if lot(seen) < 0.01 else healthy(seen),
    "limiting": lambda seen: after(0.005, LIMITED) if seen.nth == 0 and lot(seen) < 0.1 else healthy(seen),
}
LIMITED = whole({"error": {"message": "slow down"}}, 429, retry_after=2)


@cache
def asked(*vendors: str, **plan: object) -> Asked:
    """A run of these vendors, named by their kinds, together; the log is the same each time."""
    tries: dict[tuple[str, str], int] = {}

    def answer(seen: Seen) -> Script:
        question = (seen.vendor, asked_in(seen))
        seen.nth = tries[question] = tries.get(question, -1) + 1
        return KINDS[seen.vendor.rstrip("1234")](seen)

    settings = {"retry": RetryRules(2, 60.0), "request_concurrency": PLACES, **plan}
    return asked_by(answer, lambda server: [entry(server, vendor) for vendor in vendors], **settings)


@pytest.mark.parametrize("other", ["mute", "slow", "limiting"])
def test_a_second_vendor_does_not_slow_a_healthy_one(other: str) -> None:
    """Beside one that never answers 2 %, one with 1 % very slow answers, one that answers 429: at most 1.1 times."""
    alone, _ = asked("good")
    together, ran = asked("good", other)
    assert took_ns(together, "good") <= 1.1 * took_ns(alone, "good")
    assert mean_in_flight(together, "good") >= 0.95 * PLACES
    assert len(ran.of("good")) == len(ran.of(other)) == SAMPLES


def test_the_group_that_may_be_asked_keeps_its_places_full() -> None:
    """With two slots for four vendors, six requests are in flight until the last sample is sent, ends of turns too."""
    server, ran = asked("good1", "good2", "good3", "good4", vendor_concurrency=2, request_concurrency=3)
    assert mean_in_flight(server, "good1", "good2", "good3", "good4") >= 0.95 * 2 * 3
    assert len(ran.records) == 4 * SAMPLES


def test_entries_of_one_account_share_its_places_evenly() -> None:
    """Three entries with one key and five places, one three times as slow: each has about a third of the places."""
    labels = ("good1", "good2", "slow")
    server, _ = asked_by(
        lambda seen: after(0.15 if seen.vendor == "slow" else 0.05),
        lambda server: [entry(server, label, account="one") for label in labels],
        request_concurrency=5,
    )
    # While all three have something left to ask.
    end_ns = min(server.by_vendor(label)[-1].at_ns for label in labels)
    for label in labels:
        assert 0.85 * 5 / 3 <= mean_in_flight(server, label, end_ns=end_ns) <= 1.2 * 5 / 3


def paced(*answer: Any, repeats: int = 2) -> tuple[float, float]:
    """Seconds until the baseline's last request and the other's."""
    server, _ = asked_by(
        lambda seen: after(*answer) if seen.vendor == "base" else after(0.05),
        lambda server: [entry(server, "base", is_baseline=True), entry(server, "good")],
        retry=RetryRules(1, 1.0), baseline_repeats=repeats,
    )  # fmt: skip
    return server.by_vendor("base")[-1].at_ns / 1e9, server.by_vendor("good")[-1].at_ns / 1e9


@pytest.mark.parametrize("seconds", [0.05, 0.5])
def test_a_baseline_asked_twice_ends_with_the_others(seconds: float) -> None:
    """As fast as they or ten times as slow: its second half is not asked alone."""
    base, good = paced(seconds)
    assert 0.9 * base <= good <= base


def test_a_failing_baseline_holds_nobody_back() -> None:
    refusal = whole({"error": {"message": "no"}}, 500)
    assert paced(2.0, refusal)[1] <= paced(0.05, repeats=1)[1] + 30
