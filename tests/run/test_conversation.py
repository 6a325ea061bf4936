"""A conversation with a vendor: real tools within it, plugins that raise, and a wish of ours that is refused.

The time of tools is nobody's, their failures are ours, and no secret passes through them.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio
import pytest
from asking import KEY, entry, kept_in, plan_of, queue_of, run, samples
from fault_server import DONE, FaultServer, Script, Seen, delta, say, stream, text, whole

from vendor_verifier.records.record import Record
from vendor_verifier.records.request import Endpoint, HttpRequest, ToolRequest, ToolResult, ToolRun, ToolRunner, Turn
from vendor_verifier.redaction import MASK, Scrubber
from vendor_verifier.run.local import run_local
from vendor_verifier.suites.mcp_live import McpLiveSuite
from vendor_verifier.wire.openai_chat import OpenAIChat

pytestmark = pytest.mark.anyio
GOOD = say(stream(text("hello"), DONE))
CALL = delta("tool_calls", tool_calls=[{"index": 0, "id": "c", "function": {"name": "a", "arguments": "{}"}}])


def calls_once(seen: Seen) -> Script:
    """A call, and a text once its result is there."""
    is_answered = seen.body["messages"][-1]["role"] == "tool"
    return say(stream(text("done"), DONE) if is_answered else stream(CALL, DONE))


@dataclass
class Runner:
    """Tools that take their time, noted on the clock of the server's log, and return or fail as told."""

    returned: str = "fine"
    failure: str | None = None
    took_s: float = 0.0
    spans: list[tuple[int, int]] = field(default_factory=list)

    async def run(self, requests: Sequence[ToolRequest]) -> ToolRun:
        if not requests:
            return ToolRun()
        began = time.perf_counter_ns()
        await anyio.sleep(self.took_s)
        self.spans.append((began, time.perf_counter_ns()))
        if self.failure is not None:
            return ToolRun(failure=self.failure)
        return ToolRun(tuple(ToolResult(each.name, "ok", self.returned) for each in requests))


async def records_of(server: FaultServer, runner: ToolRunner | None, count: int = 1) -> list[Record]:
    """The records of a vendor that calls a tool once in each sample."""
    asked, one = samples(count), entry(server, "v")
    records: list[Record] = []
    queue = queue_of([one], asked, suite=McpLiveSuite())
    await run_local(plan_of([one], asked), queue, "run", kept_in(records), Scrubber([KEY]), tools=runner)
    return records


async def test_time_in_tools_lies_between_the_requests() -> None:
    """The tool is run when the answer has come, the next request goes out when it is done, and nothing else waits."""
    async with FaultServer(calls_once) as server:
        runner = Runner(took_s=0.05)
        (record,) = await records_of(server, runner)
        ((began, ended),) = runner.spans
        first, second = server.seen
    assert first.sent_ns[-1] <= began <= ended <= second.at_ns
    (result,) = record.turns[0].tool_results
    assert result.text == "fine"
    assert record.turns[1].tool_results == ()
    assert second.body["messages"][-1]["content"] == "fine"


async def test_a_failed_server_ends_the_sample_as_our_failure() -> None:
    """The first answer stays in the record; no second question is asked."""
    async with FaultServer(calls_once) as server:
        (record,) = await records_of(server, Runner(failure=f"it hung with {KEY}"))
        assert len(server.seen) == 1
    assert record.turns[0].attempts[-1].succeeded
    final = record.final
    assert final is not None
    assert final.failure is not None
    assert (final.failure.kind, final.failure.rules.charge) == ("tool_server", "us")
    assert KEY not in final.failure.message


async def test_a_secret_in_a_result_reaches_no_vendor() -> None:
    """A tool that reads files must not hand one vendor the key of another."""
    async with FaultServer(calls_once) as server:
        (record,) = await records_of(server, Runner(returned=f"key={KEY}"))
        assert server.seen[1].body["messages"][-1]["content"] == f"key={MASK}"
    assert record.turns[0].tool_results[0].text == f"key={MASK}"


class BuggyReader:
    """A reader of somebody's plugin that falls over the first event."""

    def read(self, event: object, answer: object) -> None:
        raise LookupError(f"no idea; the key is {KEY}")

    read_body = read


@dataclass(frozen=True)
class BuggyWire:
    """A plugin with a bug, in what it asks or in what it reads."""

    where: str
    name: str = "openai"

    def request(self, turn: Turn, endpoint: Endpoint) -> HttpRequest:
        if self.where == "request":
            raise LookupError(f"no idea; the key is {KEY}")
        return OpenAIChat().request(turn, endpoint)

    def reader(self, tools: Any = (), /) -> Any:
        return BuggyReader()


@pytest.mark.parametrize("where", ["request", "reader"])
async def test_a_plugin_that_raises_is_our_failure(server: FaultServer, where: str) -> None:
    """A bug in one plugin is recorded as harness, by exception and line but without the key; the others go on."""
    server.answer = lambda _seen: GOOD
    good, bad = entry(server, "good"), entry(server, "bad")
    asked = samples(3)
    records: list[Record] = []
    work = queue_of([good, bad], asked, wires={"bad": BuggyWire(where)})
    await run_local(plan_of([good, bad], asked), work, "run", kept_in(records), Scrubber([KEY]))
    failures = [r.final.failure for r in records if r.label == "bad" and r.final]
    assert [failure.kind for failure in failures if failure] == ["harness"] * 3
    assert all(failure and "LookupError" in failure.message and KEY not in failure.message for failure in failures)
    assert [r.succeeded for r in records if r.label == "good"] == [True] * 3


# As OpenAI, FastAPI and Mistral word it.
REFUSALS: list[dict[str, Any]] = [
    {"error": {"message": "Unrecognized request argument supplied: stream_options", "code": "unknown_parameter"}},
    {
        "detail": [
            {"type": "extra_forbidden", "loc": ["body", "stream_options"], "msg": "Extra inputs are not permitted"}
        ]
    },
    {"message": "include_usage is not supported", "type": "invalid_request_error"},
]


def takes_none(refusal: dict[str, Any], status: int) -> Any:
    def answer(seen: Seen) -> Script:
        return say(whole(refusal, status)) if "stream_options" in seen.body else GOOD

    return answer


@pytest.mark.parametrize("refusal", REFUSALS)
@pytest.mark.parametrize("status", [400, 422])
async def test_it_is_asked_without_from_then_on(server: FaultServer, refusal: dict[str, Any], status: int) -> None:
    """One request at a time: one refusal, and every answer is a success at the first attempt, with a note."""
    server.answer = takes_none(refusal, status)
    ran = await run([entry(server, "a")], 5, request_concurrency=1)
    assert len(server.seen) == 6
    assert [len(turn.attempts) for record in ran.records for turn in record.turns] == [1] * 5
    assert all(record.succeeded for record in ran.records)
    assert {turn.rewritten for record in ran.records for turn in record.turns} == {("dropped:stream_options",)}


async def test_refusing_it_wins_one_other_try_and_no_more(server: FaultServer) -> None:
    """A vendor that blames it for every refusal is asked without once, and failed from then on."""
    server.answer = lambda _: say(whole(REFUSALS[0], 400))
    ran = await run([entry(server, "a")], 5, request_concurrency=1)
    assert len(server.seen) == 6
    assert not any(record.succeeded for record in ran.records)
