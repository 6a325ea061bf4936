"""A whole run against a server that misbehaves: who is asked when, what is recorded, and how it ends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import anyio
import pytest
from asking import entry, run, samples
from costs import LONG_S, PATIENCE_S, held_until, least_of
from fault_server import GOOD, FaultServer, Script, Seen, after, event, head, say, stream, text, whole
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vendor_verifier.records.plan import RetryRules

pytestmark = pytest.mark.anyio


def refusal(status: int, **headers: object) -> Script:
    return say(whole({"error": {"message": "no"}}, status, **headers))


def asked_of(seen: Seen) -> str:
    return str(seen.body["messages"][0]["content"])


def first_time(server: FaultServer, seen: Seen) -> bool:
    return sum(1 for one in server.by_vendor(seen.vendor) if asked_of(one) == asked_of(seen)) == 1


FATES: list[Callable[[], Script]] = [
    lambda: say(GOOD),
    lambda: refusal(500),
    lambda: refusal(400),
    lambda: refusal(429, retry_after_ms=1),
    lambda: say(end="close"),
    lambda: say(head(), end="close"),
    lambda: say(stream(text("x", None))),
    lambda: say(b"garbage\r\n\r\n", end="close"),
    lambda: say(whole(b"<html>", content_type="text/html")),
    lambda: say(stream(event({"error": {"code": 503, "message": "x"}}))),
]


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(fates=st.lists(st.integers(0, len(FATES) - 1), min_size=1, max_size=12), repeat=st.integers(1, 2))
async def test_every_item_gives_exactly_one_record(fates: list[int], repeat: int) -> None:
    """Whatever happens to the requests, each (vendor, sample, repetition) ends in one record with its attempts."""
    async with FaultServer(lambda seen: FATES[fates[seen.number % len(fates)]]()) as server:
        entries = [entry(server, label) for label in ("a", "b")]
        ran = await run(entries, 7, repeat=repeat)
        attempts = [attempt for record in ran.records for turn in record.turns for attempt in turn.attempts]
        # What met a connection that was closing was sent twice.
        assert len(attempts) + sum(attempt.resent for attempt in attempts) == len(server.seen)
    keys = [record.key for record in ran.records]
    expected = {
        ("run", "model", one.label, "trigger", s.id, n) for one in entries for s in samples(7) for n in range(repeat)
    }
    assert sorted(keys) == sorted(expected)


async def test_queueing_and_waiting_are_not_latency(server: FaultServer) -> None:
    """With one place and a retry wait each, every attempt's times are the server's; the queue is in scheduled."""
    server.answer = lambda seen: refusal(500, retry_after_ms=60) if first_time(server, seen) else after(0.03)

    async def longest_ns() -> float:
        server.seen.clear()
        ran = await run([entry(server, "a")], 6, request_concurrency=1, retry=RetryRules(1, 1.0))
        timings = [turn.attempts[-1].timing for record in ran.records for turn in record.turns]
        assert len(timings) == 6
        assert all(timing and timing.first_token_ns and timing.first_token_ns >= 28_000_000 for timing in timings)
        first_tries = [record.turns[0].attempts[0].timing for record in ran.records]
        assert min(timing.scheduled_ns or 0 for timing in first_tries if timing) < -30_000_000
        return max(timing.end_ns for timing in timings if timing)

    assert await least_of(longest_ns, 70_000_000) < 70_000_000


async def test_request_concurrency_is_kept_and_used(server: FaultServer) -> None:
    """By the server's own count never more than N requests of a vendor are in flight, and N are."""
    most = server.most_in_flight
    server.answer = lambda _: Script(held_until(lambda: most.get("a", 0) >= 4 and most.get("b", 0) >= 2, GOOD), "keep")
    await run([entry(server, "a"), entry(server, "b", concurrency=2)], 12, request_concurrency=4)
    assert server.most_in_flight == {"a": 4, "b": 2}


async def test_a_429_pauses_its_account_and_no_other(server: FaultServer) -> None:
    """After a 429 nothing is sent on that account for as long as was asked, while others go on."""

    def answer(seen: Seen) -> Script:
        is_first = server.by_vendor("a")[:1] == [seen]
        return refusal(429, retry_after="0.4") if is_first else after(0.01)

    server.answer = answer
    ran = await run([entry(server, "a"), entry(server, "b")], 10, request_concurrency=1, retry=RetryRules(2, 5.0))
    a, b = server.by_vendor("a"), server.by_vendor("b")
    assert a[1].at_ns - a[0].at_ns >= 400_000_000
    assert any(a[0].at_ns < one.at_ns < a[1].at_ns for one in b)
    assert ran.kinds("a") == [None] * 10


