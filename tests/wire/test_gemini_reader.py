"""The Gemini reader: recorded answers, whole bodies and each quirk by name."""

from __future__ import annotations

import json
from typing import Any

import pytest
from listening import captured, heard, told
from turns import USER

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
from vendor_verifier.records.record import Exchange
from vendor_verifier.records.request import Endpoint, Turn
from vendor_verifier.wire.assembler import Collected, collect
from vendor_verifier.wire.gemini import Gemini
from vendor_verifier.wire.gemini.reader import FAILED_CALLS, FINISH_REASONS, GeminiReader
from vendor_verifier.wire.parse_answer import read_answer


def stream(*payloads: Any) -> list[StreamEvent]:
    return told(GeminiReader(), *payloads)


def answer(*payloads: Any) -> Collected:
    return collect(stream(*payloads), streamed=True)


def said(*parts: Any, **more: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, "index": 0}], **more}


def ended(reason: Any, *parts: Any, **more: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"parts": list(parts)}, "finishReason": reason}], **more}


def call(name: str = "f", **args: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": args}}


def test_recorded_answer_of_aimock() -> None:
    """The recorded answer: one whole call and that gateway's own finish word."""
    collected = collect(heard(GeminiReader(), [captured("aimock.gemini.stream.txt")]), streamed=True)
    response = collected.response
    assert [(made.name, json.loads(made.arguments)) for made in response.tool_calls] == [
        ("get_weather", {"location": "Paris", "unit": "celsius"})
    ]
    assert (response.finish_reason, response.finish_raw) == ("tool_calls", "FUNCTION_CALL")
    assert response.usage == Usage(input=0, output=0)
    assert collected.complete
    assert not collected.ended


def test_arguments_are_text_without_a_flag() -> None:
    """Arguments as an object are this protocol's standard, so they come out as text and unflagged."""
    collected = answer(said(call(city="Köln")))
    (made,) = collected.response.tool_calls
    assert made.arguments == '{"city": "Köln"}'
    assert made.anomalies == ()


def test_a_long_call_in_one_event_is_not_called_buffered() -> None:
    """Over this protocol it cannot come otherwise. A text in one event could have."""
    long = {"text": "It is raining in Porto and in Lisbon, as it was yesterday."}
    alone, told, both = (
        collect(stream(said(*parts)), streamed=True).response
        for parts in ([call(city="Porto" * 20)], [long], [long, call(city="Porto")])
    )
    assert (alone.calls_whole, alone.anomalies) == (True, ())
    for other in (told, both):
        assert (other.calls_whole, other.anomalies) == (False, ("buffered",))


def test_call_without_args_and_with_id() -> None:
    """A tool without arguments gets an empty object; an id is kept where there is one."""
    assert stream(said({"functionCall": {"name": "now", "id": "c1"}})) == [
        ToolCallDelta(0, "c1", "now", "{}", is_whole=True)
    ]


@pytest.mark.parametrize(("given_args", "text"), [('{"a":1}', '{"a":1}'), ([1], "{}"), (5, "{}")])
def test_args_that_are_no_object(given_args: Any, text: str) -> None:
    """Arguments of another kind are flagged; text is taken as it is."""
    events = stream(said({"functionCall": {"name": "f", "args": given_args}}))
    assert events == [Anomaly("arguments_not_an_object"), ToolCallDelta(0, None, "f", text, is_whole=True)]


def test_parallel_calls_without_ids_stay_apart() -> None:
    """Two calls of one tool, in one event or in two, are two calls."""
    collected = answer(said(call(a=1), call(a=2)), said(call(a=1)), ended("STOP"))
    assert [made.arguments for made in collected.response.tool_calls] == ['{"a": 1}', '{"a": 2}', '{"a": 1}']


def test_stop_after_a_call_means_tool_calls() -> None:
    """The protocol says STOP for calls too, often in a later event: that is not a disagreement."""
    for payloads in ([said(call()), ended("STOP")], [ended("STOP", call())]):
        response = answer(*payloads).response
        assert (response.finish_reason, response.finish_raw) == ("tool_calls", "STOP")
        assert "finish_changed" not in response.anomalies
    assert answer(ended("STOP", {"text": "Hi"})).response.finish_reason == "stop"


def test_finish_repeated_in_every_event() -> None:
    """A model that says STOP with every event has finished once."""
    events = stream(ended("STOP", {"text": "A"}), ended("STOP", {"text": "B"}))
    assert events == [TextDelta("A"), Finish("stop", "STOP"), TextDelta("B")]


@pytest.mark.parametrize("raw", sorted(FAILED_CALLS))
def test_refused_calls_are_failures_not_stops(raw: str) -> None:
    """A call that Google's parser refused ends in an error and says which, never in a plain stop."""
    events = stream(ended(raw))
    assert events == [Anomaly(raw.lower()), Finish("error", raw)]


def test_the_refused_calls_known() -> None:
    """The two words that matter most are among the refused calls."""
    assert {"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"} <= set(FAILED_CALLS)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        *((raw, reason) for raw, reason in FINISH_REASONS.items() if raw not in FAILED_CALLS),
        ("OTHER", "unknown"),
        ("BRAND_NEW", "unknown"),
    ],
)
def test_finish_reasons(raw: str, reason: str) -> None:
    """Every finish reason has its place in the field's words, and the vendor's word is kept."""
    assert stream(ended(raw)) == [Finish(reason, raw)]  # type: ignore[arg-type]


