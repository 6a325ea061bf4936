"""Requests through the official SDKs: same bytes, same records; the SDK's own failures are told as failures."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping
from typing import Any

import anyio
import pytest
from costs import PATIENCE_S, least_of
from fault_server import DONE, FaultServer, Script, chunk, delta, event, head, say, stream, text, whole

from vendor_verifier.errors import UsageError
from vendor_verifier.records.plan import Limits
from vendor_verifier.records.record import Exchange, Failure, Response, Timing
from vendor_verifier.records.request import Endpoint, HttpRequest, Turn
from vendor_verifier.transport import sdk_adapter, sdk_client
from vendor_verifier.transport.client import FastTransport, open_client
from vendor_verifier.transport.policy import ProgressMeter, Sending
from vendor_verifier.transport.sdk_adapter import arguments_for, open_stream, require_sdks
from vendor_verifier.transport.sdk_client import SdkTransport
from vendor_verifier.wire.anthropic_messages import AnthropicMessages
from vendor_verifier.wire.base import Wire
from vendor_verifier.wire.openai_chat import OpenAIChat
from vendor_verifier.wire.openai_responses import OpenAIResponses
from vendor_verifier.wire.parse_answer import read_answer

pytestmark = pytest.mark.anyio

KEY = "canary-key-0123456789"
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}
TURN = Turn(({"role": "user", "content": "hi"},), (TOOL,), {"max_tokens": 20, "top_k": 3})
USAGE = event({"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}})
CALL = {"index": 0, "id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}


def request(server: FaultServer, wire: Wire, turn: Turn = TURN) -> HttpRequest:
    return wire.request(turn, Endpoint(server.url(), "m", KEY, {"X-Team": "blue"}, {"vendor_extra": 1}))


async def exchange(server: FaultServer, wire: Wire | None = None, *, sdk: bool = True, turn: Turn = TURN) -> Exchange:
    wire = wire or OpenAIChat()
    async with open_client("sdk" if sdk else "direct", Limits(total_s=PATIENCE_S), (wire.name,)) as transport:
        asked = request(server, wire, turn)
        return await transport.exchange(Sending(asked, ProgressMeter(wire.reader()), time.perf_counter_ns(), wire.name))


def read(exchanged: Exchange, wire: Wire | None = None) -> tuple[Timing, Response | None, Failure | None]:
    return read_answer(exchanged, (wire or OpenAIChat()).reader())


ANTHROPIC = (
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
RESPONSES = (
    {"type": "response.output_text.delta", "item_id": "i", "output_index": 0, "content_index": 0, "delta": "hello"},
    {"type": "response.completed", "response": {"id": "r", "model": "m", "status": "completed", "output": [MESSAGE],
     "usage": {"input_tokens": 4, "output_tokens": 2, "total_tokens": 6}}},
)  # fmt: skip


def named(*events: dict[str, Any]) -> bytes:
    return b"".join(b"event: " + item["type"].encode() + b"\n" + event(item) for item in events)


@pytest.mark.parametrize(
    ("wire", "pieces"),
    [
        (OpenAIChat(), [text("hello", None), delta("tool_calls", tool_calls=[CALL]), USAGE, DONE]),
        (AnthropicMessages(), [named(*ANTHROPIC)]),
        (OpenAIResponses(), [named(*RESPONSES)]),
    ],
)
async def test_the_record_is_the_one_of_the_direct_client(server: FaultServer, wire: Wire, pieces: list[bytes]) -> None:
    """The same answer through an SDK and without one reads the same, and its timing has the same fields."""
    server.answer = lambda _seen: say(stream(*pieces))
    direct_timing, direct, direct_failure = read(await exchange(server, wire, sdk=False), wire)
    timing, response, failure = read(await exchange(server, wire), wire)
    assert response is not None
    assert (response, failure) == (direct, direct_failure)
    assert (failure, response.text) == (None, "hello")
    measured = [name for name in Timing.__slots__ if getattr(timing, name) is not None]
    assert measured == [name for name in Timing.__slots__ if getattr(direct_timing, name) is not None]


@pytest.mark.parametrize("wire", [OpenAIChat(), OpenAIResponses(), AnthropicMessages()])
async def test_the_request_is_the_wires_with_the_sdks_own_marks(server: FaultServer, wire: Wire) -> None:
    """Body, address, key and extra headers are as without an SDK; its user agent and only its usual headers join."""
    turn = Turn(TURN.messages, TURN.tools, {"max_tokens": 20})
    await exchange(server, wire, sdk=False, turn=turn)
    await exchange(server, wire, turn=turn)
    direct, through = server.seen
    assert through.path == direct.path
    assert through.body == direct.body
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


async def test_an_sdk_that_raises_on_a_readable_answer_fails_the_attempt_by_name(server: FaultServer) -> None:
    """One event of words that are no JSON: our reader goes on, an application on the SDK gets a JSONDecodeError."""
    server.answer = lambda _seen: say(stream(text("hello", None), b"data: oops\n\n", text(" you"), DONE))
    assert read(await exchange(server, sdk=False))[2] is None
    exchanged = await exchange(server)
    _, response, failure = read(exchanged)
    assert failure is not None
    assert (failure.kind, failure.phase, failure.status) == ("bad_payload", "parse", 200)
    assert "openai SDK" in failure.message
    assert "JSONDecodeError" in failure.message
    assert response is not None
    assert response.text == "hello you"


async def test_an_answer_of_which_the_sdk_yields_nothing_is_a_failure(server: FaultServer) -> None:
    """Plain JSON to a stream request: we read it, the SDK's stream is silently empty."""
    body = {"choices": [{"index": 0, "message": {"content": "hello"}, "finish_reason": "stop"}]}
    server.answer = lambda _seen: say(whole(body))
    assert read(await exchange(server, sdk=False))[2] is None
    failure = read(await exchange(server))[2]
    assert failure is not None
    assert failure.kind == "bad_payload"
    assert "yielded nothing" in failure.message


