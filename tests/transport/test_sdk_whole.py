"""Answers in one piece through the official SDKs: asked for and read as an application would, one item long."""

from __future__ import annotations

import time
from typing import Any

import pytest
from asking import KEY, QUICK
from fault_server import FaultServer, say, whole

from vendor_verifier.records.request import Endpoint, Turn
from vendor_verifier.transport.client import FastTransport
from vendor_verifier.transport.policy import ProgressMeter, Sending
from vendor_verifier.transport.sdk_client import SdkTransport
from vendor_verifier.wire.anthropic_messages import AnthropicMessages
from vendor_verifier.wire.openai_chat import OpenAIChat
from vendor_verifier.wire.parse_answer import read_answer

pytestmark = pytest.mark.anyio

TURN = Turn(({"role": "user", "content": "hi"},), stream=False)
CHAT = {
    "id": "c", "object": "chat.completion", "created": 1, "model": "m",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "hello"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 4, "completion_tokens": 2, "total_tokens": 6},
}  # fmt: skip
MESSAGE = {
    "id": "a", "type": "message", "role": "assistant", "model": "m", "content": [{"type": "text", "text": "hello"}],
    "stop_reason": "end_turn", "stop_sequence": None, "usage": {"input_tokens": 4, "output_tokens": 2},
}  # fmt: skip


@pytest.mark.parametrize(("wire", "body"), [(OpenAIChat(), CHAT), (AnthropicMessages(), MESSAGE)])
async def test_a_whole_answer_comes_through_the_sdk(server: FaultServer, wire: Any, body: dict[str, Any]) -> None:
    """No stream is asked for, and the answer is a success with text and usage."""
    server.answer = lambda _seen: say(whole(body))
    request = wire.request(TURN, Endpoint(server.url(), "m", KEY))
    async with SdkTransport(FastTransport(QUICK)) as transport:
        meter = ProgressMeter(wire.reader())
        exchange = await transport.exchange(Sending(request, meter, time.perf_counter_ns(), wire.name))
    _, response, failure = read_answer(exchange, wire.reader(), asked_stream=False)
    assert failure is None
    assert response is not None
    assert response.usage is not None
    assert (response.text, response.usage.input, response.anomalies) == ("hello", 4, ())
    assert server.seen[0].body["stream"] is False
