"""The raw-completions wire: prompts as rendered, text as heard, calls as parsed once the model has finished."""

from __future__ import annotations

import json
from typing import Any

import pytest
from changing import replace
from listening import CALL, completion, pieces, sse
from turns import USER

from vendor_verifier.records.record import Exchange
from vendor_verifier.records.request import Endpoint, HttpRequest, Turn
from vendor_verifier.wire.openai_completions import CannotRender, OpenAICompletions
from vendor_verifier.wire.parse_answer import read_answer

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


def test_reading_the_calls_at_the_end_adds_no_token() -> None:
    """Timing is that of the text."""
    events = [sse(one) for one in (*pieces(CALL), completion("", "stop"), "[DONE]")]
    exchange = Exchange("2026-01-01T00:00:00+00:00", 99, 200, {}, list(enumerate(events)))
    timing, response, failure = read_answer(exchange, WIRE.reader())
    assert failure is None
    assert response is not None
    assert len(response.tool_calls) == 1
    assert timing.last_token_ns == len(pieces(CALL)) - 1
    assert len(timing.gaps_ns) == len(pieces(CALL)) - 1
