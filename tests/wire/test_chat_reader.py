"""The chat-completions reader: each quirk of section 2.1 by name."""

from __future__ import annotations

import json
from typing import Any

import pytest
from listening import told

from vendor_verifier.values.event import (
    Anomaly,
    Fault,
    Finish,
    ReasoningDelta,
    StreamEnd,
    StreamEvent,
    TextDelta,
    ToolCallDelta,
    Usage,
)
from vendor_verifier.wire.assembler import Collected, collect
from vendor_verifier.wire.openai_chat.reader import OpenAIChatReader


def stream(*payloads: Any, name: str = "") -> list[StreamEvent]:
    return told(OpenAIChatReader(), *payloads, name=name)


def answer(*payloads: Any) -> Collected:
    return collect(stream(*payloads), streamed=True)


def chunk(delta: Any = None, finish: Any = None, **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish, **more}]}


def call(index: Any = 0, id: Any = None, name: Any = None, arguments: Any = None) -> dict[str, Any]:
    return {"index": index, "id": id, "function": {"name": name, "arguments": arguments}}


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


@pytest.mark.parametrize(
    "payload",
    [
        {"choices": []},
        {"choices": None},
        {"choices": [None]},
        {"choices": {}},
        chunk(None),
        chunk({"content": None, "tool_calls": None, "reasoning_content": None, "function_call": None}),
        chunk({"content": ""}),
        chunk({"content": 7, "tool_calls": 7, "reasoning": 7}),
        chunk({"role": "assistant"}),
        {"usage": None},
    ],
)
def test_null_and_empty_fields_are_absent(payload: Any) -> None:
    """Null deltas, calls, contents and an empty first choices list (Azure) say nothing and raise nothing."""
    assert stream(payload) == []


def test_no_choices_chunk_first() -> None:
    """Azure's first chunk without choices does not hide the answer."""
    first = {"choices": [], "prompt_filter_results": []}
    assert answer(first, chunk({"content": "Hi"}), chunk({}, "stop")).response.text == "Hi"


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


FINISHES = {
    "tool_calls": "tool_calls function_call tool_use",
    "stop": "stop STOP end_turn",
    "length": "length max_tokens",
    "content_filter": "content_filter sensitive",
    "error": "error network_error insufficient_system_resource",
    "unknown": "banana",
}


@pytest.mark.parametrize(("raw", "reason"), [(raw, reason) for reason in FINISHES for raw in FINISHES[reason].split()])
def test_finish_reasons(raw: str, reason: str) -> None:
    """Every known word maps to its class, every unknown one to 'unknown', and the raw word is kept."""
    assert stream(chunk({}, raw)) == [Finish(reason, raw)]  # type: ignore[arg-type]


@pytest.mark.parametrize("raw", [None, "", 0, True, []])
def test_absent_finish_reason_is_none(raw: Any) -> None:
    """Null, empty and non-text finish reasons are no finish."""
    assert stream(chunk({}, raw)) == []


def test_done_without_finish_reason_is_complete_with_an_anomaly() -> None:
    """Vendors that never send a finish reason still end with [DONE]."""
    collected = answer(chunk({"content": "Hi"}), "[DONE]")
    assert collected.complete
    assert collected.response.finish_reason is None
    assert collected.response.anomalies == ("no_finish_reason",)


def test_neither_finish_nor_done_is_not_complete() -> None:
    """The same without [DONE] was cut."""
    assert not answer(chunk({"content": "Hi"})).complete


def test_native_finish_reason_and_provider() -> None:
    """A router's upstream word and the provider that really served are kept."""
    payload = {**chunk({}, "stop", native_finish_reason="end_turn"), "provider": "Novita", "id": "gen-1", "model": "m"}
    response = answer(payload).response
    assert response.native_finish_reason == "end_turn"
    assert response.served_provider == "Novita"
    assert response.request_id == "gen-1"


ERROR_SHAPES = ["openai", "null-code", "text", "true", "list", "vllm", "event-error", "event-error-text", "minimax"]
ERROR_SHAPES += ["openrouter", "openrouter-choice"]


