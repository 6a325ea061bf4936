"""The Responses wire: requests as dictionaries and as the official client types them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from pydantic import TypeAdapter
from turns import SCHEMA, USER

from vendor_verifier.records.request import Endpoint, HttpRequest, Turn
from vendor_verifier.wire.openai_responses import OpenAIResponses


def tool(name: str = "get_weather", **more: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "description": "d", "parameters": SCHEMA, **more}}


def asked(
    *messages: Mapping[str, Any],
    tools: Iterable[Mapping[str, Any]] = (),
    wire: OpenAIResponses | None = None,
    **parameters: Any,
) -> HttpRequest:
    turn = Turn(messages or (USER,), tuple(tools), parameters)
    return (wire or OpenAIResponses()).request(turn, Endpoint("https://x.test/v1", "m", key="CANARY"))


def body_of(request: HttpRequest) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(request.body)
    return body


def test_request_as_a_whole() -> None:
    """System text, flat tools, budget and settings stand where the protocol has them; nothing is stored."""
    request = asked(
        {"role": "system", "content": "Be brief."},
        USER,
        tools=[tool()],
        tool_choice="auto",
        max_tokens=50,
        temperature=0.2,
        top_p=0.9,
    )
    assert request.url == "https://x.test/v1/responses"
    assert request.headers["authorization"] == "Bearer CANARY"
    assert request.untranslatable == ()
    assert body_of(request) == {
        "model": "m",
        "instructions": "Be brief.",
        "input": [{"role": "user", "content": "Hi"}],
        "tools": [
            {"type": "function", "name": "get_weather", "description": "d", "parameters": SCHEMA, "strict": False}
        ],
        "tool_choice": "auto",
        "max_output_tokens": 50,
        "temperature": 0.2,
        "top_p": 0.9,
        "store": False,
        "stream": True,
    }


def test_history_with_parallel_calls_and_results() -> None:
    """Calls and results become items paired by call_id, text before calls, in order."""
    calls = [
        {"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"x":1}'}},
        {"id": "b", "type": "function", "function": {"name": "g", "arguments": "{}"}},
    ]
    request = asked(
        USER,
        {"role": "assistant", "content": "Let me see.", "tool_calls": calls, "reasoning_content": "hm"},
        {"role": "tool", "tool_call_id": "b", "content": "2"},
        {"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": "1"}]},
        {"role": "user", "content": "And now?"},
    )
    assert body_of(request)["input"] == [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Let me see."},
        {"type": "function_call", "call_id": "a", "name": "f", "arguments": '{"x":1}'},
        {"type": "function_call", "call_id": "b", "name": "g", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "b", "output": "2"},
        {"type": "function_call_output", "call_id": "a", "output": "1"},
        {"role": "user", "content": "And now?"},
    ]
    assert request.untranslatable == ()
    assert "dropped:reasoning" in request.rewritten


def test_system_messages() -> None:
    """Leading ones are instructions, later ones stay where they are; by quirk all are items of a role."""
    messages = [
        {"role": "system", "content": "A"},
        {"role": "system", "content": "B"},
        USER,
        {"role": "system", "content": "C"},
    ]
    body = body_of(asked(*messages))
    assert body["instructions"] == "A\n\nB"
    assert body["input"] == [{"role": "user", "content": "Hi"}, {"role": "system", "content": "C"}]
    body = body_of(asked(*messages, wire=OpenAIResponses(system="developer")))
    assert "instructions" not in body
    assert [item["role"] for item in body["input"]] == ["developer", "developer", "user", "developer"]


def test_images() -> None:
    """Images by address and as data are input_image parts beside input_text."""
    content = [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": "https://x.test/a.png", "detail": "low"}},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
    ]
    assert body_of(asked({"role": "user", "content": content}))["input"] == [
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "What is this?"},
                {"type": "input_image", "image_url": "https://x.test/a.png", "detail": "low"},
                {"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "auto"},
            ],
        }
    ]


@pytest.mark.parametrize(
    ("chat", "responses"),
    [
        ("auto", "auto"),
        ("none", "none"),
        ("required", "required"),
        ({"type": "function", "function": {"name": "get_weather"}}, {"type": "function", "name": "get_weather"}),
        (
            {
                "type": "allowed_tools",
                "allowed_tools": {
                    "mode": "auto",
                    "tools": [{"type": "function", "function": {"name": "get_weather"}}],
                },
            },
            {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "get_weather"}]},
        ),
    ],
)
def test_tool_choice(chat: Any, responses: Any) -> None:
    """Every form of tool_choice has its flat counterpart."""
    assert body_of(asked(tools=[tool()], tool_choice=chat))["tool_choice"] == responses


@pytest.mark.parametrize(("given", "sent"), [({}, None), ({"strict": True}, True), ({"strict": False}, False)])
def test_strict_is_the_sample_s_word_or_chat_s_default(given: dict[str, Any], sent: bool | None) -> None:
    """Left out, this API would tighten the schema, which is another question than chat asks."""
    assert body_of(asked(tools=[tool(**given)]))["tools"][0]["strict"] is bool(sent)
    bare = body_of(asked(tools=[tool(**given)], wire=OpenAIResponses(explicit_strict=False)))
    assert bare["tools"][0].get("strict") is sent


def test_tool_without_parameters() -> None:
    """A tool without a schema takes an empty object."""
    bare = {"type": "function", "function": {"name": "now"}}
    sent = body_of(asked(tools=[bare]))["tools"]
    empty = {"type": "object", "properties": {}}
    assert sent == [{"type": "function", "name": "now", "parameters": empty, "strict": False}]


def test_tool_names_are_narrowed_and_mapped_back() -> None:
    """Dots are not in the alphabet: they are sent as underscores and come back by the mapping; dashes survive."""
    request = asked(tools=[tool("a.b-c")], tool_choice={"type": "function", "function": {"name": "a.b-c"}})
    assert body_of(request)["tools"][0]["name"] == "a_b-c"
    assert body_of(request)["tool_choice"]["name"] == "a_b-c"
    assert request.tool_names == {"a_b-c": "a.b-c"}
    assert body_of(asked(tools=[tool("a.b")], wire=OpenAIResponses(narrow_names=False)))["tools"][0]["name"] == "a.b"


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"type": "text"}, None),
        ({"type": "json_object"}, {"format": {"type": "json_object"}}),
        (
            {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA, "strict": True}},
            {"format": {"type": "json_schema", "name": "n", "schema": SCHEMA, "strict": True}},
        ),
    ],
)
def test_response_format(given: dict[str, Any], text: Any) -> None:
    """response_format is text.format, its schema one level up."""
    request = asked(response_format=given)
    assert body_of(request).get("text") == text
    assert request.untranslatable == ()


def test_other_settings() -> None:
    """Reasoning effort, verbosity, the newer budget name and parallel_tool_calls have their places."""
    body = body_of(asked(reasoning_effort="low", verbosity="low", max_completion_tokens=70, parallel_tool_calls=False))
    assert body["reasoning"] == {"effort": "low"}
    assert body["text"] == {"verbosity": "low"}
    assert body["max_output_tokens"] == 70
    assert body["parallel_tool_calls"] is False


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"stop": ["x"]}, "stop"),
        ({"n": 2}, "n>1"),
        ({"logprobs": True}, "logprobs"),
        ({"presence_penalty": 0.5}, "presence_penalty"),
        ({"response_format": {"type": "grammar"}}, "response_format"),
        ({"tool_choice": "banana"}, "tool_choice"),
    ],
)
def test_untranslatable_parameters(parameters: dict[str, Any], named: str) -> None:
    """What the protocol cannot say and would change the answer is named, not dropped."""
    assert asked(tools=[tool()], **parameters).untranslatable == (named,)


@pytest.mark.parametrize("parameters", [{"n": 1}, {"stop": None}, {"seed": 1}, {"user": "u"}, {"logprobs": False}])
def test_neutral_parameters_do_not_matter(parameters: dict[str, Any]) -> None:
    """Parameters that ask for nothing, or only file the request, make no turn untranslatable."""
    assert asked(**parameters).untranslatable == ()


def test_untranslatable_messages() -> None:
    """Audio and a history without any message are named."""
    audio = {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "x"}}]}
    assert "audio part" in asked(audio).untranslatable
    assert "no message" in asked({"role": "system", "content": "x"}).untranslatable


def test_requests_have_the_types_of_the_official_client() -> None:
    """Items, tools, tool choice and the body as a whole are what the official client's own types say."""
    params = pytest.importorskip("openai.types.responses.response_create_params")
    responses = pytest.importorskip("openai.types.responses")
    content = [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]
    calls = [{"id": "a", "type": "function", "function": {"name": "f.x", "arguments": '{"x":1}'}}]
    body = body_of(
        asked(
            {"role": "system", "content": "s"},
            {"role": "user", "content": content},
            {"role": "assistant", "content": "ok", "tool_calls": calls},
            {"role": "tool", "tool_call_id": "a", "content": "r"},
            {"role": "system", "content": "late"},
            tools=[tool("f.x")],
            wire=OpenAIResponses(explicit_strict=True),
            tool_choice={"type": "function", "function": {"name": "f.x"}},
            response_format={"type": "json_schema", "json_schema": {"name": "n", "schema": {}}},
            max_tokens=3,
            reasoning_effort="low",
        )
    )
    known = TypeAdapter(params.ResponseCreateParamsStreaming).validate_python(body)
    assert set(known) == set(body)
    assert TypeAdapter(list[responses.ResponseInputItemParam]).validate_python(body["input"])
    assert TypeAdapter(list[responses.FunctionToolParam]).validate_python(body["tools"]) == body["tools"]


@pytest.mark.parametrize(("stated", "sent"), [(1, 16), (15, 16), (16, 16), (70, 70)])
def test_a_budget_that_the_protocol_refuses_is_raised_to_its_least_and_noted(stated: int, sent: int) -> None:
    request = asked(max_tokens=stated)
    assert body_of(request)["max_output_tokens"] == sent
    assert request.rewritten == (() if stated == sent else ("raised:max_output_tokens=16",))
