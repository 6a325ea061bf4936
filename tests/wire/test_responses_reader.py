"""The Responses reader: recorded answers, and nothing counted twice."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from costs import assert_linear
from hypothesis import given
from hypothesis import strategies as st
from listening import captured, heard, told

from vendor_verifier.records.event import Anomaly, Fault, Finish, SseEvent, StreamEnd, StreamEvent, Usage
from vendor_verifier.wire.assembler import Collected, collect
from vendor_verifier.wire.openai_responses.reader import ResponsesReader

STREAMS = ["aimock.responses.stream.txt", "llamacpp.responses.stream.txt"]


@pytest.mark.parametrize(
    ("name", "arguments", "usage"),
    [
        ("aimock.responses.stream.txt", '{"location":"Paris","unit":"celsius"}', Usage(0, 0)),
        ("llamacpp.responses.stream.txt", '{"location":""}', Usage(571, 62, 570)),
    ],
)
def test_recorded_call_is_counted_once(name: str, arguments: str, usage: Usage) -> None:
    """Deltas, done, item.done and the final response tell one call; llama.cpp leaves one of them out."""
    collected = collect(heard(ResponsesReader(), [captured(name)]))
    (call,) = collected.response.tool_calls
    assert (call.name, call.arguments) == ("get_weather", arguments)
    assert (call.id or "").startswith("call_")
    assert (collected.response.finish_reason, collected.response.finish_raw) == ("tool_calls", "completed")
    assert collected.response.usage == usage
    assert collected.ended
    assert "retold_differently" not in collected.response.anomalies


@pytest.mark.parametrize("name", STREAMS)
def test_recorded_stream_cut_before_its_end_is_not_complete(name: str) -> None:
    """Without the final event the answer was cut, its partial call is kept."""
    collected = collect(heard(ResponsesReader(), [captured(name).partition(b"event: response.completed")[0]]))
    assert not collected.complete
    assert len(collected.response.tool_calls) == 1


def stream(*payloads: dict[str, Any] | str) -> list[StreamEvent]:
    return told(ResponsesReader(), *payloads)


def answer(*payloads: dict[str, Any] | str) -> Collected:
    return collect(stream(*payloads), streamed=True)


def event(name: str, **fields: Any) -> dict[str, Any]:
    return {"type": f"response.{name}", **fields}


def text_part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": []}


def message(text: str, id: str = "msg_1") -> dict[str, Any]:
    return {"type": "message", "id": id, "role": "assistant", "content": [text_part(text)]}


def function_call(arguments: Any = "", name: str = "f", id: str | None = "fc_1", call_id: str | None = "call_1") -> Any:
    return {"type": "function_call", "id": id, "call_id": call_id, "name": name, "arguments": arguments}


def completed(*output: Any, **fields: Any) -> dict[str, Any]:
    return event("completed", response={"id": "r", "status": "completed", "output": list(output), **fields})


TEXT_DELTAS = [
    event("output_text.delta", item_id="msg_1", output_index=0, content_index=0, delta="Hel"),
    event("output_text.delta", item_id="msg_1", output_index=0, content_index=0, delta="lo"),
]
TEXT_TELLINGS = [
    event("output_text.done", item_id="msg_1", output_index=0, content_index=0, text="Hello"),
    event("content_part.done", item_id="msg_1", output_index=0, content_index=0, part=text_part("Hello")),
    event("output_item.done", output_index=0, item=message("Hello")),
    completed(message("Hello")),
]


@given(st.booleans(), st.lists(st.booleans(), min_size=4, max_size=4).filter(any))
def test_text_is_counted_once_however_often_it_is_told(has_deltas: bool, told: list[bool]) -> None:
    """Any selection of deltas, done, part.done, item.done and the final response gives the text once."""
    tellings = [telling for telling, is_told in zip(TEXT_TELLINGS, told, strict=True) if is_told]
    response = answer(*(TEXT_DELTAS if has_deltas else []), *tellings).response
    assert response.text == "Hello"
    assert "retold_differently" not in response.anomalies


@pytest.mark.parametrize(
    "done",
    [
        event("output_item.done", item=message("Hello", id="other")),
        event("output_item.done", output_index=0, item=message("Hello", id="other")),
        event("output_text.done", text="Hello"),
        completed(message("Hello", id="other")),
    ],
)
def test_text_under_a_changed_id_is_counted_once(done: dict[str, Any]) -> None:
    """Gateways that change or drop the item id on the way do not double the text."""
    assert answer(*TEXT_DELTAS, done).response.text == "Hello"


def test_text_without_any_address() -> None:
    """Deltas without item id and index are text all the same."""
    assert (
        answer(event("output_text.delta", delta="Hel"), event("output_text.delta", delta="lo")).response.text == "Hello"
    )


def test_missing_end_of_the_text_is_filled_in() -> None:
    """What the deltas left out comes from the retelling."""
    assert answer(TEXT_DELTAS[0], TEXT_TELLINGS[0]).response.text == "Hello"


def test_contradicting_retelling_is_an_anomaly() -> None:
    """A retelling that is not what was streamed is flagged and changes nothing."""
    response = answer(*TEXT_DELTAS, event("output_text.done", item_id="msg_1", text="Goodbye!")).response
    assert (response.text, response.anomalies) == ("Hello", ("retold_differently",))


def test_two_messages_and_two_parts_are_kept_apart() -> None:
    """Several items and several parts of one item are all told."""
    response = answer(
        event("output_text.delta", item_id="a", output_index=0, content_index=0, delta="1"),
        event("output_text.delta", item_id="a", output_index=0, content_index=1, delta="2"),
        event("output_text.delta", item_id="b", output_index=1, content_index=0, delta="3"),
        event("output_text.done", item_id="a", output_index=0, content_index=1, text="2"),
        event("output_text.done", item_id="b", output_index=1, content_index=0, text="3"),
    ).response
    assert (response.text, response.anomalies) == ("123", ())


def test_refusal_is_text() -> None:
    """A refusal is what the model said."""
    deltas = [event("refusal.delta", item_id="a", delta="No"), event("refusal.done", item_id="a", refusal="No")]
    assert answer(*deltas).response.text == "No"


@pytest.mark.parametrize("kind", ["reasoning_text", "reasoning_summary_text"])
def test_reasoning_is_counted_once(kind: str) -> None:
    """Reasoning and its summary are reasoning, told once."""
    item = {"type": "reasoning", "id": "r", "summary": [], "content": []}
    field, part_type = ("content", "reasoning_text") if kind == "reasoning_text" else ("summary", "summary_text")
    item[field] = [{"type": part_type, "text": "hm"}]
    response = answer(
        event("output_item.added", output_index=0, item={"type": "reasoning", "id": "r"}),
        event(f"{kind}.delta", item_id="r", output_index=0, delta="hm"),
        event(f"{kind}.done", item_id="r", output_index=0, text="hm"),
        event("output_item.done", output_index=0, item=item),
        completed(item),
    ).response
    assert (response.reasoning, response.text, response.anomalies) == ("hm", "", ())


def arguments_delta(delta: str, **address: Any) -> dict[str, Any]:
    return event("function_call_arguments.delta", delta=delta, **address)


CALL_STEPS = [
    event("output_item.added", output_index=0, item=function_call()),
    arguments_delta('{"a":', item_id="fc_1", output_index=0),
    arguments_delta("1}", item_id="fc_1", output_index=0),
    event("function_call_arguments.done", item_id="fc_1", output_index=0, arguments='{"a":1}'),
    event("output_item.done", output_index=0, item=function_call('{"a":1}')),
    completed(function_call('{"a":1}')),
]


@pytest.mark.parametrize(
    "left_out",
    [(), (3,), (4,), (5,), (1, 2), (1, 2, 3), (0, 1, 2, 3), (1, 2, 3, 4), (0, 1, 2, 3, 4), (0,), (2, 3)],
)
def test_call_is_counted_once_however_it_is_told(left_out: tuple[int, ...]) -> None:
    """Whichever tellings a host leaves out, the call is there once and whole."""
    steps = [step for number, step in enumerate(CALL_STEPS) if number not in left_out]
    response = answer(*steps).response
    assert [(call.name, call.arguments) for call in response.tool_calls] == [("f", '{"a":1}')]
    assert "retold_differently" not in response.anomalies


def test_parallel_calls_interleaved_by_output_index() -> None:
    """Deltas without item id go to the call at their output index."""
    response = answer(
        event("output_item.added", output_index=0, item=function_call(name="f", id=None, call_id="a")),
        event("output_item.added", output_index=1, item=function_call(name="g", id=None, call_id="b")),
        arguments_delta('{"x":', output_index=0),
        arguments_delta('{"y":', output_index=1),
        arguments_delta("1}", output_index=0),
        arguments_delta("2}", output_index=1),
        completed(),
    ).response
    assert [(call.id, call.name, call.arguments) for call in response.tool_calls] == [
        ("a", "f", '{"x":1}'),
        ("b", "g", '{"y":2}'),
    ]


def test_parallel_calls_interleaved_by_item_id() -> None:
    """Deltas without output index (llama.cpp) go to the call of their item id."""
    response = answer(
        event("output_item.added", item=function_call(name="f", id="1", call_id="a")),
        event("output_item.added", item=function_call(name="g", id="2", call_id="b")),
        arguments_delta("{}", item_id="1"),
        arguments_delta("[]", item_id="2"),
    ).response
    assert [(call.name, call.arguments) for call in response.tool_calls] == [("f", "{}"), ("g", "[]")]


def test_calls_that_share_an_item_id_are_two() -> None:
    """A different call_id is a different call, whatever the item id says."""
    response = answer(
        event("output_item.added", output_index=0, item=function_call("{}", "f", "x", "a")),
        event("output_item.added", output_index=0, item=function_call("{}", "g", "x", "b")),
        completed(),
    ).response
    assert [call.name for call in response.tool_calls] == ["f", "g"]


def test_arguments_under_an_unknown_item_id() -> None:
    """Deltas whose item id was never announced belong to the call at hand, and that is flagged."""
    response = answer(
        event("output_item.added", item=function_call(id="fc_1")),
        arguments_delta("{", item_id="zz"),
        arguments_delta("}", item_id="zz"),
        event("output_item.done", item=function_call("{}", id="fc_1")),
    ).response
    assert [(call.name, call.arguments) for call in response.tool_calls] == [("f", "{}")]
    assert "arguments_without_item" in response.anomalies


def test_final_response_with_other_ids_adds_no_call() -> None:
    """Ids that a gateway changed in the final response do not double the call."""
    response = answer(*CALL_STEPS[:3], completed(function_call('{"a":1}', id="fc_9", call_id="call_9"))).response
    assert len(response.tool_calls) == 1


def test_arguments_as_an_object() -> None:
    """An object is read and flagged, once."""
    response = answer(
        event("output_item.added", output_index=0, item=function_call({"a": 1})),
        event("output_item.done", output_index=0, item=function_call({"a": 1})),
    ).response
    assert [call.arguments for call in response.tool_calls] == ['{"a": 1}']
    assert "arguments_object" in response.anomalies


def test_call_without_arguments() -> None:
    """A call that never got arguments is still a call."""
    response = answer(event("output_item.added", item=function_call()), completed(function_call())).response
    assert [(call.name, call.arguments) for call in response.tool_calls] == [("f", "")]
    assert response.finish_reason == "tool_calls"


def test_completed_without_output() -> None:
    """llama.cpp's empty answer has no output item; it is complete and empty."""
    collected = answer(completed())
    assert collected.complete
    assert collected.empty
    assert collected.response.finish_reason == "stop"