@pytest.mark.parametrize("accounts", ["ab", "aa"], ids=["an account each", "one account"])
@pytest.mark.parametrize(
    "answer",
    [refusal(401), refusal(402), say(whole({"base_resp": {"status_code": 1004, "status_msg": "no"}}))],
    ids=["401", "402", "no key inside a 200"],
)
async def test_a_useless_key_stops_one_entry(server: FaultServer, answer: Script, accounts: str) -> None:
    """The entry is asked no more than was in flight, the rest is recorded as skipped, and others finish, also those
    whose key works on the same account."""
    # While a refusal is being read, which may take long on a busy machine, its place is free for one more.
    server.answer = lambda seen: answer if seen.vendor == "a" else after(0.005)
    both = [entry(server, label, account=account) for label, account in zip("ab", accounts, strict=True)]
    ran = await run(both, 40, request_concurrency=3)
    assert len(server.by_vendor("a")) <= 2 * 3
    assert Counter(ran.kinds("a"))["skipped"] == 40 - len(server.by_vendor("a"))
    assert ran.kinds("b") == [None] * 40
    assert ran.end.refused == {("model", "a"): "no"}
    assert ran.end.stopped == ({"a": "no"} if accounts == "ab" else {})


async def test_a_stop_while_resting_keeps_what_the_vendor_said(server: FaultServer) -> None:
    """A sample that waits for its retry when its vendor is stopped ends at once, by the failure it had."""

    def answer(seen: Seen) -> Script:
        # Held back until the other has been asked: a refusal that names a wait holds back the whole account.
        late = held_until(lambda: len(server.seen) == 2, whole({"error": {}}, 500, retry_after=LONG_S))
        return Script(late, "keep") if asked_of(seen) == "0" else after(0.1, whole({}, 401))

    server.answer = answer
    with anyio.fail_after(PATIENCE_S):
        ran = await run([entry(server, "a")], 2, request_concurrency=2, retry=RetryRules(3, LONG_S))
    assert sorted(map(str, ran.kinds("a"))) == ["auth", "http_5xx"]
    assert all(len(record.turns[0].attempts) == 1 for record in ran.records)


@pytest.mark.parametrize("limit", [1, 2])
async def test_vendor_concurrency_is_kept_and_blocks_rotate(server: FaultServer, limit: int) -> None:
    """Never more than N vendors are in flight, and no vendor is done before every other has had a block."""
    server.answer = lambda _: after(0.002)
    labels = ["a", "b", "c", "d"]
    ran = await run([entry(server, label) for label in labels], 60, vendor_concurrency=limit, request_concurrency=9)
    assert server.most_vendors_in_flight == limit
    assert Counter(record.label for record in ran.records) == dict.fromkeys(labels, 60)
    last = {label: server.by_vendor(label)[-1].number for label in labels}
    begun = {label: server.by_vendor(label)[0].number for label in labels}
    assert max(begun.values()) < min(last.values())
    # Half-way through, nobody is more than the blocks under way ahead of anybody.
    half = Counter(seen.vendor for seen in server.seen[: len(server.seen) // 2])
    assert max(half.values()) - min(half[label] for label in labels) <= 50


async def test_the_order_is_one_for_all_and_blocks_are_labels(server: FaultServer) -> None:
    """However far vendors drift, a sample has the same block number with each, and 25 samples have one."""
    # Nobody is answered before all places are taken: what is asked first is what was taken first.
    server.answer = lambda seen: (
        Script(held_until(lambda: len(server.seen) >= 10, GOOD), "keep")
        if seen.number < 10
        else after(0.01 if seen.vendor == "slow" else 0)
    )
    ran = await run([entry(server, "fast"), entry(server, "slow")], 110, request_concurrency=5)
    blocks = {label: {record.sample: record.block for record in ran.of(label)} for label in ("fast", "slow")}
    assert blocks["fast"] == blocks["slow"]
    assert Counter(blocks["fast"].values()) == {0: 25, 1: 25, 2: 25, 3: 25, 4: 10}
    first = {label: [asked_of(seen) for seen in server.by_vendor(label)[:5]] for label in ("fast", "slow")}
    assert sorted(first["fast"]) == sorted(first["slow"])
