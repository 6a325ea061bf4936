"""The chat-completions reader: each quirk of hosts in tool calls, by name."""

from __future__ import annotations

import json
from typing import Any

import pytest
from chat_chunks import answer, call, chunk

from vendor_verifier.records.event import (
    StreamEnd,
    ToolCallDelta,
)
from vendor_verifier.wire.assembler import collect
from vendor_verifier.wire.openai_chat.reader import OpenAIChatReader


def test_index_missing() -> None:
    """Parallel calls without any index (Gemini's endpoint) are not merged into call 0."""
    calls = [{"id": "a", "function": {"name": "f", "arguments": "{}"}}, {"id": "b", "function": {"name": "g"}}]
    collected = answer(chunk({"tool_calls": calls}), chunk({}, "stop"), "[DONE]")
    assert [found.name for found in collected.response.tool_calls] == ["f", "g"]
    assert collected.response.finish_reason == "stop"


@pytest.mark.parametrize("index", [None, "0", -1, 2_000_000_000, "x", 1.5, True, [], "٣"])
def test_odd_index_never_raises(index: Any) -> None:
    """Whatever stands for the index, the call is read."""
    collected = answer(chunk({"tool_calls": [call(index, "a", "f", "{}")]}), chunk({}, "tool_calls"))
    assert [(found.name, found.arguments) for found in collected.response.tool_calls] == [("f", "{}")]


def test_same_index_different_id() -> None:
    """Two calls that are both index 0 stay two calls."""
    collected = answer(
        chunk({"tool_calls": [call(0, "a", "f", '{"x":1}')]}), chunk({"tool_calls": [call(0, "b", "f", '{"x":2}')]})
    )
    assert [found.arguments for found in collected.response.tool_calls] == ['{"x":1}', '{"x":2}']


def test_name_and_id_repeated_in_every_delta() -> None:
    """llama-cpp-python's repeated name is read once."""
    collected = answer(*(chunk({"tool_calls": [call(0, "a", "get_weather", part)]}) for part in ("{", '"x":', "1}")))
    (found,) = collected.response.tool_calls
    assert (found.name, found.arguments) == ("get_weather", '{"x":1}')
    assert "name_repeated" in collected.response.anomalies


def test_whole_arguments_in_one_chunk_are_flagged_as_buffered() -> None:
    """Arguments that come all at once have no speed; the answer says so."""
    arguments = json.dumps({"city": "x" * 60})
    collected = answer(chunk({"tool_calls": [call(0, "a", "f", arguments)]}), chunk({}, "tool_calls"), "[DONE]")
    assert collected.moments.gaps_ns == ()
    assert collected.moments.first_chunk_share == 1.0
    assert "buffered" in collected.response.anomalies


def test_arguments_as_an_object() -> None:
    """An object instead of a string is read and flagged."""
    collected = answer(chunk({"tool_calls": [call(0, "a", "f", {"x": 1})]}))
    assert collected.response.tool_calls[0].arguments == '{"x": 1}'
    assert "arguments_object" in collected.response.anomalies


@pytest.mark.parametrize(("arguments", "text"), [([1], "[1]"), (7, "7"), (False, "false"), ("", ""), (None, "")])
def test_other_arguments_are_kept_as_sent(arguments: Any, text: str) -> None:
    """A list, number or boolean is not silently taken for 'no arguments'."""
    assert answer(chunk({"tool_calls": [call(0, "a", "f", arguments)]})).response.tool_calls[0].arguments == text


def test_double_encoded_arguments() -> None:
    """Arguments encoded twice stay as they came."""
    twice = json.dumps(json.dumps({"x": 1}))
    assert answer(chunk({"tool_calls": [call(0, "a", "f", twice)]})).response.tool_calls[0].arguments == twice


def test_single_call_object_and_flat_function() -> None:
    """One call instead of a list, and name and arguments beside each other, are still a call."""
    collected = answer(chunk({"tool_calls": {"id": "a", "name": "f", "arguments": "{}"}}))
    assert [(found.name, found.arguments) for found in collected.response.tool_calls] == [("f", "{}")]


def test_legacy_function_call() -> None:
    """The old single function_call is a call, and flagged."""
    collected = answer(
        chunk({"function_call": {"name": "f", "arguments": "{"}}), chunk({"function_call": {"arguments": "}"}})
    )
    assert [(found.name, found.arguments) for found in collected.response.tool_calls] == [("f", "{}")]
    assert "legacy_function_call" in collected.response.anomalies