@pytest.mark.parametrize(
    ("details", "reason", "raw"),
    [
        ({"reason": "max_output_tokens"}, "length", "max_output_tokens"),
        ({"reason": "content_filter"}, "content_filter", "content_filter"),
        ({"reason": "banana"}, "unknown", "banana"),
        (None, "unknown", "incomplete"),
    ],
)
def test_incomplete(details: Any, reason: str, raw: str) -> None:
    """An incomplete response ends the stream with its own reason, calls or not."""
    collected = answer(
        event("output_item.added", item=function_call('{"a":')),
        event("incomplete", response={"status": "incomplete", "incomplete_details": details}),
    )
    assert collected.ended
    assert (collected.response.finish_reason, collected.response.finish_raw) == (reason, raw)


def test_status_counts_more_than_the_event_name() -> None:
    """A response that says incomplete inside a completed event is incomplete."""
    response = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    assert Finish("length", "max_output_tokens") in stream(event("completed", response=response))


@pytest.mark.parametrize(
    ("payload", "status", "code"),
    [
        (
            event("failed", response={"status": "failed", "error": {"code": "rate_limit_exceeded", "message": "m"}}),
            429,
            "rate_limit_exceeded",
        ),
        (event("failed", response={"error": {"code": "server_error", "message": "m"}}), 500, "server_error"),
        (event("failed", response={"status": "failed", "error": None}), None, "failed"),
        (event("cancelled", response={}), None, "cancelled"),
        ({"type": "error", "code": "rate_limit_exceeded", "message": "m", "param": None}, 429, "rate_limit_exceeded"),
        ({"type": "error", "error": {"type": "server_error", "message": "m"}}, 500, "server_error"),
        ({"error": {"message": "m", "code": 502}}, 502, "502"),
        (event("error", message="m", code="server_error"), None, "server_error"),
    ],
)
def test_failures_are_faults(payload: dict[str, Any], status: int | None, code: str) -> None:
    """response.failed, error events and bare errors are faults, never an end."""
    events = stream(payload)
    assert [(fault.status, fault.code) for fault in events if isinstance(fault, Fault)] == [(status, code)]
    assert StreamEnd() not in events