async def test_an_error_inside_the_stream_keeps_its_own_kind(server: FaultServer) -> None:
    """The SDK raises there too, but what happened is the vendor's error, and retries follow its code."""
    error = event({"error": {"message": "busy", "code": 503}})
    server.answer = lambda _seen: say(stream(text("hello", None), error))
    failure = read(await exchange(server))[2]
    assert failure is not None
    assert (failure.kind, failure.status) == ("api_error_in_200", 503)


async def test_a_refusal_is_read_as_without_an_sdk_and_never_retried(server: FaultServer) -> None:
    """One 429 is one request, with the vendor's wait."""
    server.answer = lambda _seen: say(whole({"error": {"message": "slow down"}}, 429, Retry_After=7))
    failure = read(await exchange(server))[2]
    assert failure is not None
    assert (failure.kind, failure.retry_after_s, failure.message) == ("rate_limited", 7, "slow down")
    assert len(server.seen) == 1


async def test_a_redirect_is_not_followed(server: FaultServer) -> None:
    """The prompt and the key go to the configured address only, whatever the SDK's own habit."""
    server.answer = lambda _seen: say(whole(b"", 307, Location=server.url("elsewhere") + "/chat/completions"))
    failure = read(await exchange(server))[2]
    assert failure is not None
    assert failure.kind == "redirect"
    assert len(server.seen) == 1


@pytest.mark.parametrize("steps", [[], [(0.0, head() + chunk(text("hel", None)))]])
async def test_a_break_of_the_transport_stays_what_it_was(
    server: FaultServer, steps: list[tuple[float, bytes]]
) -> None:
    """Closed before or in the middle of the answer: the kind is the network's, not the SDK's exception."""
    server.answer = lambda _seen: Script(steps, "close")
    direct = read(await exchange(server, sdk=False))
    through = read(await exchange(server))
    assert direct[2] is not None
    assert through[2] is not None
    assert (through[2].kind, through[2].phase) == (direct[2].kind, direct[2].phase)
    assert through[1] == direct[1]


