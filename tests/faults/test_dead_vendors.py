"""A vendor that is down, too fast for its limits or too dear ends where it should, and takes nobody along."""

from __future__ import annotations

import json
import resource
from collections import Counter
from typing import Any

import anyio
import pytest
from asking import entry, run
from costs import LONG_S, PATIENCE_S
from fault_server import DONE, FaultServer, Script, Seen, event, say, stream, text, whole
from made_values import replace
from workbench import ONCE, Bench, free_port

from vendor_verifier.errors import UsageError
from vendor_verifier.records.plan import Entry, LoadShape, Price, RetryRules
from vendor_verifier.records.record import Attempt, Failure, Response, Usage
from vendor_verifier.records.request import Endpoint
from vendor_verifier.run import limits
from vendor_verifier.run.budgets import Spending
from vendor_verifier.run.limits import DOWN_AFTER
from vendor_verifier.transport import connect

pytestmark = pytest.mark.anyio

GOOD = say(stream(text("hello"), DONE))
NO_RETRY = RetryRules(0)


async def test_a_vendor_that_is_down_is_stopped_and_the_rest_skipped(
    server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a number of samples in a row that found nobody the rest is skipped, each with a record; others finish."""
    monkeypatch.setattr(limits, "DOWN_AFTER_S", 0)
    server.answer = lambda _: GOOD
    down = entry(server, "down")
    down = replace(down, endpoint=replace(down.endpoint, base_url=f"http://127.0.0.1:{free_port()}"))
    ran = await run([down, entry(server, "b")], 60, retry=NO_RETRY, request_concurrency=2)
    kinds = Counter(ran.kinds("down"))
    assert kinds == {"connect_refused": kinds["connect_refused"], "skipped": 60 - kinds["connect_refused"]}
    assert DOWN_AFTER <= kinds["connect_refused"] <= DOWN_AFTER + 1
    assert ran.kinds("b") == [None] * 60
    assert list(ran.end.stopped) == ["down"]
    assert ran.end.stopped["down"].startswith("not reached for 10 samples in a row; last: connect_refused")


@pytest.mark.parametrize("load", [LoadShape(), LoadShape(request_rate=1000)], ids=["closed", "open"])
async def test_a_vendor_that_only_asks_to_wait_is_stopped(
    load: LoadShape, server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody waits for days; in an open loop, whose finding it is, every sample is asked."""
    monkeypatch.setattr(limits, "REFUSED_AFTER_S", 0)
    server.answer = lambda seen: GOOD if seen.number == 5 else say(whole({}, 500, retry_after_ms=1))
    ran = await run([entry(server, "a", concurrency=1)], 40, retry=NO_RETRY, load=load)
    kinds = Counter(ran.kinds("a"))
    # One was answered, so that the count began anew.
    most = 39 if load.is_open else 6 + DOWN_AFTER
    assert min(most, 5 + DOWN_AFTER) <= kinds["http_5xx"] <= most
    assert kinds["skipped"] == 39 - kinds["http_5xx"]
    assert ("a" in ran.end.stopped) is not load.is_open


async def test_a_rate_limited_account_gets_fewer_places_and_says_so(server: FaultServer) -> None:
    """An account that keeps refusing comes down to fewer requests at a time, another keeps its own."""
    late: list[int] = []

    def answer(seen: Seen) -> Script:
        if seen.vendor == "b":
            return GOOD
        late.append(server.in_flight["a"])
        return say(whole({}, 429, retry_after_ms=1))

    server.answer = answer
    slow = RetryRules(5, max_wait_s=0.01)
    ran = await run([entry(server, "a"), entry(server, "b")], 40, retry=slow, request_concurrency=8)
    assert list(ran.end.eased) == ["a"]
    given, lowest, last = ran.end.eased["a"]
    assert (given, lowest, last) == (8, 1, 1)
    assert max(late[-20:]) == 1
    assert ran.kinds("b") == [None] * 40
    assert ran.kinds("a") == ["rate_limited"] * 40


async def test_not_one_request_more_than_allowed(server: FaultServer) -> None:
    """``max_requests`` counts every attempt, retries too, and is exact. Each is in a record, and no retry that was not
    sent is charged; what was not asked has no record."""
    server.answer = lambda seen: GOOD if seen.number % 3 else say(whole({}, 500))
    ran = await run([entry(server, "a"), entry(server, "b")], 40, request_concurrency=7, max_requests=30)
    assert len(server.seen) == 30
    assert ran.end.limit == "--max-requests 30 was reached"
    sent = [attempt.timing for record in ran.records for attempt in record.turns[0].attempts if attempt.timing]
    assert len(ran.records) <= len(sent) == 30
    assert {*ran.kinds("a"), *ran.kinds("b")} <= {None, "skipped"}


def _attempt(**fields: Any) -> Attempt:
    return Attempt(1, response=Response(**fields))


@pytest.mark.parametrize("count", [1, 40])
async def test_costs_end_a_run(server: FaultServer, count: int) -> None:
    """A run stops when the costs of its answers reach the limit: only what was in flight goes beyond, and nobody waits
    for another try, not even where nothing else was left to be asked."""
    usage = event({"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 100}})
    refusal = say(whole({}, 500, retry_after=LONG_S))
    server.answer = lambda seen: refusal if seen.vendor == "waiting" else say(stream(text("hello"), usage, DONE))
    both = [entry(server, "a", price=Price(1_000, 1_000)), entry(server, "waiting")]
    limit, retry = {1: 0.1, 40: 1.0}[count], RetryRules(1, LONG_S)
    with anyio.fail_after(PATIENCE_S):
        ran = await run(both, count, request_concurrency=3, max_cost_usd=limit, retry=retry)
    assert min(5, count) <= ran.kinds("a").count(None) <= 5 + 3
    assert ran.end.limit.startswith(f"--max-cost {limit:g} was reached")


@pytest.mark.parametrize(
    ("attempt", "cost"),
    [
        (_attempt(usage=Usage(10, 20)), 30.0),
        (_attempt(usage=Usage(10, 20, cost_usd=0.5)), 0.5),
        # More than the bytes of both and what a model may have thought in secret is no usage and no cost.
        (_attempt(text="x" * 30, usage=Usage(2**52, 2**53)), 330.0 + 2 * 2**17),
        (_attempt(text="x" * 30, usage=Usage(cost_usd=1e9)), 330.0 + 2 * 2**17),
        (_attempt(text="x" * 30, usage=Usage(10, 2**17)), 10.0 + 2**17),
        (_attempt(text="x" * 30), 110.0),  # nobody said: 300 bytes asked, 30 answered, three to a token
        (_attempt(text="x" * 30, usage=Usage(10, None)), 110.0),
        (Attempt(1, failure=Failure("http_5xx", "headers", "no")), 0.0),
        (Attempt(1, response=Response(text="x" * 30), failure=Failure("truncated", "stream", "cut")), 110.0),
    ],
)
def test_what_an_attempt_costs(attempt: Attempt, cost: float) -> None:
    """As reported, else by tokens, else by length; what was refused costs nothing, what was cut does."""
    spending = Spending(max_cost_usd=1e9)
    one = Entry("model", "a", "plain", Endpoint("http://127.0.0.1:1", "m"), "openai", "a", price=Price(1e6, 1e6))
    spending.pay(one, attempt, 300)
    assert spending.cost_usd == cost


def test_too_few_open_files_are_reported_before_sending(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that could run out of file descriptors does not start, and says how to; a soft limit is raised."""
    raised: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _which: (256, 1024))
    monkeypatch.setattr(resource, "setrlimit", lambda _which, limits: raised.append(limits))
    connect.ensure_descriptors(100)
    assert raised == []
    connect.ensure_descriptors(500)
    assert raised == [(596, 1024)]
    with pytest.raises(UsageError, match=r"1000 requests at a time.*ulimit -n 1096.*--request-concurrency"):
        connect.ensure_descriptors(1000)


def test_a_run_ended_by_its_limit_says_so_and_can_go_on(bench: Bench) -> None:
    """Exit code 3, the reason on the screen, in the manifest and in the report; going on sends the rest."""
    bench.configure("official: faithful", "other: quantised", extra=ONCE)
    bench.samples(3)
    code, _, err = bench(*bench.words("run", "--history", "none", "--max-requests", "5"))
    assert code == 3
    assert "incomplete: --max-requests 5 was reached; continue with --incremental -o " in err
    assert err.count("incomplete: ") == 1, "no vendor is blamed"
    assert bench.kept() == 5
    manifest = bench.manifest()
    assert (manifest["status"], manifest["limit"]) == ("interrupted", "--max-requests 5 was reached")
    scores = json.loads((bench.folder / "run" / "scores.json").read_text())
    assert "The run ended early: --max-requests 5 was reached." in scores["warnings"]
    code, scores = bench.run("--history", "none", "--incremental")
    assert (code, bench.kept(), bench.manifest()["limit"]) == (0, 6, None)
    assert not any("ended early" in words for words in scores["warnings"])