def test_done_marker_of_gateways() -> None:
    """[DONE], which the protocol does not have, is taken for the end."""
    assert stream("[DONE]", "") == [StreamEnd()]


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (
            {
                "input_tokens": 9,
                "output_tokens": 8,
                "input_tokens_details": {"cached_tokens": 7},
                "output_tokens_details": {"reasoning_tokens": 6},
                "cost": 0.5,
            },
            Usage(9, 8, 7, 6, 0.5),
        ),
        ({"prompt_tokens": 3, "completion_tokens": 4}, Usage(3, 4)),
        ({"input_tokens": None, "output_tokens": -1}, Usage()),
        (None, None),
    ],
)
def test_usage(usage: Any, expected: Usage | None) -> None:
    """Tokens with their details, the other vocabulary, nonsense and absence."""
    assert answer(completed(usage=usage)).response.usage == expected


def test_identity() -> None:
    """The model and id of the response are kept, also when they come only at the end."""
    response = answer(event("created", response={"id": "r1"}), completed(model="m2", provider="p")).response
    assert (response.request_id, response.served_model, response.served_provider) == ("r1", "m2", "p")


def test_unknown_events_are_skipped_and_unknown_items_noted() -> None:
    """New kinds of events say nothing; a new kind of output item is an anomaly."""
    assert stream(event("banana.delta", delta="x"), {"type": "ping"}, {}) == []
    assert stream(event("output_item.added", item={"type": "web_search_call"})) == [Anomaly("unknown_output_item")]


