"""Real tools within a conversation: their time is nobody's, their failures are ours, and no secret passes through."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import anyio
import pytest
from asking import KEY, entry, kept_in, plan_of, queue_of, samples
from fault_server import DONE, FaultServer, Script, Seen, delta, say, stream, text

from vendor_verifier.records.record import Record
from vendor_verifier.records.request import ToolRequest, ToolResult, ToolRun, ToolRunner
from vendor_verifier.redaction import MASK, Scrubber
from vendor_verifier.run.local import run_local
from vendor_verifier.suites.mcp_live import McpLiveSuite

pytestmark = pytest.mark.anyio
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
