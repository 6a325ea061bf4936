"""Turns that ask for an answer in one piece, and turns that switch thinking, over every wire."""

from __future__ import annotations

import json
from typing import Any, Literal

import pytest
from changing import replace

from vendor_verifier.records.record import Exchange
from vendor_verifier.records.request import Endpoint, Turn
from vendor_verifier.registry import WIRES, find_vendors
from vendor_verifier.wire.anthropic_messages import AnthropicMessages
from vendor_verifier.wire.gemini import Gemini
from vendor_verifier.wire.openai_chat import OpenAIChat
from vendor_verifier.wire.openai_completions import OpenAICompletions
from vendor_verifier.wire.parse_answer import read_answer
from vendor_verifier.wire.request_support import (
    EFFORT_NONE,
    ENABLE_THINKING,
    REASONING_NONE,
    THINKING_BUDGET,
    THINKING_TYPE,
)

STREAMED = Turn(({"role": "user", "content": "hi"},))
WHOLE = replace(STREAMED, stream=False)
ENDPOINT = Endpoint("https://vendor.example/v1", "m", "k")
ALL = {**WIRES, "openai_completions": OpenAICompletions(render=lambda _turn: "hi")}
BODIES: dict[str, Any] = {
    "openai": {"choices": [{"message": {"content": "Hello"}, "finish_reason": "stop"}],
               "usage": {"prompt_tokens": 3, "completion_tokens": 1}},
    "openai_completions": {"choices": [{"text": "Hello", "finish_reason": "stop"}],
                           "usage": {"prompt_tokens": 3, "completion_tokens": 1}},
    "openai_responses": {"id": "r", "object": "response", "status": "completed",
                         "output": [{"type": "message", "content": [{"type": "output_text", "text": "Hello"}]}],
                         "usage": {"input_tokens": 3, "output_tokens": 1}},
    "anthropic": {"type": "message", "content": [{"type": "text", "text": "Hello"}], "stop_reason": "end_turn",
                  "usage": {"input_tokens": 3, "output_tokens": 1}},
    "gemini": {"candidates": [{"content": {"parts": [{"text": "Hello"}]}, "finishReason": "STOP"}],
               "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 1}},
}  # fmt: skip


def body(wire: Any, turn: Turn) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(wire.request(turn, ENDPOINT).body)
    return parsed


def test_every_wire_is_tested_here() -> None:
    """A wire without a whole answer would be left out in silence."""
    assert set(BODIES) == set(ALL)


@pytest.mark.parametrize("name", [name for name in BODIES if name != "gemini"])
def test_a_whole_answer_is_asked_for(name: str) -> None:
    """``stream`` is false, no stream options, JSON accepted; everything else as in the streaming request."""
    streamed, whole = (body(ALL[name], turn) for turn in (STREAMED, WHOLE))
    assert (streamed.pop("stream"), whole.pop("stream")) == (True, False)
    streamed.pop("stream_options", None)
    assert whole == streamed
    assert ALL[name].request(WHOLE, ENDPOINT).headers["accept"] == "application/json"
    assert ALL[name].request(STREAMED, ENDPOINT).headers["accept"] == "text/event-stream"


@pytest.mark.parametrize(
    ("base", "url"),
    [
        ("https://g.example/v1beta", "https://g.example/v1beta/models/m:generateContent"),
        ("https://g.example/x/m:streamGenerateContent?alt=sse", "https://g.example/x/m:generateContent"),
        ("https://g.example/x/m:streamGenerateContent?alt=sse&key=1", "https://g.example/x/m:generateContent?key=1"),
        ("https://g.example/x/m:streamGenerateContent?key=1&alt=sse", "https://g.example/x/m:generateContent?key=1"),
    ],
)
def test_gemini_has_another_method_for_a_whole_answer(base: str, url: str) -> None:
    """The method is in the address; the body is the same."""
    wire = Gemini()
    request = wire.request(WHOLE, replace(ENDPOINT, base_url=base))
    assert request.url == url
    assert request.headers["accept"] == "application/json"
    assert body(wire, WHOLE) == body(wire, STREAMED)


@pytest.mark.parametrize("name", BODIES)
def test_a_whole_answer_that_was_asked_for_is_nothing_odd(name: str) -> None:
    """Read by ``read_body`` with text and usage; only an unasked one is an anomaly."""
    data = json.dumps(BODIES[name]).encode()
    exchange = Exchange("2026-01-01T00:00:00Z", 2, 200, {"content-type": "application/json"}, [(1, data)])
    for asked_stream in (True, False):
        _, response, failure = read_answer(exchange, ALL[name].reader(), asked_stream=asked_stream)
        assert failure is None
        assert response is not None
        assert response.usage is not None
        assert (response.text, response.usage.input, response.streamed) == ("Hello", 3, False)
        assert ("not_streamed" in response.anomalies) is asked_stream


@pytest.mark.parametrize("how", ["on", "off"])
@pytest.mark.parametrize(
    ("wire", "switch"),
    [
        (OpenAIChat(thinking=THINKING_TYPE), THINKING_TYPE),
        (OpenAIChat(thinking=ENABLE_THINKING, extra={"enable_thinking": None}), ENABLE_THINKING),
        (AnthropicMessages(), THINKING_BUDGET),
    ],
)
def test_a_declared_switch_is_sent(wire: Any, switch: Any, how: Literal["on", "off"]) -> None:
    """In the vendor's words, over the turn's own and the wire's standing fields."""
    turn = replace(STREAMED, thinking=how, parameters={"thinking": {"type": "whatever"}})
    sent = body(wire, turn)
    wanted = getattr(switch, how)
    assert {name: sent[name] for name in wanted} == wanted
    assert wire.request(turn, ENDPOINT).untranslatable == ()


@pytest.mark.parametrize("name", [name for name in BODIES if name != "anthropic"])
def test_no_switch_is_invented(name: str) -> None:
    """A wire that has no word for it says so, and sends none where nobody asks."""
    only_off = {"openai_responses", "gemini"}
    for how in ("on", "off"):
        request = ALL[name].request(replace(STREAMED, thinking=how), ENDPOINT)
        has_word = how == "off" and name in only_off
        assert request.untranslatable == (() if has_word else ("thinking switch",))
    plain = ALL[name].request(STREAMED, ENDPOINT)
    assert plain.untranslatable == ()
    assert not any(word in plain.body for word in (b"reasoning", b"thinking"))


def test_the_vendors_that_declare_a_switch() -> None:
    """Those whose documents name one; Anthropic's stands in its protocol."""
    found = {name: vendor.vendor.wire for name, vendor in find_vendors().vendors.items()}
    declared = {name: wire.thinking for name, wire in found.items() if isinstance(wire, OpenAIChat) and wire.thinking}
    assert declared == {
        **dict.fromkeys(("zai", "bigmodel", "deepseek"), THINKING_TYPE),
        "siliconflow": ENABLE_THINKING,
        "openai": EFFORT_NONE,
        "openrouter": REASONING_NONE,
    }