BOTH = {"function_call": {"name": "f", "arguments": "{}"}, "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{}"}}]}  # fmt: skip # noqa: E501


def test_a_call_in_both_fields_is_one_call() -> None:
    """As an SDK's user reads it, who looks into tool_calls: the copy in function_call adds nothing, and is flagged."""
    for collected in (
        answer(chunk(BOTH)),
        answer(chunk({"function_call": BOTH["function_call"]}), chunk({"tool_calls": BOTH["tool_calls"]})),
        collect(OpenAIChatReader().read_body({"choices": [{"index": 0, "message": BOTH, "finish_reason": "stop"}]})),
    ):
        assert [(call.name, call.arguments, call.id) for call in collected.response.tool_calls] == [("f", "{}", "a")]
        assert "call_in_both_fields" in collected.response.anomalies
        assert not {"legacy_function_call", "retold_differently"} & set(collected.response.anomalies)


def test_a_copy_in_the_old_field_is_no_token() -> None:
    """Pieces, gaps and shares are those of the call, as if the copy had not been sent."""
    pieces = [{"index": 0, "id": "a", "function": {"name": "f", "arguments": part}} for part in ('{"a"', ":1}")]
    with_copy = [chunk({"tool_calls": [piece], "function_call": piece["function"]}) for piece in pieces]
    assert answer(*with_copy).moments == answer(*(chunk({"tool_calls": [piece]}) for piece in pieces)).moments


def test_another_call_in_the_old_field_does_not_count_but_is_flagged() -> None:
    """tool_calls win; that the old field said something else is evidence."""
    other = {**BOTH, "function_call": {"name": "g", "arguments": "{}"}}
    collected = answer(chunk(other))
    assert [call.name for call in collected.response.tool_calls] == ["f"]
    assert {"call_in_both_fields", "retold_differently"} <= set(collected.response.anomalies)


@pytest.mark.parametrize(
    ("ids", "anomaly"), [(("x", "x"), "id_reused"), (("", ""), "id_empty"), (("a", ""), "id_empty")]
)
def test_ids_that_lead_to_no_call_are_flagged(ids: tuple[str, str], anomaly: str) -> None:
    """Two calls under one id, or a call under an empty one: a tool's answer cannot be given back; streamed or whole."""
    calls = [{"index": n, "id": one, "function": {"name": "f", "arguments": "{}"}} for n, one in enumerate(ids)]
    whole = {"choices": [{"message": {"tool_calls": calls}, "finish_reason": "tool_calls"}]}
    for collected in (answer(chunk({"tool_calls": calls})), collect(OpenAIChatReader().read_body(whole))):
        assert len(collected.response.tool_calls) == 2
        assert anomaly in collected.response.anomalies


def test_an_empty_id_of_a_later_piece_says_nothing() -> None:
    """Many hosts send the id once and an empty one with every further piece."""
    first = {"index": 0, "id": "x", "function": {"name": "f", "arguments": "{"}}
    collected = answer(
        chunk({"tool_calls": [first]}), chunk({"tool_calls": [{"index": 0, "id": "", "function": {"arguments": "}"}}]})
    )
    assert [(call.id, call.arguments) for call in collected.response.tool_calls] == [("x", "{}")]
    assert collected.response.anomalies == ()


def test_finish_stop_with_a_call_keeps_the_call() -> None:
    """The trigger is the call, never the finish reason (Gemini's endpoint says stop)."""
    response = answer(chunk({"tool_calls": [call(0, "a", "f", "{}")]}), chunk({}, "stop"), "[DONE]").response
    assert (len(response.tool_calls), response.finish_reason, response.finish_raw) == (1, "stop", "stop")


def test_body_numbers_calls_by_position() -> None:
    """Parallel calls of a whole body need neither index nor different ids."""
    calls = [{"id": "x", "function": {"name": name, "arguments": "{}"}} for name in "fg"]
    body = {"choices": [{"message": {"tool_calls": calls}, "finish_reason": "tool_calls"}]}
    events = list(OpenAIChatReader().read_body(body))
    assert [event.index for event in events if isinstance(event, ToolCallDelta)] == [0, 1]
    assert events[-1] == StreamEnd()