def test_whole_body() -> None:
    """A response that was not streamed is read in one go."""
    reasoning = {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "hm"}]}
    output = [reasoning, message("Hello"), function_call('{"a":1}')]
    body = {"object": "response", "id": "r", "model": "m", "status": "completed", "output": output, "error": None}
    collected = collect(ResponsesReader().read_body(body))
    response = collected.response
    assert (response.reasoning, response.text, response.tool_calls[0].arguments) == ("hm", "Hello", '{"a":1}')
    assert response.finish_reason == "tool_calls"
    assert collected.ended


def test_many_short_retellings_of_a_long_text_cost_little() -> None:
    """Twice as many short retellings of a text twice as long cost twice as much: none of them reads it again."""

    def work_of(retellings: int) -> Callable[[], None]:
        reader = ResponsesReader()
        long = json.dumps(event("output_text.delta", item_id="a", delta="x" * 800 * retellings))
        list(reader.read(SseEvent(long)))
        list(reader.read(SseEvent(json.dumps(event("output_text.delta", item_id="a", delta="y")))))

        def retell() -> None:
            for number in range(retellings):
                address = {"item_id": "a" if number % 2 else f"b{number}"}
                list(reader.read(SseEvent(json.dumps(event("output_text.done", text="no", **address)))))
                list(reader.read(SseEvent(json.dumps(event("output_text.delta", delta="y", **address)))))

        return retell

    assert_linear(work_of, 1_250)
