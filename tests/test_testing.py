"""The assertion for other people's test suites: what it accepts, what it refuses, and what its message shows."""

from __future__ import annotations

import json
from typing import Any

import pytest
from openai.types.chat import ChatCompletion

from vendor_verifier.records.record import Response, ToolCall
from vendor_verifier.testing import assert_tool_calls

CALL = {"name": "a", "parameters": {"x": 1}}
CALLED = [{"id": "c", "type": "function", "function": {"name": "a", "arguments": '{"x": 1}'}}]
CHOICE = {"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "tool_calls": CALLED}}
CHAT = {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": [CHOICE]}


@pytest.mark.parametrize(
    "actual",
    [
        [CALL], json.dumps([CALL]), f"```json\n{json.dumps(CALL)}\n```", CHAT, ChatCompletion.model_validate(CHAT),
        ChatCompletion.model_validate(CHAT).choices[0].message.tool_calls, [ToolCall("a", '{"x": 1}')],
        Response(tool_calls=(ToolCall("a", '{"x": 1.0}'),)),
        {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "a", "input": {"x": 1}}]},
    ],
)  # fmt: skip
def test_calls_are_found_in_whatever_an_sdk_hands_over(actual: Any) -> None:
    """Calls, text, SDK objects, raw JSON, and this package's own answers."""
    assert_tool_calls(actual, [CALL])
    assert_tool_calls(actual, ["a"])
    with pytest.raises(AssertionError):
        assert_tool_calls(actual, ["b"])
    with pytest.raises(AssertionError):
        assert_tool_calls(actual, [])


def test_names_and_options() -> None:
    """Names suffice; extra calls, order and a share below one are let through when asked."""
    assert_tool_calls(["b", "a"], ["a", "b"])
    with pytest.raises(AssertionError):
        assert_tool_calls(["b", "a"], ["a", "b"], check_ordering=True)
    with pytest.raises(AssertionError, match="Extra"):
        assert_tool_calls(["a", "b"], ["a"])
    assert_tool_calls(["a", "b"], ["a"], exact_match=False)
    assert_tool_calls(["a"], ["a", "b"], exact_match=False, threshold=0.5)


def test_the_message_shows_both_sides_paired() -> None:
    with pytest.raises(AssertionError) as caught:
        assert_tool_calls([{"name": "a", "arguments": {"x": 2}}, {"name": "c"}], [CALL, "b"])
    assert str(caught.value).splitlines()[1:] == [
        '  expected a({"x": 1})  called a({"x": 2})',
        "  expected b(...)  called nothing",
        "  not expected: c({})",
    ]


def test_a_malformed_call_fails_even_if_its_name_would_do() -> None:
    with pytest.raises(AssertionError, match="call 1 is malformed: a: the parameters are not JSON"):
        assert_tool_calls([ToolCall("a", '{"x": ')], ["a"])
