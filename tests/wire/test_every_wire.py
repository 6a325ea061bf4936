"""What every wire keeps to: chunking changes nothing, bad events spoil nothing, errors are heard, nothing raises."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from listening import STREAMS, heard, told

from vendor_verifier.records.event import Anomaly, Fault, Lost, StreamEvent, TextDelta
from vendor_verifier.records.request import Endpoint, Turn
from vendor_verifier.registry import WIRES
from vendor_verifier.wire.assembler import collect
from vendor_verifier.wire.base import Wire
from vendor_verifier.wire.openai_completions import OpenAICompletions

ALL: dict[str, Wire] = {**WIRES, "openai_completions": OpenAICompletions(render=lambda _turn: "hi")}
EVERY_STREAM = [
    pytest.param(wire, body, id=f"{wire}-{label}")
    for wire, streams in STREAMS.items()
    for label, body in streams.items()
]
# An event that says "Hi" and nothing else.
TEXTS: dict[str, Any] = {
    "openai": {"choices": [{"index": 0, "delta": {"content": "Hi"}}]},
    "openai_completions": {"choices": [{"index": 0, "text": "Hi"}]},
    "openai_responses": {"type": "response.output_text.delta", "delta": "Hi"},
    "anthropic": {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}},
    "gemini": {"candidates": [{"content": {"parts": [{"text": "Hi"}]}}]},
}
# What the protocols' objects are made of: JSON that looks almost right finds more than JSON of any kind.
KEYS: dict[str, str] = {
    "openai": "choices delta message tool_calls function index id name arguments content usage finish_reason error "
    "base_resp status_code reasoning_details cost code object type",
    "openai_completions": "choices text finish_reason index usage delta content error id model",
    "openai_responses": "item id item_id call_id output_index content_index delta text arguments name response output "
    "content part status usage type summary incomplete_details",
    "anthropic": "type index message content_block delta usage id name input text thinking content partial_json "
    "stop_reason error input_tokens output_tokens model output_tokens_details",
    "gemini": "candidates content parts text thought functionCall name args id finishReason index promptFeedback "
    "blockReason usageMetadata promptTokenCount thoughtsTokenCount modelVersion error",
}
WORDS: dict[str, str] = {
    "openai": "stop tool_calls error",
    "openai_completions": "stop length <tool_call> </tool_call>",
    "openai_responses": "function_call message output_text reasoning completed failed response.created "
    "response.output_item.added response.output_item.done response.output_text.delta response.output_text.done "
    "response.function_call_arguments.delta response.function_call_arguments.done response.content_part.done "
    "response.completed response.failed response.incomplete",
    "anthropic": "message_start content_block_start content_block_delta content_block_stop message_delta message_stop "
    "tool_use server_tool_use text thinking text_delta input_json_delta thinking_delta",
    "gemini": "STOP MALFORMED_FUNCTION_CALL",
}
TURN_KEYS = (
    "role content tool_calls tool_call_id function name arguments id type text image_url url parameters properties "
    "$ref anyOf strict tool_choice response_format json_schema schema stop n max_tokens temperature"
)
TURN_WORDS = "system user assistant tool function object array text image_url auto required json_schema #"


def near_json(keys: str, words: str) -> st.SearchStrategy[Any]:
    """Any JSON, above all such as is made of these keys and words, half characters included."""
    scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False)
    texts = st.text(max_size=6) | st.sampled_from([*words.split(), "\ud800"])
    return st.recursive(
        scalars | texts,
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(keys.split()), inner | texts, max_size=6)
            | st.dictionaries(st.text(max_size=6), inner, max_size=3)
        ),
        max_leaves=16,
    )


NEAR = {name: near_json(KEYS[name], WORDS[name]) for name in KEYS}
# A busy machine is no failure.
UNHURRIED = settings(deadline=None)
NEAR_TURN = near_json(TURN_KEYS, TURN_WORDS)


def test_every_wire_is_tested_here() -> None:
    """A wire without streams or keys would be left out in silence."""
    assert set(ALL) == set(STREAMS) == set(TEXTS) == set(KEYS) == set(WORDS)


@pytest.mark.parametrize(("wire", "body"), EVERY_STREAM)
def test_stream_byte_by_byte_and_in_other_dress(wire: str, body: bytes) -> None:
    """A stream gives the same events whole, byte by byte, with CRLF, with a BOM and without its last blank line."""

    def events(*chunks: bytes) -> list[StreamEvent]:
        return heard(ALL[wire].reader(), chunks)

    whole = events(body)
    assert len(whole) >= 2
    assert events(*(body[at : at + 1] for at in range(len(body)))) == whole
    assert events(body.replace(b"\n", b"\r\n")) == whole
    assert events(b"\xef\xbb\xbf" + body) == whole
    assert events(body.rstrip(b"\n")) == whole


@pytest.mark.parametrize(("wire", "body"), EVERY_STREAM)
@UNHURRIED
@given(places=st.lists(st.integers(0, 20_000), max_size=20))
def test_stream_in_any_chunking(wire: str, body: bytes, places: list[int]) -> None:
    """Where the network cuts a stream makes no difference to what is heard."""
    edges = [0, *sorted(place % len(body) for place in places), len(body)]
    chunks = [body[start:end] for start, end in pairwise(edges)]
    assert heard(ALL[wire].reader(), chunks) == heard(ALL[wire].reader(), [body])


@pytest.mark.parametrize("wire", ALL)
@pytest.mark.parametrize("data", ['"hi"', "ping", "[]", "null", "42", "NaN", "Infinity", "<html>"])
def test_unreadable_events_are_anomalies(wire: str, data: str) -> None:
    """Words that are no JSON and JSON that is no object are noted and the reading goes on."""
    assert told(ALL[wire].reader(), data, TEXTS[wire]) == [Anomaly("bad_event"), TextDelta("Hi")]


@pytest.mark.parametrize("wire", ALL)
@pytest.mark.parametrize("data", ["{", '{"choices": [{"delta"', "[1,", ' {"a": NaN}'])
def test_an_event_that_breaks_off_is_a_lost_piece(wire: str, data: str) -> None:
    """JSON that begins and cannot be read took something of the answer with it; the reading goes on."""
    lost, said = told(ALL[wire].reader(), data, TEXTS[wire])
    assert isinstance(lost, Lost)
    assert said == TextDelta("Hi")


@pytest.mark.parametrize("wire", ALL)
def test_error_event_that_is_not_json(wire: str) -> None:
    """An error event in plain text keeps its text."""
    assert told(ALL[wire].reader(), "upstream gone", name="error") == [Fault("upstream gone")]


@pytest.mark.parametrize("wire", ALL)
@pytest.mark.parametrize(
    ("name", "payload", "fault"),
    [
        ("", {"error": {"message": "m", "code": 503}}, Fault("m", "503", 503)),
        ("", {"error": {"type": "rate_limit_error", "message": "Slow"}}, Fault("Slow", "rate_limit_error", 429)),
        ("error", {"message": "Boom"}, Fault("Boom")),
        ("", {"object": "error", "message": "Bad", "code": 400}, Fault("Bad", "400", 400)),
        ("", {"base_resp": {"status_code": 1002, "status_msg": "Limit"}}, Fault("Limit", "1002", 429)),
    ],
    ids=["error", "error-by-type", "event-error", "vllm", "minimax"],
)
def test_errors_in_the_stream(wire: str, name: str, payload: Any, fault: Fault) -> None:
    """An error inside a 200 stream is a fault with the status it stands for, whoever's shape it has."""
    assert told(ALL[wire].reader(), payload, name=name) == [fault]


