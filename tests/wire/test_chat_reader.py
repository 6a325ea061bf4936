"""The chat-completions reader: each quirk of hosts by name, but for those of tool calls."""

from __future__ import annotations

from typing import Any

import pytest
from chat_chunks import answer, chunk, stream

from vendor_verifier.records.event import (
    Anomaly,
    Fault,
    Finish,
    ReasoningDelta,
    TextDelta,
    Usage,
)
from vendor_verifier.wire.openai_chat.reader import OpenAIChatReader


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