@pytest.mark.parametrize(
    ("payload", "name", "status", "code"),
    [
        ({"error": {"message": "slow down", "code": 429}}, "", 429, "429"),
        ({"error": {"message": "x", "type": "server_error", "code": None}}, "", 500, "server_error"),
        ({"error": "overloaded"}, "", 529, None),
        ({"error": True}, "", None, None),
        ({"error": ["x"]}, "", None, None),
        ({"object": "error", "message": "bad", "type": "BadRequestError", "code": 400}, "", 400, "400"),
        ({"message": "Engine died", "code": "500"}, "error", 500, "500"),
        ("Engine died", "error", None, None),
        ({"base_resp": {"status_code": 1002, "status_msg": "rate limit"}}, "", 429, "1002"),
        (
            {"error": {"code": 502, "message": "up"}, "choices": [{"delta": {}, "finish_reason": "error"}]},
            "",
            502,
            "502",
        ),
        (chunk({"content": ""}, "error", error={"code": 503, "message": "down"}), "", 503, "503"),
    ],
    ids=ERROR_SHAPES,
)
def test_error_inside_a_stream(payload: Any, name: str, status: int | None, code: str | None) -> None:
    """Every shape of an error in a 200 stream is a fault with the status it stands for."""
    faults = [event for event in stream(payload, name=name) if isinstance(event, Fault)]
    assert [(fault.status, fault.code) for fault in faults] == [(status, code)]
    assert faults[0].message


def test_success_base_resp_and_null_error_are_no_fault() -> None:
    """A base_resp of 0 and an error of null belong to good answers."""
    payload = {**chunk({"content": "Hi"}), "base_resp": {"status_code": 0, "status_msg": ""}, "error": None}
    assert stream(payload) == [TextDelta("Hi")]


def test_blank_data_is_nothing() -> None:
    """A heartbeat sent as an empty data field is not an event."""
    assert stream("", " ") == []


def test_deltas_before_a_fault_are_kept() -> None:
    """What had been said before the error stays in the answer."""
    collected = answer(chunk({"content": "Hel"}), {"error": {"message": "x"}})
    assert collected.response.text == "Hel"
    assert collected.fault is not None


def usage(prompt: Any, completion: Any, **more: Any) -> dict[str, Any]:
    return {"prompt_tokens": prompt, "completion_tokens": completion, **more}


def test_usage_in_choice() -> None:
    """Moonshot's usage inside the choice is read and flagged."""
    events = stream(chunk({}, "stop", usage=usage(3, 4)))
    assert Usage(3, 4) in events
    assert Anomaly("usage_in_choice") in events


@pytest.mark.parametrize(
    "payloads",
    [
        [{**chunk({}, "stop"), "usage": usage(3, 4)}],
        [chunk({}, "stop"), {"choices": [], "usage": usage(3, 4)}],
        [chunk({}, "stop"), {"choices": [{"index": 0, "delta": {}}], "usage": usage(3, 4)}],
        [{**chunk({"content": "a"}), "usage": usage(3, 1)}, {**chunk({}, "stop"), "usage": usage(3, 4)}],
        [{"choices": [], "usage": usage(3, 4)}, {"choices": [], "usage": usage(0, 0)}],
    ],
    ids=["on-finish-chunk", "no-choices", "empty-choice", "cumulative", "zeros-after"],
)
def test_usage_places(payloads: list[Any]) -> None:
    """Usage is found wherever it stands, the last cumulative number wins, a later zero erases nothing."""
    assert answer(*payloads).response.usage == Usage(3, 4)


def test_usage_absent_is_none_and_zero_is_zero() -> None:
    """Not reported is None; a reported zero stays zero and is flagged where there was an answer."""
    assert answer(chunk({"content": "Hi"}, "stop")).response.usage is None
    collected = answer(chunk({"content": "Hi"}, "stop"), {"choices": [], "usage": usage(0, 0)})
    assert collected.response.usage == Usage(0, 0)
    assert "usage_zero" in collected.response.anomalies


def test_usage_details() -> None:
    """Cached and reasoning tokens under their several names, and the router's cost."""
    details = usage(9, 8, prompt_tokens_details={"cached_tokens": 7}, completion_tokens_details={"reasoning_tokens": 6})
    assert stream({"usage": {**details, "cost": 0.25}}) == [Usage(9, 8, 7, 6, 0.25)]
    assert stream({"usage": usage(9, 8, prompt_cache_hit_tokens=5)}) == [Usage(9, 8, 5)]
    assert stream({"usage": usage(9, 8, cached_tokens=0)}) == [Usage(9, 8, 0)]


@pytest.mark.parametrize("odd", [-1, "3", 1.5, True, [], 10**400])
def test_nonsense_usage_is_not_reported(odd: Any) -> None:
    """Negative, textual and absurd counts read as not reported."""
    assert stream({"usage": usage(odd, odd, cost=odd if not isinstance(odd, float) else "x")}) == [Usage()]


