"""Whatever the others do, every vendor has as many requests in flight as were asked for, by the server's own log.

Seconds are those of a clock that jumps from timer to timer: a run of minutes takes a moment.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache

import pytest
from asking import Ran, entry, run
from fault_server import DONE, Seen, stream, text, whole
from jumping_loop import SleepingServer, asked_in, run_jumping

from vendor_verifier.records.plan import Limits, RetryRules

GOOD = stream(text("hello"), DONE)
LIMITS = Limits(connect_s=10, first_token_s=60, idle_s=60, total_s=300)
PLACES, SAMPLES = 10, 250


def sleep_s(seen: Seen) -> float:
    """20 to 50 ms, by sample."""
    return 0.02 + 0.03 * random.Random(asked_in(seen)).random()


def lot(seen: Seen) -> float:
    """0 to 1, by sample and vendor."""
    return random.Random(f"{seen.vendor} {asked_in(seen)}").random()


def healthy(seen: Seen) -> tuple[float, bytes] | None:
    return sleep_s(seen), GOOD


def mute(seen: Seen) -> tuple[float, bytes] | None:
    """Never answers 2 % of its samples."""
    return None if lot(seen) < 0.02 else healthy(seen)


def slow(seen: Seen) -> tuple[float, bytes] | None:
    """Takes 20 s for 1 % of its samples."""
    return (20.0 if lot(seen) < 0.01 else sleep_s(seen)), GOOD


def limiting(seen: Seen) -> tuple[float, bytes] | None:
    """Answers 429 to the first try of every tenth sample, and asks for two seconds."""
    if seen.nth == 0 and lot(seen) < 0.1:
        return 0.005, whole({"error": {"message": "slow down"}}, 429, retry_after=2)
    return healthy(seen)


KINDS = {"good": healthy, "mute": mute, "slow": slow, "limiting": limiting}
Answer = Callable[[Seen], "tuple[float, bytes] | None"]


@cache
def asked(*vendors: str, **plan: object) -> tuple[SleepingServer, Ran]:
    """A run of these vendors, named by their kinds, together; the log is the same each time."""

    async def whole_run() -> tuple[SleepingServer, Ran]:
        async with SleepingServer(lambda seen: KINDS[seen.vendor.rstrip("1234")](seen)) as server:
            entries = [entry(server, vendor) for vendor in vendors]  # type: ignore[arg-type]
            settings = {"limits": LIMITS, "retry": RetryRules(2, 60.0), "request_concurrency": PLACES} | plan
            return server, await run(entries, SAMPLES, **settings)

    return run_jumping(whole_run())


@pytest.mark.parametrize("other", ["mute", "slow", "limiting"])
def test_a_healthy_vendor_takes_as_long_beside_another_as_alone(other: str) -> None:
    """Beside one that never answers 2 %, one with 1 % very slow answers, one that answers 429: at most 1.1 times."""
    alone, _ = asked("good")
    together, ran = asked("good", other)
    assert together.took_ns("good") <= 1.1 * alone.took_ns("good")
    assert together.mean_in_flight("good") >= 0.95 * PLACES
    assert len(ran.of("good")) == len(ran.of(other)) == SAMPLES


def test_the_group_that_may_be_asked_keeps_its_places_full() -> None:
    """With two slots for four vendors, six requests are in flight until the last sample is sent, ends of turns too."""
    server, ran = asked("good1", "good2", "good3", "good4", vendor_concurrency=2, request_concurrency=3)
    assert server.mean_in_flight("good1", "good2", "good3", "good4") >= 0.95 * 2 * 3
    assert len(ran.records) == 4 * SAMPLES


def test_entries_of_one_account_share_its_places_evenly() -> None:
    """Three entries with one key and five places, one three times as slow: each has about a third of the places."""

    async def whole_run() -> SleepingServer:
        async with SleepingServer(lambda seen: (0.15 if seen.vendor == "slow" else 0.05, GOOD)) as server:
            entries = [entry(server, label, account="one") for label in ("good1", "good2", "slow")]  # type: ignore[arg-type]
            await run(entries, SAMPLES, limits=LIMITS, request_concurrency=5)
            return server

    server = run_jumping(whole_run())
    # While all three have something left to ask.
    end_ns = min(server.by_vendor(label)[-1].at_ns for label in ("good1", "good2", "slow"))
    for label in ("good1", "good2", "slow"):
        assert 0.85 * 5 / 3 <= server.mean_in_flight(label, end_ns=end_ns) <= 1.2 * 5 / 3


def paced(answer: Answer) -> tuple[float, float, float]:
    """Seconds until the baseline's last request and the other's, and the other's alone; the baseline is asked twice."""

    async def last_s(repeats: int) -> list[float]:
        async with SleepingServer(lambda seen: answer(seen) if seen.vendor == "base" else (0.05, GOOD)) as server:
            both = [entry(server, "base", is_baseline=True), entry(server, "good")]  # type: ignore[arg-type]
            await run(both, SAMPLES, limits=LIMITS, retry=RetryRules(1, 1.0), baseline_repeats=repeats)
            return [server.by_vendor(each)[-1].at_ns / 1e9 for each in ("base", "good")]

    (base, good), (_, free) = run_jumping(last_s(2)), run_jumping(last_s(1))
    return base, good, free


@pytest.mark.parametrize("seconds", [0.05, 0.5])
def test_a_baseline_that_is_asked_twice_ends_together_with_the_others(seconds: float) -> None:
    """As fast as they or ten times as slow: its second half is not asked alone."""
    base, good, _ = paced(lambda _seen: (seconds, GOOD))
    assert 0.9 * base <= good <= base


def test_a_failing_baseline_holds_nobody_back() -> None:
    refusal = whole({"error": {"message": "no"}}, 500)
    _, good, free = paced(lambda _seen: (2.0, refusal))
    assert good <= free + 30
