"""The Anthropic reader: recorded answers and each quirk by name."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from listening import captured, heard, told

from vendor_verifier.records.event import (
    Anomaly,
    Fault,
    Finish,
    Identity,
    ReasoningDelta,
    SseEvent,
    StreamEnd,
    StreamEvent,
    TextDelta,
    ToolCallDelta,
    Usage,
)
from vendor_verifier.wire.anthropic_messages.reader import STOP_REASONS, AnthropicReader
from vendor_verifier.wire.assembler import Collected, collect


def stream(*payloads: Any) -> list[StreamEvent]:
    return told(AnthropicReader(), *payloads)


def answer(*payloads: Any) -> Collected:
    return collect(stream(*payloads), streamed=True)


def start(**usage: Any) -> dict[str, Any]:
    return {"type": "message_start", "message": {"id": "m1", "model": "claude", "content": [], "usage": usage}}


def block(index: Any, kind: str, **content: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": {"type": kind, **content}}


def delta(index: Any, kind: str, **content: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **content}}


def stop(index: Any) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def end(reason: Any, **usage: Any) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}


DONE = {"type": "message_stop"}


def test_recorded_answer_of_aimock() -> None:
    """The recorded answer: one call, finished, ended; zeros stay zeros because the host reported them."""
    collected = collect(heard(AnthropicReader(), [captured("aimock.anthropic.stream.txt")]), streamed=True)
    response = collected.response
    assert [(call.name, json.loads(call.arguments)) for call in response.tool_calls] == [
        ("get_weather", {"location": "Paris", "unit": "celsius"})
    ]
    assert (response.finish_reason, response.finish_raw) == ("tool_calls", "tool_use")
    assert response.usage == Usage(input=0, output=0)
    assert (response.served_model, response.request_id) == ("gpt-4o", "msg_7I-miLCFnkIDoVY0")
    assert collected.ended
    assert not {"bad_event", "no_finish_reason", "finish_changed"} & set(response.anomalies)


def test_cached_tokens_are_added_to_the_input() -> None:
    """llama.cpp says 1 input token and 664 from the cache: the prompt had 665."""
    response = collect(heard(AnthropicReader(), [captured("llamacpp.anthropic.stream.txt")]), streamed=True).response
    assert response.usage == Usage(input=665, output=81, cached=664)
    assert json.loads(response.tool_calls[0].arguments) == {"location": "", "unit": "celsius"}


def test_gateway_that_counts_at_the_end() -> None:
    """Zeros in message_start and the truth in message_delta give the truth; a later zero erases nothing."""
    late = answer(start(input_tokens=0, output_tokens=0), end("end_turn", input_tokens=40, output_tokens=7), DONE)
    assert late.response.usage == Usage(input=40, output=7)
    early = answer(
        start(input_tokens=40, cache_creation_input_tokens=2, output_tokens=1),
        end("end_turn", input_tokens=0, cache_creation_input_tokens=0, output_tokens=7),
    )
    assert early.response.usage == Usage(input=42, output=7)


def test_usage_absent_stays_absent() -> None:
    """A host that reports nothing reports nothing, not zero."""
    message = {"type": "message_start", "message": {"model": "m", "usage": None}}
    assert answer(message, end("end_turn"), DONE).response.usage is None


def test_thinking_tokens_and_cost() -> None:
    """Thinking tokens are part of the output and shown beside it; a router's price is kept."""
    collected = answer(end("end_turn", output_tokens=9, output_tokens_details={"thinking_tokens": 4}, cost=0.5))
    assert collected.response.usage == Usage(output=9, reasoning=4, cost_usd=0.5)


@pytest.mark.parametrize(
    ("raw", "reason"), [*STOP_REASONS.items(), ("pause_turn", "unknown"), ("brand_new", "unknown")]
)
def test_stop_reasons(raw: str, reason: str) -> None:
    """Every stop reason has its place in the field's words, and the vendor's word is kept."""
    assert stream(end(raw))[-1] == Finish(reason, raw)  # type: ignore[arg-type]


def test_refusal_and_window_are_not_stops() -> None:
    """The two words most easily mistaken for a plain stop."""
    assert STOP_REASONS["refusal"] == "content_filter"
    assert STOP_REASONS["model_context_window_exceeded"] == "length"


@pytest.mark.parametrize("raw", [None, "", 5])
def test_cut_stream_has_no_finish(raw: Any) -> None:
    """Without a stop reason and without message_stop the answer is incomplete, text or no text."""
    collected = answer(start(), block(0, "text"), delta(0, "text_delta", text="Hel"), end(raw))
    assert collected.response.text == "Hel"
    assert not collected.complete