async def test_what_the_sdk_takes_is_in_no_time(server: FaultServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """An SDK that dawdles over every item moves neither a token nor the end: bytes are stamped as they arrive."""

    async def slow_stream(client: Any, wire: str, body: Mapping[str, Any]) -> AsyncIterator[Any]:
        return _late(await open_stream(client, wire, body))

    async def _late(items: AsyncIterator[Any]) -> AsyncIterator[Any]:
        async for item in items:
            await anyio.sleep(0.1)
            yield item

    monkeypatch.setattr(sdk_client, "open_stream", slow_stream)
    server.answer = lambda _seen: say(stream(text("one ", None), text("two"), DONE))

    async def end_ns() -> float:
        timing = read(await exchange(server))[0]
        assert timing.first_token_ns is not None
        assert timing.last_token_ns is not None
        assert timing.first_token_ns <= timing.last_token_ns <= timing.end_ns
        return timing.end_ns

    assert await least_of(end_ns, 100_000_000) < 100_000_000


async def test_a_request_the_sdk_cannot_send_is_not_the_vendors_failure(server: FaultServer) -> None:
    """A lone surrogate in a prompt: the SDK gives up before the network, and that is said."""
    turn = Turn(({"role": "user", "content": "\ud800"},))
    exchanged = await exchange(server, turn=turn)
    assert exchanged.failure is not None
    assert exchanged.failure.kind == "harness"
    assert "UnicodeEncodeError" in exchanged.failure.message
    assert server.seen == []


async def test_an_answer_in_one_piece_is_asked_for_and_read_in_one_piece(server: FaultServer) -> None:
    """Without streaming the SDK's own parsing is in the way, and the record is the direct client's, too."""
    body = {"id": "i", "object": "chat.completion", "created": 1, "model": "m", "choices": [
        {"index": 0, "message": {"role": "assistant", "content": "hello"}, "finish_reason": "stop"}]}  # fmt: skip
    server.answer = lambda _seen: say(whole(body))
    turn = Turn(TURN.messages, stream=False)
    direct = read(await exchange(server, sdk=False, turn=turn))
    through = read(await exchange(server, turn=turn))
    assert through[1:] == direct[1:]
    assert through[2] is None
    assert not server.seen[1].body.get("stream")


@pytest.mark.parametrize("wire", sorted(sdk_adapter.SDK_OF_WIRE))
async def test_every_sdk_is_made_ready_before_the_first_request(wire: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Entering the transport runs each wire's reading once, on canned bytes: events come, and nothing is sent."""
    yielded: list[object] = []

    async def watched(client: Any, wire: str, body: Mapping[str, Any]) -> AsyncIterator[Any]:
        items = [item async for item in await open_stream(client, wire, body)]
        yielded.extend(items)
        return _again(items)

    async def _again(items: list[object]) -> AsyncIterator[Any]:
        for item in items:
            yield item

    monkeypatch.setattr(sdk_client, "open_stream", watched)
    async with SdkTransport(FastTransport(Limits()), [wire]):
        assert yielded


async def test_a_wire_without_an_sdk_is_refused_before_anything_is_sent(server: FaultServer) -> None:
    """Gemini has no client here: said at once, naming the wires that have one."""
    with pytest.raises(UsageError, match=r"gemini.*openai_responses"):
        require_sdks(["openai", "gemini"])


def test_parameters_the_sdk_does_not_know_travel_as_extra_body() -> None:
    """Everything of the body is sent, known or not."""

    def create(*, model: str, messages: list[object], extra_body: object = None) -> None: ...

    body = {"model": "m", "messages": [], "top_k": 3}
    assert arguments_for(create, body) == {"model": "m", "messages": [], "extra_body": {"top_k": 3}}
