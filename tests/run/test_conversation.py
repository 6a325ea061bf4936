"""A conversation with a vendor: real tools within it, plugins that raise, and a wish of ours that is refused."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from asking import ALL, KEY, entry, run
from fault_server import DONE, FaultServer, Script, Seen, delta, say, stream, text, whole
from msgspec import structs

from vendor_verifier.features.mcp_live.suite import McpLiveSuite
from vendor_verifier.records.plan import Entry, as_asked
from vendor_verifier.records.record import Attempt, Failure, Record
from vendor_verifier.records.request import Endpoint, ToolRequest, ToolResult, ToolRun, ToolRunner, Turn
from vendor_verifier.redaction import MASK
from vendor_verifier.run.conversation import refuses_usage
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


async def record_of(server: FaultServer, runner: ToolRunner) -> Record:
    """The record of a vendor that calls a tool once."""
    server.answer = calls_once
    return (await run([entry(server, "v")], 1, suite=McpLiveSuite(), tools=runner)).records[0]


async def test_time_in_tools_lies_between_the_requests(server: FaultServer) -> None:
    """The tool is run when the answer has come, the next request goes out when it is done, and nothing else waits."""
    runner = Runner(took_s=0.05)
    record = await record_of(server, runner)
    ((began, ended),) = runner.spans
    first, second = server.seen
    assert first.sent_ns[-1] <= began <= ended <= second.at_ns
    (result,) = record.turns[0].tool_results
    assert result.text == "fine"
    assert record.turns[1].tool_results == ()
    assert second.body["messages"][-1]["content"] == "fine"


async def test_a_failed_server_ends_the_sample_as_our_failure(server: FaultServer) -> None:
    """The first answer stays in the record; no second question is asked."""
    record = await record_of(server, Runner(failure=f"it hung with {KEY}"))
    assert len(server.seen) == 1
    assert record.turns[0].attempts[-1].succeeded
    final = record.final
    assert final is not None
    assert final.failure is not None
    assert (final.failure.kind, final.failure.rules.charge) == ("tool_server", "us")
    assert KEY not in final.failure.message


async def test_a_secret_in_a_result_reaches_no_vendor(server: FaultServer) -> None:
    """A tool that reads files must not hand one vendor the key of another."""
    record = await record_of(server, Runner(returned=f"key={KEY}"))
    assert server.seen[1].body["messages"][-1]["content"] == f"key={MASK}"
    assert record.turns[0].tool_results[0].text == f"key={MASK}"


def _fails(*_: object) -> Any:
    raise LookupError(f"no idea; the key is {KEY}")


# Somebody's plugins with a bug, in what they ask or in what they read.
BUGGY: dict[str, Any] = {
    "request": SimpleNamespace(name="openai", request=_fails),
    "reader": SimpleNamespace(
        name="openai", request=OpenAIChat().request, reader=lambda *_: SimpleNamespace(read=_fails, read_body=_fails)
    ),
}


@pytest.mark.parametrize("where", BUGGY)
async def test_a_plugin_that_raises_is_our_failure(server: FaultServer, where: str) -> None:
    """A bug in one plugin is recorded as harness, by exception and line but without the key; the others go on."""
    server.answer = lambda _seen: GOOD
    ran = await run([entry(server, "good"), entry(server, "bad")], 3, wires={"bad": BUGGY[where]})
    assert (ran.kinds("bad"), ran.kinds("good")) == (["harness"] * 3, [None] * 3)
    failures = [record.final.failure for record in ran.of("bad") if record.final]
    assert all(failure and "LookupError" in failure.message and KEY not in failure.message for failure in failures)


def test_what_is_examined_is_not_replaced() -> None:
    """An entry's settings and body win over the sample's, under any name of a limit, but not over what is examined."""
    endpoint = Endpoint("http://127.0.0.1", "m", body={"max_tokens": 4096, "thinking": {"type": "on"}, "top_k": 1})
    given = Entry("model", "a", "plain", endpoint, "openai", "a", parameters={"max_tokens": 1000, "temperature": 0.3})
    turn, asked = as_asked(Turn((), parameters={"max_completion_tokens": 50, "temperature": 1}), given)
    assert (turn.parameters, asked) == ({"temperature": 0.3}, endpoint)
    endpoint = Endpoint("http://127.0.0.1", "m")
    turn, _ = as_asked(Turn((), parameters={"max_completion_tokens": 50}), structs.replace(given, endpoint=endpoint))
    assert turn.parameters == {"max_tokens": 1000, "temperature": 0.3}
    given = structs.replace(given, endpoint=Endpoint("http://127.0.0.1", "m", body=asked.body))
    turn, asked = as_asked(Turn((), parameters={"max_tokens": 1}, fixed=("max_tokens", "thinking")), given)
    assert (turn.parameters, asked.body) == ({"max_tokens": 1, "temperature": 0.3}, {"top_k": 1})


# As OpenAI, FastAPI and Mistral word it.
REFUSALS: list[dict[str, Any]] = [
    {"error": {"message": "Unrecognized request argument supplied: stream_options", "code": "unknown_parameter"}},
    {"detail": [{"type": "extra_forbidden", "loc": ["body", "stream_options"], "msg": "Extra inputs not permitted"}]},
    {"message": "include_usage is not supported", "type": "invalid_request_error"},
]


@pytest.mark.parametrize("refusal", REFUSALS)
@pytest.mark.parametrize("status", [400, 422])
async def test_it_is_asked_without_from_then_on(server: FaultServer, refusal: dict[str, Any], status: int) -> None:
    """One request at a time: one refusal, and every answer is a success at the first attempt, with a note."""
    server.answer = lambda seen: say(whole(refusal, status)) if "stream_options" in seen.body else GOOD
    ran = await run([entry(server, "a")], 5, request_concurrency=1)
    assert len(server.seen) == 6
    assert [len(turn.attempts) for record in ran.records for turn in record.turns] == [1] * 5
    assert all(record.succeeded for record in ran.records)
    assert {turn.rewritten for record in ran.records for turn in record.turns} == {("dropped:stream_options",)}


async def test_a_refusal_that_quotes_the_question_changes_nothing(server: FaultServer) -> None:
    server.answer = lambda _: say(whole(REFUSALS[2], 400))
    ran = await run([entry(server, "v")], 2, wires={"v": ALL["anthropic"]})
    assert not any("dropped:stream_options" in turn.rewritten for record in ran.records for turn in record.turns)
    refused = Attempt(1, failure=Failure("bad_request", "headers", "bad question: 'include_usage'", 400))
    assert not refuses_usage(refused, b'{"stream_options":{"include_usage":true},"x":"include_usage"}')


async def test_refusing_it_wins_one_other_try_and_no_more(server: FaultServer) -> None:
    """A vendor that blames it for every refusal is asked without once, and failed from then on."""
    server.answer = lambda _: say(whole(REFUSALS[0], 400))
    ran = await run([entry(server, "a")], 5, request_concurrency=1)
    assert len(server.seen) == 6
    assert not any(record.succeeded for record in ran.records)
