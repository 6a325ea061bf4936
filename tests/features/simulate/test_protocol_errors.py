"""Every protocol refuses in its own words, and refuses what its original would refuse."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from protocols import SIMULATED

from vendor_verifier.features.simulate.performance import Refusal
from vendor_verifier.features.simulate.question import BadQuestion
from vendor_verifier.wire.errors import http_failure

ASK = {"role": "user", "content": "?"}
GEMINI_ASK = {"role": "user", "parts": [{"text": "?"}]}
CALL = {"type": "tool_use", "id": "1", "name": "f", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "1", "content": "ok"}
KINDS = {400: "bad_request", 401: "auth", 429: "rate_limited", 500: "http_5xx", 503: "overloaded"}
NOW = datetime(2026, 1, 1, tzinfo=UTC)
TARGETS = {"gemini": "/v1beta/models/m:generateContent"}


def _messages(*more: Any, **fields: Any) -> dict[str, Any]:
    return {"model": "m", "max_tokens": 9, "messages": [ASK, *more], **fields}


def _responses(*items: Any, **fields: Any) -> dict[str, Any]:
    return {"model": "m", "input": [ASK, *items], **fields}


def _contents(*more: Any, **fields: Any) -> dict[str, Any]:
    return {"contents": [GEMINI_ASK, *more], **fields}


def _functions(*declarations: Any) -> list[Any]:
    return [{"functionDeclarations": list(declarations)}]


@pytest.mark.parametrize(
    ("protocol", "body"),
    [
        ("openai_responses", {"model": "m"}),
        ("openai_responses", {"input": "?"}),
        ("openai_responses", _responses({"type": "function_call_output", "call_id": "1", "output": "ok"})),
        ("openai_responses", _responses({"type": "telepathy"})),
        ("openai_responses", _responses(tools=[{"type": "function", "function": {"name": "nested"}}])),
        ("openai_responses", _responses(tools=[{"type": "function", "name": "dotted.name"}])),
        ("openai_responses", _responses(tools=[{"type": "web_search"}])),
        ("openai_responses", _responses(tool_choice="required")),
        ("openai_completions", {"model": "m"}),
        ("openai_completions", {"model": "m", "prompt": ["?"]}),
        ("openai_completions", {"model": "m", "prompt": "?", "n": 2}),
        ("anthropic", {"model": "m", "messages": [ASK]}),
        ("anthropic", _messages({"role": "system", "content": "?"})),
        ("anthropic", _messages({"role": "user", "content": " "})),
        ("anthropic", _messages({"role": "assistant", "content": [CALL]})),
        ("anthropic", _messages({"role": "assistant", "content": [CALL]}, ASK)),
        ("anthropic", _messages({"role": "user", "content": [RESULT]})),
        (
            "anthropic",
            _messages(
                {"role": "assistant", "content": [CALL]},
                {"role": "user", "content": [{"type": "text", "text": "?"}, RESULT]},
            ),
        ),
        ("anthropic", _messages({"role": "user", "content": [{"type": "hologram"}]})),
        ("anthropic", _messages(tools=[{"name": "dotted.name", "input_schema": {"type": "object"}}])),
        ("anthropic", _messages(tools=[{"name": "f", "input_schema": {"type": "array"}}])),
        ("anthropic", _messages(tools=[{"name": "f", "input_schema": {"type": "object", "anyOf": []}}])),
        ("anthropic", _messages(tool_choice={"type": "maybe"})),
        ("anthropic", _messages(temperature=1.5)),
        ("gemini", {}),
        ("gemini", _contents({"role": "system", "parts": []})),
        ("gemini", _contents({"role": "user", "parts": [{"audio": "?"}]})),
        ("gemini", _contents({"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {}}}]})),
        ("gemini", _contents({"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]})),
        ("gemini", _contents(tools=_functions({"name": "no blanks"}))),
        ("gemini", _contents(tools=_functions({"name": "f", "parameters": {"type": "object"}}))),
        ("gemini", _contents(toolConfig={"functionCallingConfig": {"mode": "SOMETIMES"}})),
        ("gemini", _contents(toolConfig={"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["g"]}})),
    ],
)
def test_what_the_original_refuses_is_refused(protocol: str, body: dict[str, Any]) -> None:
    """Missing fields, foreign roles and types, broken pairs of call and result, and illegal names are bad requests."""
    with pytest.raises(BadQuestion):
        SIMULATED[protocol].read(json.dumps(body).encode(), TARGETS.get(protocol, ""))


def test_the_same_bodies_without_the_fault_are_taken() -> None:
    """The frames of the bad requests are good requests."""
    bodies = {
        "openai_responses": _responses(),
        "openai_completions": {"model": "m", "prompt": "?"},
        "anthropic": _messages({"role": "assistant", "content": [CALL]}, {"role": "user", "content": [RESULT]}),
        "gemini": _contents(tools=_functions({"name": "f", "parameters": {"type": "OBJECT"}})),
    }
    for protocol, body in bodies.items():
        asked = SIMULATED[protocol].read(json.dumps(body).encode(), TARGETS.get(protocol, ""))
        assert not asked.stream


@pytest.mark.parametrize("protocol", sorted(SIMULATED))
@pytest.mark.parametrize("status", [400, 401, 429, 500, 503])
def test_the_product_reads_every_refusal(protocol: str, status: int) -> None:
    """A refusal's words and its kind come out of the product's own reading of the error body."""
    refusal = Refusal(status, "some_code", "No, for a reason.", retry_after_s=0.1)
    found, body = SIMULATED[protocol].refusal(refusal)
    assert found == (529 if (protocol, status) == ("anthropic", 503) else status)
    failure = http_failure(found, {}, body, NOW)
    assert "No, for a reason." in failure.message
    assert failure.kind == KINDS[status]


def test_errors_have_each_protocols_shape() -> None:
    """Type words, codes and hints stand where each protocol's clients look for them."""
    refusal = Refusal(429, "rate_limit_exceeded", "Slow down.", retry_after_s=0.1)
    bodies = {name: json.loads(wire.refusal(refusal)[1]) for name, wire in SIMULATED.items()}
    assert bodies["openai"] == bodies["openai_responses"] == bodies["openai_completions"]
    assert bodies["openai"]["error"]["type"] == "rate_limit_error"
    assert (bodies["anthropic"]["type"], bodies["anthropic"]["error"]["type"]) == ("error", "rate_limit_error")
    assert (bodies["gemini"]["error"]["code"], bodies["gemini"]["error"]["status"]) == (429, "RESOURCE_EXHAUSTED")
    assert bodies["gemini"]["error"]["details"][0]["retryDelay"] == "0.100s"
