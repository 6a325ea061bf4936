"""The raw-completions wire: prompts as rendered, text as heard, calls as parsed once the model has finished."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.values.event import Fault, Finish, Parsed, SseEvent, StreamEvent, TextDelta, Usage
from vendor_verifier.values.request import Endpoint, HttpRequest, Turn
from vendor_verifier.wire.assemble import Assembler, collect
from vendor_verifier.wire.openai_completions import CannotRender, CompletionsReader, OpenAICompletions
from vendor_verifier.wire.sse import SseDecoder

USER = {"role": "user", "content": "Hi"}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"properties": {"zip": {"type": "string"}}}}}
CALL = '<tool_call>\n{"name": "get-weather.v2", "arguments": {"city": "Paris"}}\n</tool_call>'


def rendered(turn: Turn) -> str:
    return f"{len(turn.tools)} tools|" + "|".join(str(message["content"]) for message in turn.messages)


WIRE = OpenAICompletions(render=rendered)


def asked(wire: OpenAICompletions = WIRE, message: Any = USER, **parameters: Any) -> HttpRequest:
    return wire.request(Turn((message,), (TOOL,), parameters), Endpoint("https://x.test/v1", "m", key="CANARY"))


def body_of(request: HttpRequest) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(request.body)
    return body


def test_request_as_a_whole() -> None:
    """The rendered prompt and the settings; messages and tools are not sent."""
    request = asked(max_completion_tokens=50, temperature=0, stop=["x"], seed=1)
    assert request.url == "https://x.test/v1/completions"
    assert request.headers["authorization"] == "Bearer CANARY"
    assert (request.untranslatable, request.rewritten) == ((), ())
    assert body_of(request) == {
        "model": "m",
        "prompt": "1 tools|Hi",
        "max_tokens": 50,
        "temperature": 0,
        "stop": ["x"],
        "seed": 1,
        "skip_special_tokens": False,
        "add_special_tokens": False,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_request_quirks() -> None:
    """The host's special-token fields and the usage option can be left out; a budget is always sent, and said so."""
    request = asked(replace(WIRE, keep_special_tokens=False, stream_usage=False, default_max_tokens=7))
    assert body_of(request) == {"model": "m", "prompt": "1 tools|Hi", "max_tokens": 7, "stream": True}
    assert request.rewritten == ("added:max_tokens=7",)


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"tool_choice": "required"}, "tool_choice"),
        ({"tool_choice": "none"}, "tool_choice"),
        ({"tool_choice": {"type": "function", "function": {"name": "f"}}}, "tool_choice"),
        ({"parallel_tool_calls": False}, "parallel_tool_calls"),
        ({"response_format": {"type": "json_object"}}, "response_format"),
        ({"n": 2}, "n>1"),
        ({"functions": []}, "functions"),
        ({"modalities": ["text", "audio"]}, "modalities"),
    ],
)
def test_untranslatable_parameters(parameters: dict[str, Any], named: str) -> None:
    """What only a host's chat endpoint can do is named."""
    assert asked(max_tokens=1, **parameters).untranslatable == (named,)


@pytest.mark.parametrize(
    "parameters",
    [
        {"tool_choice": "auto"},
        {"tool_choice": None},
        {"parallel_tool_calls": True},
        {"response_format": {"type": "text"}},
        {"n": 1},
        {"chat_template_kwargs": {"enable_thinking": False}},
        {"reasoning_effort": "low"},
        {"logprobs": True},
    ],
)
def test_parameters_that_are_not_sent(parameters: dict[str, Any]) -> None:
    """Defaults and what the template reads do not reach the host, and make nothing untranslatable."""
    request = asked(max_tokens=1, **parameters)
    assert request.untranslatable == ()
    assert not set(parameters) & set(body_of(request))


@pytest.mark.parametrize("kind", ["image_url", "input_audio", "video_url"])
def test_parts_that_are_not_text(kind: str) -> None:
    """A prompt is text; other parts are named."""
    request = asked(message={"role": "user", "content": [{"type": "text", "text": "a"}, {"type": kind}]})
    assert len(request.untranslatable) == 1
    assert request.untranslatable[0].endswith("part")