def test_filters_are_not_stops() -> None:
    """The words of Google's filters all mean a filter."""
    words = ("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII")
    assert {FINISH_REASONS[word] for word in words} == {"content_filter"}
    assert FINISH_REASONS["MAX_TOKENS"] == "length"


def test_blocked_prompt() -> None:
    """A refused prompt comes without any candidate and is a finished, filtered answer."""
    collected = answer({"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 4}})
    assert (collected.response.finish_reason, collected.response.finish_raw) == ("content_filter", "SAFETY")
    assert collected.response.usage == Usage(input=4)


def test_cut_stream_is_incomplete() -> None:
    """There is no end marker: without a finish reason the answer was cut."""
    assert not answer(said({"text": "Hel"})).complete
    assert answer(said({"text": "Hel"}), ended("STOP")).complete


def test_thoughts_are_billed_output() -> None:
    """Thoughts are part of the output, tool-use prompts of the input, and cached tokens are already in it."""
    usage = {
        "promptTokenCount": 10,
        "cachedContentTokenCount": 6,
        "toolUsePromptTokenCount": 3,
        "candidatesTokenCount": 5,
        "thoughtsTokenCount": 20,
        "totalTokenCount": 38,
    }
    assert stream({"usageMetadata": usage}) == [Usage(input=13, output=25, cached=6, reasoning=20)]


def test_usage_is_cumulative() -> None:
    """Counts are reported again with every event and some are left out: the last of each kind stands."""
    collected = answer(
        said({"text": "A"}, usageMetadata={"promptTokenCount": 10, "thoughtsTokenCount": 20}),
        ended("STOP", usageMetadata={"promptTokenCount": 10, "candidatesTokenCount": 5}),
    )
    assert collected.response.usage == Usage(input=10, output=25, reasoning=20)


def test_usage_absent_stays_absent() -> None:
    """A host that reports nothing reports nothing, not zero."""
    assert answer(ended("STOP")).response.usage is None
    assert stream({"usageMetadata": {"totalTokenCount": 3}}) == [Usage()]


def test_thoughts_are_reasoning() -> None:
    """Thought parts are reasoning, other text is the answer, a part with a signature alone is neither."""
    events = stream(said({"text": "Hm", "thought": True}, {"text": "Hi"}, {"text": "", "thoughtSignature": "zzz"}))
    assert events == [ReasoningDelta("Hm"), TextDelta("Hi")]


@pytest.mark.parametrize(
    ("part", "anomaly"),
    [
        ({"inlineData": {"mimeType": "image/png", "data": "QUJD"}}, "inline_data_ignored"),
        ({"executableCode": {"code": "1"}}, "code_execution_ignored"),
        ({"codeExecutionResult": {"outcome": "OK"}}, "code_execution_ignored"),
    ],
)
def test_ignored_parts_are_flagged(part: dict[str, Any], anomaly: str) -> None:
    """Parts that are neither text nor calls are left out, with a flag."""
    assert stream(said(part)) == [Anomaly(anomaly)]


def test_identity() -> None:
    """The served model and the response's id are told once."""
    events = stream({"modelVersion": "gemini-x", "responseId": "r"}, {"modelVersion": "gemini-x", "responseId": "r"})
    assert events == [Identity(model="gemini-x", response_id="r")]


def test_only_the_first_candidate_is_read() -> None:
    """Candidates nobody asked for do not mix with the first."""
    both = {"candidates": [{"index": 1, "content": {"parts": [{"text": "B"}]}}, said({"text": "A"})["candidates"][0]]}
    assert stream(both) == [TextDelta("A")]


@pytest.mark.parametrize(
    "payload",
    [
        {"error": {"code": 429, "message": "Slow down", "status": "RESOURCE_EXHAUSTED"}},
        [{"error": {"code": 429, "message": "Slow down", "status": "RESOURCE_EXHAUSTED"}}],
    ],
)
def test_errors_in_the_stream(payload: Any) -> None:
    """An error inside a 200 stream is a fault with its status, alone or in an array of its own."""
    assert stream(payload) == [Fault("Slow down", "429", 429)]


def test_foreign_end_marker() -> None:
    """A gateway that ends in the other protocol's way has ended, with a flag."""
    assert list(GeminiReader().read(SseEvent("[DONE]"))) == [Anomaly("foreign_end_marker"), StreamEnd()]


def test_array_of_chunks() -> None:
    """Without alt=sse the stream is one JSON array, and it says the same."""
    chunks = [said({"text": "Hi"}), said(call(a=1)), ended("STOP", usageMetadata={"promptTokenCount": 1})]
    assert list(GeminiReader().read_body(chunks)) == stream(*chunks)


def test_whole_body() -> None:
    """A single object, as generateContent gives it, is a whole answer."""
    assert list(GeminiReader().read_body(ended("STOP", {"text": "Hi"}))) == [TextDelta("Hi"), Finish("stop", "STOP")]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("hi", "not_an_object"),
        ([], "no_choices"),
        ({"choices": []}, "no_choices"),
        ({"error": {"code": 503, "message": "x"}}, "503"),
        ([{"error": {"code": 503, "message": "x"}}], "503"),
    ],
)
def test_bodies_that_are_no_answer(body: Any, code: str) -> None:
    """A body in another shape is a fault that says which."""
    (fault,) = GeminiReader().read_body(body)
    assert isinstance(fault, Fault)
    assert fault.code == code


