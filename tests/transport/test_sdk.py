"""Requests through the official SDKs: same bytes, same records; the SDK's own failures are recorded as failures."""

from __future__ import annotations

import time
from typing import Any

import pytest
from asking import KEY, QUICK
from fault_server import DONE, FaultServer, delta, event, say, stream, text, whole

from vendor_verifier.errors import UsageError
from vendor_verifier.records.record import Exchange, Failure, Response, Timing
from vendor_verifier.records.request import Endpoint, Turn
from vendor_verifier.transport.client import open_client
from vendor_verifier.transport.exchange import ProgressMeter, Sending
from vendor_verifier.wire.anthropic_messages import AnthropicMessages
from vendor_verifier.wire.base import Wire
from vendor_verifier.wire.openai_chat import OpenAIChat
from vendor_verifier.wire.openai_completions import OpenAICompletions
from vendor_verifier.wire.openai_responses import OpenAIResponses
from vendor_verifier.wire.parse_answer import read_answer

pytestmark = pytest.mark.anyio

TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}
TURN = Turn(({"role": "user", "content": "hi"},), (TOOL,), {"max_tokens": 20, "top_k": 3})
WHOLE = Turn(TURN.messages, parameters={"max_tokens": 20}, stream=False)


Read = tuple[Timing, Response | None, Failure | None]


async def exchange(server: FaultServer, wire: Wire | None = None, *, sdk: bool = True, turn: Turn = TURN) -> Exchange:
    wire = wire or OpenAIChat()
    asked = wire.request(turn, Endpoint(server.url(), "m", KEY, {"X-Team": "blue"}, {"vendor_extra": 1}))
    async with open_client("sdk" if sdk else "direct", QUICK, (wire.name,)) as client:
        return await client.exchange(Sending(asked, ProgressMeter(wire.reader()), time.perf_counter_ns(), wire.name))


async def both(server: FaultServer, wire: Wire | None = None, turn: Turn = TURN) -> tuple[Read, Read]:
    """What is read of the direct client's answer, and of the SDK's."""
    wire = wire or OpenAIChat()
    exchanges = [await exchange(server, wire, sdk=sdk, turn=turn) for sdk in (False, True)]
    direct, through = (read_answer(one, wire.reader(), asked_stream=turn.stream) for one in exchanges)
    return direct, through


ANTHROPIC: tuple[dict[str, Any], ...] = (
    {"type": "message_start", "message": {"id": "a", "type": "message", "role": "assistant", "model": "m",
     "content": [], "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 4, "output_tokens": 0}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hello"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None},
     "usage": {"output_tokens": 2}},
    {"type": "message_stop"},
)  # fmt: skip
MESSAGE = {
    "id": "i", "type": "message", "role": "assistant", "status": "completed",
    "content": [{"type": "output_text", "text": "hello", "annotations": []}],
}  # fmt: skip
USAGE = event({"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}})
CALL = {"index": 0, "id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
RESPONSES = (
    {"type": "response.output_text.delta", "item_id": "i", "output_index": 0, "content_index": 0, "delta": "hello"},
    {"type": "response.completed", "response": {"id": "r", "model": "m", "status": "completed", "output": [MESSAGE],
     "usage": {"input_tokens": 4, "output_tokens": 2, "total_tokens": 6}}},
)  # fmt: skip


def named(*events: dict[str, Any]) -> bytes:
    return b"".join(b"event: " + item["type"].encode() + b"\n" + event(item) for item in events)


CHAT = {"id": "i", "object": "chat.completion", "created": 1, "model": "m", "choices": [
    {"index": 0, "message": {"role": "assistant", "content": "hello"}, "finish_reason": "stop"}]}  # fmt: skip
COMPLETION = {"id": "i", "object": "text_completion", "created": 1, "model": "m",
    "choices": [{"index": 0, "text": "hello", "finish_reason": "stop", "logprobs": None}]}  # fmt: skip
CLAUDE = ANTHROPIC[0]["message"] | {"content": [{"type": "text", "text": "hello"}], "stop_reason": "end_turn"}


@pytest.mark.parametrize(
    ("wire", "turn", "answer"),
    [
        (OpenAIChat(), TURN, stream(text("hello", None), delta("tool_calls", tool_calls=[CALL]), USAGE, DONE)),
        (AnthropicMessages(), TURN, stream(named(*ANTHROPIC))), (OpenAIResponses(), TURN, stream(named(*RESPONSES))),
        (OpenAIChat(), WHOLE, whole(CHAT)), (AnthropicMessages(), WHOLE, whole(CLAUDE)),
        (OpenAICompletions(render=str), WHOLE, whole(COMPLETION)),
    ],
    ids=["chat", "anthropic", "responses", "whole chat", "whole anthropic", "whole completion"],
)  # fmt: skip
async def test_the_record_is_the_one_of_the_direct_client(
    server: FaultServer, wire: Wire, turn: Turn, answer: bytes
) -> None:
    """The same answer through an SDK and without one reads the same, and its timing has the same fields."""
    server.answer = lambda _seen: say(answer)
    direct, through = await both(server, wire, turn)
    assert through[1] is not None
    assert (through[1].text, through[2]) == ("hello", None)
    assert through[1:] == direct[1:]
    fields = [[name for name in Timing.__slots__ if getattr(each[0], name) is not None] for each in (direct, through)]
    assert fields[0] == fields[1]


@pytest.mark.parametrize("wire", [OpenAIChat(), OpenAIResponses(), AnthropicMessages()])
async def test_the_request_is_the_wires_with_the_sdks_own_marks(server: FaultServer, wire: Wire) -> None:
    """Body, address, key and extra headers are as without an SDK; its user agent and only its usual headers join."""
    await both(server, wire, Turn(TURN.messages, TURN.tools, {"max_tokens": 20}))
    direct, through = server.seen
    assert (through.path, through.body) == (direct.path, direct.body)
    for name in ("authorization", "x-api-key", "x-team", "host", "accept-encoding"):
        assert through.headers.get(name) == direct.headers.get(name)
    assert KEY in " ".join(through.headers.values())
    assert "python" in through.headers["user-agent"].lower()


async def test_nothing_of_the_environment_reaches_the_vendor(
    server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keys, organisations and headers that the SDKs take from variables are sent to nobody."""
    for name in (
        "OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_ADMIN_KEY",
        "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN",
    ):  # fmt: skip
        monkeypatch.setenv(name, "canary-environment")
    for name in ("OPENAI_CUSTOM_HEADERS", "ANTHROPIC_CUSTOM_HEADERS"):
        monkeypatch.setenv(name, "X-Canary: canary-environment\nAuthorization: canary-environment")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://canary-environment.invalid")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://canary-environment.invalid")
    await exchange(server, OpenAIChat())
    await exchange(server, AnthropicMessages())
    assert len(server.seen) == 2
    assert "canary-environment" not in str(server.seen)


async def test_a_wire_without_an_sdk_is_refused_before_anything() -> None:
    """Gemini has no client here: said at once, naming the wires that have one."""
    with pytest.raises(UsageError, match=r"gemini.*openai_responses"):
        async with open_client("sdk", QUICK, ["openai", "gemini"]):
            pass
