"""The chat-completions reader: recorded answers of three servers."""

from __future__ import annotations

import json

import pytest
from listening import captured, heard

from vendor_verifier.values.event import Usage
from vendor_verifier.wire.assembler import collect
from vendor_verifier.wire.openai_chat.reader import OpenAIChatReader
from vendor_verifier.wire.payload import parse_json


def test_recorded_tool_call() -> None:
    """The simple recorded call: name, arguments, finish, usage and end are all there and nothing is odd."""
    collected = collect(heard(OpenAIChatReader(), [captured("aimock.chat.stream.txt")]))
    (tool_call,) = collected.response.tool_calls
    assert (tool_call.name, json.loads(tool_call.arguments)) == (
        "get_weather",
        {"location": "Paris", "unit": "celsius"},
    )
    assert collected.response.finish_reason == "tool_calls"
    assert collected.response.usage == Usage(8, 12)
    assert collected.response.served_model == "gpt-4o"
    assert collected.ended
    assert collected.response.anomalies == ()


def test_recorded_llamacpp_call_and_usage() -> None:
    """A server that streams arguments by the character, with cached tokens and a fingerprint."""
    collected = collect(heard(OpenAIChatReader(), [captured("llamacpp.chat.stream.txt")]))
    (tool_call,) = collected.response.tool_calls
    assert json.loads(tool_call.arguments).keys() == {"location", "unit"}
    assert collected.response.fingerprint == "b0-unknown"
    assert collected.response.usage is not None
    assert (collected.response.usage.cached or 0) > 0
    assert collected.complete


def test_recorded_cut_stream_is_not_complete() -> None:
    """A stream that ends without finish reason and end marker is not whole, its text is kept."""
    collected = collect(heard(OpenAIChatReader(), [captured("aimock.drop.chat.txt")]))
    assert collected.response.text == "This stream is dropp"
    assert not collected.complete


def test_recorded_call_in_both_fields() -> None:
    """llama-cpp-python repeats a named choice's call in function_call, streamed and whole: it is one call."""
    streamed = collect(heard(OpenAIChatReader(), [captured("lcpy.chat.stream.named.txt")]), streamed=True)
    whole = collect(OpenAIChatReader().read_body(parse_json(captured("lcpy.chat.named.txt"))))
    for collected in (streamed, whole):
        (tool_call,) = collected.response.tool_calls
        assert tool_call.name == "get_weather"
        assert collected.response.finish_reason == "tool_calls"
        assert "call_in_both_fields" in collected.response.anomalies
        assert "retold_differently" not in collected.response.anomalies
    assert json.loads(streamed.response.tool_calls[0].arguments).keys() == {"location", "unit"}
    # The line feed is the model's own and stays: it makes the arguments no JSON, as an SDK's user finds out, too.
    assert whole.response.tool_calls[0].arguments == '{"location":"<tool_call>\n","unit":"celsius"}'
    assert whole.response.usage == Usage(71, 34)


@pytest.mark.parametrize("name", ["aimock.chat.txt", "llamacpp.chat.txt"])
def test_recorded_whole_body(name: str) -> None:
    """A plain JSON answer is read like a stream."""
    collected = collect(OpenAIChatReader().read_body(parse_json(captured(name))))
    (tool_call,) = collected.response.tool_calls
    assert tool_call.name == "get_weather"
    assert collected.response.finish_reason == "tool_calls"
    assert collected.response.usage is not None
    assert collected.ended