def exchange(payload: Any) -> Exchange:
    """A 200 answer whose body is plain JSON."""
    sent_at = "2026-01-01T00:00:00+00:00"
    return Exchange(sent_at, 9, 200, {"content-type": "application/json"}, [(1, json.dumps(payload).encode())])


def test_array_read_from_the_bytes_up() -> None:
    """A stream that came as one JSON array is a success whose speed was not measured."""
    timing, response, failure = read_answer(exchange([said({"text": "Hi"}), ended("STOP")]), GeminiReader())
    assert failure is None
    assert response is not None
    assert (response.text, response.streamed, timing.first_token_ns) == ("Hi", False, None)


def test_refused_call_fails_the_attempt() -> None:
    """From the bytes up, a refused call is a failure that names the word, not an answer that chose not to call."""
    _, response, failure = read_answer(exchange(ended("MALFORMED_FUNCTION_CALL")), GeminiReader())
    assert response is not None
    assert "malformed_function_call" in response.anomalies
    assert failure is not None
    assert (failure.kind, failure.code) == ("api_error_in_200", "MALFORMED_FUNCTION_CALL")


def test_names_in_answers_lead_back() -> None:
    """A call under the name as sent comes out under the name as declared."""
    tool = {"type": "function", "function": {"name": "a b"}}
    request = Gemini().request(Turn((USER,), (tool,)), Endpoint("https://x.test/v1beta", "m"))
    _, response, _ = read_answer(exchange(ended("STOP", call("a_b"))), GeminiReader(), tool_names=request.tool_names)
    assert response is not None
    assert [made.name for made in response.tool_calls] == ["a b"]