@pytest.mark.parametrize(
    "delta",
    [
        {"reasoning_content": "hm"},
        {"reasoning": "hm"},
        {"reasoning_content": "hm", "reasoning": "hm"},
        {"reasoning_details": [{"type": "reasoning.text", "text": "hm"}]},
        {"reasoning_details": [{"type": "reasoning.summary", "summary": "hm"}]},
        {"reasoning": "hm", "reasoning_details": [{"text": "hm"}]},
    ],
)
def test_reasoning_under_each_of_its_names(delta: Any) -> None:
    """Reasoning is heard once under whichever name carries it."""
    assert stream(chunk(delta)) == [ReasoningDelta("hm")]


def test_content_parts_and_refusal() -> None:
    """Content as a list of parts and a refusal are text."""
    assert stream(chunk({"content": [{"type": "text", "text": "a"}, None, {"text": "b"}]})) == [TextDelta("ab")]
    assert stream(chunk({"content": None, "refusal": "no"})) == [TextDelta("no")]


def test_whole_message_where_a_delta_belongs() -> None:
    """A gateway that streams one message object is read; a final message after deltas is not read twice."""
    message = {"role": "assistant", "content": "Hi", "tool_calls": [{"id": "a", "function": {"name": "f"}}]}
    whole = answer({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
    assert (whole.response.text, len(whole.response.tool_calls)) == ("Hi", 1)
    twice = answer(chunk({"content": "Hi"}), {"choices": [{"message": message, "finish_reason": "stop"}]})
    assert twice.response.text == "Hi"


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


def test_a_model_that_changes_within_an_answer_is_flagged() -> None:
    """One answer of two models; an empty name in between is none."""
    assert "model_changed" in answer(*({**chunk({"content": "a"}), "model": name} for name in "xy")).response.anomalies
    alike = answer(*({**chunk({"content": "a"}), "model": name} for name in ("x", "", "x")))
    assert "model_changed" not in alike.response.anomalies


def test_other_choices_are_ignored() -> None:
    """With n > 1 only the first choice is the answer; an odd index does not hide it."""
    two = {"choices": [{"index": 1, "delta": {"content": "b"}}, {"index": 0, "delta": {"content": "a"}}]}
    assert stream(two) == [TextDelta("a")]
    assert stream({"choices": [{"index": 1, "delta": {"content": "b"}}]}) == []
    assert stream({"choices": [{"index": "0", "delta": {"content": "a"}}]}) == [TextDelta("a")]


def test_markup_in_text_is_flagged() -> None:
    """Tool-call markup that a host's parser let through is reported."""
    collected = answer(chunk({"content": "<|tool_calls_section_"}), chunk({"content": "begin|>"}, "stop"))
    assert "markup_in_text" in collected.response.anomalies


def test_finish_stop_with_a_call_keeps_the_call() -> None:
    """The trigger is the call, never the finish reason (Gemini's endpoint says stop)."""
    response = answer(chunk({"tool_calls": [call(0, "a", "f", "{}")]}), chunk({}, "stop"), "[DONE]").response
    assert (len(response.tool_calls), response.finish_reason, response.finish_raw) == (1, "stop", "stop")


def test_lone_surrogate_reaches_the_answer_as_replacement() -> None:
    """Half a character in text or arguments becomes U+FFFD and is flagged; a pair split over deltas is joined."""
    collected = answer('{"choices":[{"delta":{"content":"a\\ud800b"}}]}', chunk({}, "stop"))
    assert collected.response.text == "a\ufffdb"
    assert "lone_surrogate" in collected.response.anomalies
    joined = answer('{"choices":[{"delta":{"content":"\\ud83d"}}]}', '{"choices":[{"delta":{"content":"\\ude00"}}]}')
    assert joined.response.text == "😀"
    assert joined.response.anomalies == ()


def test_body_without_choices() -> None:
    """An object without choices is a fault that repeats what the object says."""
    assert list(OpenAIChatReader().read_body({"code": 7, "message": "no"})) == [Fault("no", code="no_choices")]


def test_body_with_an_error() -> None:
    """An error object with status 200 is a fault."""
    assert list(OpenAIChatReader().read_body({"error": {"message": "no", "code": 402}})) == [Fault("no", "402", 402)]


def test_body_numbers_calls_by_position() -> None:
    """Parallel calls of a whole body need neither index nor different ids."""
    calls = [{"id": "x", "function": {"name": name, "arguments": "{}"}} for name in "fg"]
    body = {"choices": [{"message": {"tool_calls": calls}, "finish_reason": "tool_calls"}]}
    events = list(OpenAIChatReader().read_body(body))
    assert [event.index for event in events if isinstance(event, ToolCallDelta)] == [0, 1]
    assert events[-1] == StreamEnd()