@pytest.mark.parametrize("wire", ALL)
@pytest.mark.parametrize(
    ("body", "code"),
    [
        (None, "not_an_object"),
        ("x", "not_an_object"),
        (1, "not_an_object"),
        (True, "not_an_object"),
        ({"hello": 1}, "no_choices"),
        ({"error": {"code": 503, "message": "x"}}, "503"),
    ],
)
def test_bodies_that_are_no_answer(wire: str, body: object, code: str) -> None:
    """A body in another shape is a fault that says which."""
    (fault,) = ALL[wire].reader().read_body(body)
    assert isinstance(fault, Fault)
    assert fault.code == code


@pytest.mark.parametrize("wire", [name for name in ALL if name != "gemini"])
def test_an_array_is_no_answer(wire: str) -> None:
    """Only Gemini answers in arrays."""
    assert [event.code for event in ALL[wire].reader().read_body([]) if isinstance(event, Fault)] == ["not_an_object"]


@pytest.mark.parametrize("wire", ALL)
@UNHURRIED
@given(data=st.data())
def test_arbitrary_events_never_raise(wire: str, data: st.DataObject) -> None:
    """Any JSON, event after event, is read without an exception into an answer that can be written."""
    payloads = data.draw(st.lists(NEAR[wire], max_size=8))
    name = data.draw(st.sampled_from(["", "error", "ping"]))
    events = told(ALL[wire].reader(), *map(json.dumps, payloads), name=name)
    response = collect(events, streamed=True).response
    assert response.streamed
    str(response).encode()


@pytest.mark.parametrize("wire", ALL)
@UNHURRIED
@given(data=st.data())
def test_arbitrary_bodies_never_raise(wire: str, data: st.DataObject) -> None:
    """Any JSON as a whole body says something or is a fault; only Gemini, without an end marker, may say nothing."""
    events = list(ALL[wire].reader().read_body(data.draw(NEAR[wire])))
    assert events or wire == "gemini"
    str(collect(events).response).encode()


@pytest.mark.parametrize("wire", ALL)
@UNHURRIED
@given(
    messages=st.lists(NEAR_TURN, max_size=5),
    tools=st.lists(NEAR_TURN, max_size=3),
    parameters=st.dictionaries(st.sampled_from(TURN_KEYS.split()), NEAR_TURN, max_size=4),
)
def test_no_turn_raises(wire: str, messages: list[Any], tools: list[Any], parameters: dict[str, Any]) -> None:
    """Any turn becomes a request, sendable or not; a malformed sample never stops a run."""
    turn = Turn(tuple(messages), tuple(tools), parameters)
    assert ALL[wire].request(turn, Endpoint("https://x.test/v1", "m")).body