def test_message_stop_ends() -> None:
    """The end marker makes an answer complete even where the reason is missing, and that is flagged."""
    collected = answer(start(), DONE)
    assert collected.ended
    assert "no_finish_reason" in collected.response.anomalies


def test_text_and_thinking() -> None:
    """Text and thinking are kept apart; signatures, citations and redacted thinking are no words."""
    events = stream(
        block(0, "thinking", thinking=""),
        delta(0, "thinking_delta", thinking="Hm"),
        delta(0, "signature_delta", signature="zzz"),
        stop(0),
        block(1, "redacted_thinking", data="zzz"),
        stop(1),
        block(2, "text", text="A"),
        delta(2, "text_delta", text="B"),
        delta(2, "citations_delta", citation={}),
    )
    assert events == [ReasoningDelta("Hm"), TextDelta("A"), TextDelta("B")]


def test_tool_without_arguments() -> None:
    """No fragment, or empty ones, stand for an empty object."""
    for fragments in ([], [delta(0, "input_json_delta", partial_json="")]):
        collected = answer(block(0, "tool_use", id="t", name="now", input={}), *fragments, stop(0), end("tool_use"))
        assert [(call.name, call.arguments, call.anomalies) for call in collected.response.tool_calls] == [
            ("now", "{}", ())
        ]
        assert "input_in_block_start" not in collected.response.anomalies


def test_input_whole_in_block_start() -> None:
    """A gateway that sends the arguments in the opening event is read and flagged."""
    collected = answer(block(0, "tool_use", id="t", name="f", input={"a": "é"}), stop(0), end("tool_use"))
    assert collected.response.tool_calls[0].arguments == '{"a": "é"}'
    assert "input_in_block_start" in collected.response.anomalies


def test_input_in_block_start_and_again_in_deltas() -> None:
    """Arguments that come both ways count once."""
    collected = answer(
        block(0, "tool_use", id="t", name="f", input={"a": 1}),
        delta(0, "input_json_delta", partial_json='{"a":1}'),
        stop(0),
    )
    assert collected.response.tool_calls[0].arguments == '{"a":1}'


def test_input_as_text_in_block_start() -> None:
    """Arguments as JSON text in the opening event are taken as they are."""
    collected = answer(block(0, "tool_use", id="t", name="f", input='{"a":1}'), stop(0))
    assert collected.response.tool_calls[0].arguments == '{"a":1}'


def test_block_stop_forgotten() -> None:
    """The end of the message closes blocks that nobody closed, an early usage report does not."""
    collected = answer(
        block(0, "tool_use", id="t", name="f", input={}),
        end(None, output_tokens=1),
        delta(0, "input_json_delta", partial_json='{"a":1}'),
        block(1, "tool_use", id="u", name="now", input={}),
        DONE,
    )
    assert [call.arguments for call in collected.response.tool_calls] == ['{"a":1}', "{}"]


def test_index_reused_for_another_call() -> None:
    """A gateway that numbers every block 0 still makes two calls, each with its own arguments."""
    collected = answer(
        block(0, "tool_use", id="t", name="f"),
        delta(0, "input_json_delta", partial_json='{"a":1}'),
        block(0, "tool_use", id="u", name="g"),
        delta(0, "input_json_delta", partial_json='{"b":2}'),
        end("tool_use"),
    )
    assert [(call.name, call.arguments) for call in collected.response.tool_calls] == [
        ("f", '{"a":1}'),
        ("g", '{"b":2}'),
    ]
    assert "index_reused" in collected.response.anomalies


def test_block_opened_twice() -> None:
    """The same opening event sent twice opens one call."""
    opening = block(0, "tool_use", id="t", name="f")
    collected = answer(opening, opening, delta(0, "input_json_delta", partial_json="{}"), end("tool_use"))
    assert len(collected.response.tool_calls) == 1
    assert "block_repeated" in collected.response.anomalies


@pytest.mark.parametrize("index", [-3, 2_000_000_000, None, "0"])
def test_odd_indices(index: Any) -> None:
    """A negative, huge, missing or nonsensical index loses no call."""
    collected = answer(
        block(index, "tool_use", id="t", name="f"),
        delta(index, "input_json_delta", partial_json='{"a":'),
        delta(index, "input_json_delta", partial_json="1}"),
        stop(index),
    )
    assert [(call.name, call.arguments) for call in collected.response.tool_calls] == [("f", '{"a":1}')]


def test_delta_of_a_block_never_opened() -> None:
    """Arguments without an opening event are a call without a name, and flagged."""
    collected = answer(delta(4, "input_json_delta", partial_json='{"a":1}'))
    assert [(call.name, call.arguments) for call in collected.response.tool_calls] == [("", '{"a":1}')]
    assert "block_not_started" in collected.response.anomalies