def test_no_template_and_a_template_that_cannot() -> None:
    """Without a template nothing is asked; a template's refusal is said in its words."""

    def refuse(turn: Turn) -> str:
        raise CannotRender("roles must alternate")

    assert asked(OpenAICompletions()).untranslatable == ("prompt: no chat template was loaded",)
    assert asked(OpenAICompletions(render=refuse)).untranslatable == ("prompt: roles must alternate",)


# ------------------------------------------------------------------ answers


def chunk(text: Any = "", finish: Any = None, **more: Any) -> str:
    return json.dumps(
        {"id": "c", "model": "m", "choices": [{"index": 0, "text": text, "finish_reason": finish}], **more}
    )


def stream(*payloads: str, tools: Any = ()) -> list[StreamEvent]:
    reader = CompletionsReader(tools)
    return [said for payload in payloads for said in reader.read(SseEvent(payload))]


def heard(chunks: Iterable[bytes]) -> list[StreamEvent]:
    decoder, reader = SseDecoder(), OpenAICompletions().reader()
    events = [event for piece in chunks for event in decoder.feed(piece)]
    events.extend(decoder.close())
    return [said for event in events for said in reader.read(event)]


def pieces(text: str, size: int = 7) -> list[str]:
    return [chunk(text[at : at + size]) for at in range(0, len(text), size)]


STREAM = "".join(
    f"data: {payload}\n\n"
    for payload in [
        *pieces("<think>hm</think>Sure — 😀. " + CALL),
        chunk("", "stop"),
        json.dumps({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 8}}),
        "[DONE]",
    ]
).encode()


def test_streamed_call() -> None:
    """The text streams, at the end it is reasoning, text and a call, and the finish reason is the call's."""
    collected = collect(heard([STREAM]), streamed=True)
    response = collected.response
    assert (response.reasoning, response.text) == ("hm", "Sure — 😀.")
    assert [(call.name, call.arguments) for call in response.tool_calls] == [("get-weather.v2", '{"city": "Paris"}')]
    assert (response.finish_reason, response.finish_raw) == ("tool_calls", "stop")
    assert response.usage == Usage(9, 8)
    assert response.served_model == "m"
    assert "markup_in_text" not in response.anomalies
    assert collected.ended


def test_timing_is_that_of_the_text() -> None:
    """Reading the calls at the end adds no token moment."""
    assembler = Assembler()
    reader = CompletionsReader()
    for at_ns, payload in enumerate([*pieces(CALL), chunk("", "stop"), "[DONE]"]):
        for said in reader.read(SseEvent(payload)):
            assembler.add(said, at_ns)
    moments = assembler.collected().moments
    assert moments.last_token_ns == len(pieces(CALL)) - 1
    assert len(moments.gaps_ns) == len(pieces(CALL)) - 1


@given(st.lists(st.integers(0, len(STREAM)), max_size=20))
def test_stream_in_any_chunking(places: list[int]) -> None:
    """No chunking changes the events."""
    edges = [0, *sorted(places), len(STREAM)]
    assert heard(STREAM[start:end] for start, end in pairwise(edges)) == heard([STREAM])


def test_stream_byte_by_byte_and_in_other_dress() -> None:
    """Byte by byte, with CRLF, with a BOM and without the last blank line: the same events."""
    whole = heard([STREAM])
    assert heard(STREAM[at : at + 1] for at in range(len(STREAM))) == whole
    assert heard([STREAM.replace(b"\n", b"\r\n")]) == whole
    assert heard([b"\xef\xbb\xbf" + STREAM.rstrip(b"\n")]) == whole


def test_plain_answer() -> None:
    """Text without markers keeps its finish reason."""
    response = collect(stream(chunk("Hel"), chunk("lo", "stop"), "[DONE]")).response
    assert (response.text, response.finish_reason, response.tool_calls) == ("Hello", "stop", ())


