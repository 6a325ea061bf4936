"""The product's own reader understands the simulated chat wire."""

from __future__ import annotations

import json

import pytest
from questions import body

from vendor_verifier.features.simulate.performance import Performance, perform
from vendor_verifier.features.simulate.personas import PERSONAS
from vendor_verifier.features.simulate.wires.openai import SimulatedChat
from vendor_verifier.values.event import Anomaly, Fault, Finish, StreamEnd, StreamEvent, TextDelta, ToolCallDelta, Usage
from vendor_verifier.wire.openai_chat.reader import OpenAIChatReader
from vendor_verifier.wire.reader_support import ToolCallAccumulator
from vendor_verifier.wire.sse import SseDecoder

WIRE = SimulatedChat()


def _performed(text: str) -> tuple[Performance, list[StreamEvent]]:
    content = body(text, stream=True, stream_options={"include_usage": True})
    asked = WIRE.read(json.dumps(content).encode())
    performance = perform(asked.question, PERSONAS["faithful"], 0, refused=0, asked=1)
    assert isinstance(performance, Performance)
    told = WIRE.stream(asked, performance, created=0)
    decoder, reader = SseDecoder(), OpenAIChatReader()
    sse = [*decoder.feed(told.opening + b"".join(told.pieces) + told.closing), *decoder.close()]
    return performance, [event for item in sse for event in reader.read(item)]


@pytest.mark.parametrize("number", range(25))
def test_our_reader_hears_what_was_said(number: int) -> None:
    """Text, calls, finish, usage and end arrive without an anomaly."""
    performance, events = _performed(f"Question {number} über 東京 😀")
    answer = performance.answer
    calls = ToolCallAccumulator()
    for event in events:
        assert not isinstance(event, (Anomaly, Fault))
        if isinstance(event, ToolCallDelta):
            calls.add(event)
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == answer.text
    assert [(call.name, call.arguments, call.anomalies) for call in calls.calls()] == [
        (call.name, call.arguments, ()) for call in answer.calls
    ]
    assert Finish(answer.finish, answer.finish) in events
    assert Usage(answer.prompt_tokens, answer.output_tokens, 0, 0) in events
    assert events[-1] == StreamEnd()


def test_a_lone_surrogate_does_not_break_an_answer() -> None:
    """Text that UTF-8 cannot carry is escaped, not dropped and not fatal."""
    tool = {"type": "function", "function": {"name": "a\ud800", "parameters": {"type": "object"}}}
    content = body("\ud83d alone", tools=[tool], tool_choice="required")
    asked = WIRE.read(json.dumps(content).encode())
    performance = perform(asked.question, PERSONAS["faithful"], 0, refused=0, asked=1)
    assert isinstance(performance, Performance)
    message = json.loads(WIRE.whole(asked, performance, created=0))["choices"][0]["message"]
    assert message["tool_calls"][0]["function"]["name"] == "a\ud800"
