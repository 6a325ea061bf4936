"""The chat-completions wire: requests as dictionaries, each quirk by name."""

from __future__ import annotations

import json
from typing import Any

from vendor_verifier.records.request import Endpoint, Turn
from vendor_verifier.wire.openai_chat import OpenAIChat

TOOL = {"type": "function", "function": {"name": "get-weather.v2", "parameters": {"type": "object"}}}
TURN = Turn(({"role": "user", "content": "Hi"},), (TOOL,), {"tool_choice": "auto", "max_tokens": 9, "temperature": 0})


def sent(wire: OpenAIChat, turn: Turn = TURN, **endpoint: Any) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(wire.request(turn, Endpoint("https://x.test/v1", "m", **endpoint)).body)
    return body


def test_request_body() -> None:
    """The body is the turn plus model, streaming and usage; nothing else."""
    assert sent(OpenAIChat()) == {
        "model": "m",
        "messages": [{"role": "user", "content": "Hi"}],
        "tools": [TOOL],
        "tool_choice": "auto",
        "max_tokens": 9,
        "temperature": 0,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_request_without_tools_has_no_tools_key() -> None:
    """An empty tool list is not sent: several hosts refuse it."""
    assert "tools" not in sent(OpenAIChat(), Turn(({"role": "user", "content": "Hi"},)))


def test_request_quirks() -> None:
    """The output budget's other name, no usage option, and the endpoint's own body last."""
    wire = OpenAIChat(max_tokens_field="max_completion_tokens", stream_usage=False)
    body = sent(wire, body={"provider": {"only": ["a"]}, "temperature": 1})
    assert body["max_completion_tokens"] == 9
    assert "max_tokens" not in body
    assert "stream_options" not in body
    assert body["provider"] == {"only": ["a"]}
    assert body["temperature"] == 1


def test_a_configuration_leaves_out_the_usage_option() -> None:
    """Null for it takes away what we add, whoever else may be sent null; with a value of its own it is that value."""
    assert "stream_options" in sent(OpenAIChat())
    body = sent(OpenAIChat(), body={"stream_options": None, "reasoning": None})
    assert "stream_options" not in body
    assert body["reasoning"] is None
    assert "stream_options" not in sent(OpenAIChat(stream_usage=False), body={"stream_options": None})
    assert sent(OpenAIChat(), body={"stream_options": {"x": 1}})["stream_options"] == {"x": 1}


def test_request_headers() -> None:
    """A key becomes a bearer token, own headers win, no key sends no authorization; the key stays out of the repr."""
    request = OpenAIChat().request(TURN, Endpoint("https://x.test/v1", "m", key="CANARY", headers={"x-title": "t"}))
    assert request.headers == {
        "content-type": "application/json",
        "accept": "text/event-stream",
        "authorization": "Bearer CANARY",
        "x-title": "t",
    }
    assert "CANARY" not in repr(request)
    assert "authorization" not in OpenAIChat().request(TURN, Endpoint("https://x.test", "m")).headers


def test_lone_surrogate_in_a_sample_is_sent_as_its_escape() -> None:
    """A sample that spells half a character is sent as it was, and does not raise."""
    request = OpenAIChat().request(Turn(({"role": "user", "content": "\ud800é"},)), Endpoint("https://x.test", "m"))
    assert json.loads(request.body)["messages"][0]["content"] == "\ud800é"