def test_fragment_as_object() -> None:
    """An object where a fragment belongs is accepted and flagged."""
    call = answer(block(0, "tool_use", id="t", name="f"), delta(0, "input_json_delta", partial_json={"a": 1}))
    assert call.response.tool_calls[0].arguments == '{"a": 1}'
    assert call.response.tool_calls[0].anomalies == ("arguments_object",)


def test_tools_the_host_runs_are_no_calls() -> None:
    """Blocks of server-side tools and unknown blocks are skipped with a flag, their arguments too."""
    collected = answer(
        block(0, "server_tool_use", id="s", name="web_search"),
        delta(0, "input_json_delta", partial_json='{"q":1}'),
        stop(0),
        block(1, "web_search_tool_result", content=[]),
        block(2, "hologram"),
    )
    assert collected.response.tool_calls == ()
    assert {"host_tool_block", "unknown_block"} <= set(collected.response.anomalies)


def test_pings_and_unknown_events_say_nothing() -> None:
    """A ping anywhere, an event type nobody knows yet, and a payload without type are silent."""
    assert stream({"type": "ping"}, {"type": "message_sparkle", "x": 1}, {"hello": 1}) == []


def test_event_name_stands_in_for_a_missing_type() -> None:
    """Where a gateway leaves ``type`` to the event name, the name is believed."""
    assert list(AnthropicReader().read(SseEvent("{}", "message_stop"))) == [StreamEnd()]


@pytest.mark.parametrize(
    ("name", "payload", "fault"),
    [
        (
            "error",
            {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
            Fault("Overloaded", "overloaded_error", 529),
        ),
        ("", {"error": {"type": "rate_limit_error", "message": "Slow"}}, Fault("Slow", "rate_limit_error", 429)),
        ("error", {"message": "Boom"}, Fault("Boom", None, None)),
        ("", {"object": "error", "message": "Bad", "code": 400}, Fault("Bad", "400", 400)),
        ("", {"base_resp": {"status_code": 1002, "status_msg": "Limit"}}, Fault("Limit", "1002", 429)),
    ],
)
def test_errors_in_the_stream(name: str, payload: Any, fault: Fault) -> None:
    """An error inside a 200 stream is a fault with the status its word stands for, in each shape."""
    assert list(AnthropicReader().read(SseEvent(json.dumps(payload), name))) == [fault]


def test_foreign_end_marker() -> None:
    """A gateway that ends in the other protocol's way has ended, with a flag."""
    assert list(AnthropicReader().read(SseEvent("[DONE]"))) == [Anomaly("foreign_end_marker"), StreamEnd()]


def test_whole_body() -> None:
    """A host that does not stream answers the same, in one object."""
    body = {
        "type": "message",
        "id": "m1",
        "model": "claude",
        "content": [
            {"type": "thinking", "thinking": "Hm"},
            {"type": "text", "text": "A"},
            {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}},
            {"type": "tool_use", "id": "u", "name": "now"},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 3, "cache_read_input_tokens": 2, "output_tokens": 4},
    }
    assert list(AnthropicReader().read_body(body)) == [
        Identity(model="claude", response_id="m1"),
        Usage(input=5, output=4, cached=2),
        ReasoningDelta("Hm"),
        TextDelta("A"),
        ToolCallDelta(0, "t", "f", '{"a": 1}'),
        ToolCallDelta(1, "u", "now", "{}"),
        Finish("tool_calls", "tool_use"),
        StreamEnd(),
    ]


def test_recorded_429_body_is_a_fault() -> None:
    """The error body of a recorded 429 reads the same inside a 200."""
    body = json.loads(captured("aimock.429.anthropic.txt"))
    assert list(AnthropicReader().read_body(body)) == [Fault("Rate limit exceeded", "rate_limit_error", 429)]


@given(
    st.lists(
        st.tuples(
            st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5), max_size=3), st.integers(1, 9)
        ),
        max_size=4,
    )
)
def test_split_arguments_come_together(arguments: list[tuple[dict[str, Any], int]]) -> None:
    """Calls whose arguments were cut into pieces of any size come back whole and in order."""
    payloads: list[Any] = []
    for number, (value, size) in enumerate(arguments):
        text = json.dumps(value)
        payloads.append(block(number, "tool_use", id=f"t{number}", name=f"f{number}", input={}))
        payloads.extend(
            delta(number, "input_json_delta", partial_json=text[at : at + size]) for at in range(0, len(text), size)
        )
        payloads.append(stop(number))
    calls_heard = answer(*payloads).response.tool_calls
    assert [json.loads(call.arguments) for call in calls_heard] == [value for value, _ in arguments]
    assert [call.name for call in calls_heard] == [f"f{number}" for number in range(len(arguments))]
