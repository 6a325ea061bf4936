"""The raw-completions wire: prompts as rendered, text as heard, calls as parsed once the model has finished."""

from __future__ import annotations

import json
from typing import Any

import pytest
from changing import replace
from listening import CALL, COMPLETIONS_STREAM, completion, heard, pieces, told
from turns import USER

from vendor_verifier.records.event import Finish, Parsed, StreamEvent, TextDelta, Usage
from vendor_verifier.records.request import Endpoint, HttpRequest, Turn
from vendor_verifier.wire.assembler import Assembler, collect
from vendor_verifier.wire.openai_completions import CannotRender, CompletionsReader, OpenAICompletions

TOOL = {"type": "function", "function": {"name": "f", "parameters": {"properties": {"zip": {"type": "string"}}}}}


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


def stream(*payloads: Any, tools: Any = ()) -> list[StreamEvent]:
    return told(CompletionsReader(tools), *payloads)


def test_streamed_call() -> None:
    """The text streams, at the end it is reasoning, text and a call, and the finish reason is the call's."""
    collected = collect(heard(CompletionsReader(), [COMPLETIONS_STREAM]), streamed=True)
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
    for at_ns, payload in enumerate([*pieces(CALL), completion("", "stop"), "[DONE]"]):
        for said in told(reader, payload):
            assembler.add(said, at_ns)
    moments = assembler.collected().moments
    assert moments.last_token_ns == len(pieces(CALL)) - 1
    assert len(moments.gaps_ns) == len(pieces(CALL)) - 1


def test_plain_answer() -> None:
    """Text without markers keeps its finish reason."""
    response = collect(stream(completion("Hel"), completion("lo", "stop"), "[DONE]")).response
    assert (response.text, response.finish_reason, response.tool_calls) == ("Hello", "stop", ())


def test_text_is_read_at_the_end_marker_when_there_is_no_finish_reason() -> None:
    """[DONE] alone ends the text too."""
    response = collect(stream(completion(CALL), "[DONE]")).response
    assert (response.text, len(response.tool_calls)) == ("", 1)
    assert response.anomalies == ("no_finish_reason",)


def test_text_after_the_finish_reason_is_not_lost_and_calls_are_not_doubled() -> None:
    """A host that goes on after its finish reason has its whole text read again."""
    response = collect(stream(completion(CALL, "stop"), completion(" Bye"), "[DONE]")).response
    assert (response.text, len(response.tool_calls)) == ("Bye", 1)


def test_finishing_again_and_again_is_read_a_few_times_only() -> None:
    """A hostile host cannot have a long text parsed without end."""
    events = stream(*(completion("x", "stop") for _ in range(50)))
    assert sum(isinstance(event, Parsed) for event in events) == 3


def test_cut_stream_keeps_its_raw_text_without_blaming_the_host() -> None:
    """Without an end nothing is parsed, and half a marker is no leak."""
    collected = collect(stream(completion("Sure <tool_call>{")))
    assert collected.response.text == "Sure <tool_call>{"
    assert collected.response.anomalies == ()
    assert not collected.complete


def test_call_cut_by_the_budget() -> None:
    """length with an open call stays length, the call's arguments stay open."""
    response = collect(stream(completion(CALL[: CALL.index("ris")]), completion("", "length"), "[DONE]")).response
    assert response.finish_reason == "length"
    (call,) = response.tool_calls
    assert call.name == "get-weather.v2"
    with pytest.raises(json.JSONDecodeError):
        json.loads(call.arguments)


def test_declared_tools_decide_about_unquoted_values() -> None:
    """Given the tools, a declared string that looks like a number stays a string."""
    text = "<tool_call>f\n<arg_key>zip</arg_key>\n<arg_value>8001</arg_value>\n</tool_call>"
    events = told(OpenAICompletions().reader((TOOL,)), completion(text), completion("", "stop"))
    assert collect(events).response.tool_calls[0].arguments == '{"zip": "8001"}'


def test_whole_body() -> None:
    """A plain JSON answer is read in one go."""
    collected = collect(CompletionsReader().read_body(completion(CALL, "stop", usage={"completion_tokens": 3})))
    assert [call.name for call in collected.response.tool_calls] == ["get-weather.v2"]
    assert collected.response.usage == Usage(None, 3)
    assert collected.ended


@pytest.mark.parametrize("text", [None, 7, [], ""])
def test_odd_texts_say_nothing(text: Any) -> None:
    """Null, empty and non-text pieces are absent."""
    assert [event for event in stream(completion(text)) if isinstance(event, TextDelta)] == []


def test_chat_shaped_answer_at_this_path() -> None:
    """A host that answers in deltas is read all the same."""
    payload = json.dumps({"choices": [{"index": 0, "delta": {"content": CALL}, "finish_reason": "stop"}]})
    events = stream(payload)
    assert Finish("tool_calls", "stop") in events
    assert len(collect(events).response.tool_calls) == 1