def test_text_is_read_at_the_end_marker_when_there_is_no_finish_reason() -> None:
    """[DONE] alone ends the text too."""
    response = collect(stream(chunk(CALL), "[DONE]")).response
    assert (response.text, len(response.tool_calls)) == ("", 1)
    assert response.anomalies == ("no_finish_reason",)


def test_text_after_the_finish_reason_is_not_lost_and_calls_are_not_doubled() -> None:
    """A host that goes on after its finish reason has its whole text read again."""
    response = collect(stream(chunk(CALL, "stop"), chunk(" Bye"), "[DONE]")).response
    assert (response.text, len(response.tool_calls)) == ("Bye", 1)


def test_finishing_again_and_again_is_read_a_few_times_only() -> None:
    """A hostile host cannot have a long text parsed without end."""
    events = stream(*(chunk("x", "stop") for _ in range(50)))
    assert sum(isinstance(event, Parsed) for event in events) == 3


def test_cut_stream_keeps_its_raw_text_without_blaming_the_host() -> None:
    """Without an end nothing is parsed, and half a marker is no leak."""
    collected = collect(stream(chunk("Sure <tool_call>{")))
    assert collected.response.text == "Sure <tool_call>{"
    assert collected.response.anomalies == ()
    assert not collected.complete


def test_call_cut_by_the_budget() -> None:
    """length with an open call stays length, the call's arguments stay open."""
    response = collect(stream(chunk(CALL[: CALL.index("ris")]), chunk("", "length"), "[DONE]")).response
    assert response.finish_reason == "length"
    (call,) = response.tool_calls
    assert call.name == "get-weather.v2"
    with pytest.raises(json.JSONDecodeError):
        json.loads(call.arguments)


def test_declared_tools_decide_about_unquoted_values() -> None:
    """Given the tools, a declared string that looks like a number stays a string."""
    text = "<tool_call>f\n<arg_key>zip</arg_key>\n<arg_value>8001</arg_value>\n</tool_call>"
    reader = OpenAICompletions().reader((TOOL,))
    events = [said for payload in (chunk(text), chunk("", "stop")) for said in reader.read(SseEvent(payload))]
    assert collect(events).response.tool_calls[0].arguments == '{"zip": "8001"}'


def test_whole_body() -> None:
    """A plain JSON answer is read in one go."""
    collected = collect(CompletionsReader().read_body(json.loads(chunk(CALL, "stop", usage={"completion_tokens": 3}))))
    assert [call.name for call in collected.response.tool_calls] == ["get-weather.v2"]
    assert collected.response.usage == Usage(None, 3)
    assert collected.ended


def test_errors_are_faults() -> None:
    """Errors come in the same shapes as in chat completions."""
    assert stream('{"error": {"message": "m", "code": 503}}') == [Fault("m", "503", 503)]
    assert stream('{"object": "error", "message": "m", "code": 400}') == [Fault("m", "400", 400)]


@pytest.mark.parametrize("text", [None, 7, [], ""])
def test_odd_texts_say_nothing(text: Any) -> None:
    """Null, empty and non-text pieces are absent."""
    assert [event for event in stream(chunk(text)) if isinstance(event, TextDelta)] == []


def test_chat_shaped_answer_at_this_path() -> None:
    """A host that answers in deltas is read all the same."""
    payload = json.dumps({"choices": [{"index": 0, "delta": {"content": CALL}, "finish_reason": "stop"}]})
    events = stream(payload)
    assert Finish("tool_calls", "stop") in events
    assert len(collect(events).response.tool_calls) == 1


KEYS = ["choices", "text", "finish_reason", "index", "usage", "delta", "content", "error", "id", "model"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from([CALL, "stop", "length", "<tool_call>", "\ud800"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=12,
)


@given(st.lists(JSON, max_size=5))
def test_arbitrary_events_never_raise(payloads: list[object]) -> None:
    """Any JSON is read without an exception into an answer that can be written."""
    events = stream(*(json.dumps(payload) for payload in payloads), "[DONE]")
    str(collect(events).response).encode()
