"""The Anthropic wire: requests as dictionaries, what it has no word for, each quirk by name."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from turns import SCHEMA, USER, past, result

from vendor_verifier.records.request import Endpoint, HttpRequest, Turn
from vendor_verifier.wire.anthropic_messages import DEFAULT_MAX_TOKENS, AnthropicMessages

TOOL = {"type": "function", "function": {"name": "get_weather", "description": "Weather now", "parameters": SCHEMA}}


def ask(messages: Iterable[Any] = (USER,), tools: Iterable[Any] = (), **parameters: Any) -> HttpRequest:
    turn = Turn(tuple(messages), tuple(tools), {"max_tokens": 9, **parameters})
    return AnthropicMessages().request(turn, Endpoint("https://x.test/v1", "m"))


def sent(*args: Any, **parameters: Any) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(ask(*args, **parameters).body)
    return body


def test_request_body() -> None:
    """System text, messages, tools and settings are said in the protocol's words."""
    request = ask(
        [{"role": "system", "content": "Be kind."}, {"role": "developer", "content": "Be brief."}, USER],
        [TOOL],
        temperature=0.5,
        top_p=0.9,
        stop="END",
        tool_choice="auto",
        seed=7,
    )
    assert request.url == "https://x.test/v1/messages"
    assert json.loads(request.body) == {
        "model": "m",
        "max_tokens": 9,
        "temperature": 0.5,
        "top_p": 0.9,
        "stop_sequences": ["END"],
        "system": "Be kind.\n\nBe brief.",
        "messages": [{"role": "user", "content": "Hi"}],
        "tools": [{"name": "get_weather", "description": "Weather now", "input_schema": SCHEMA}],
        "tool_choice": {"type": "auto"},
        "stream": True,
    }
    assert request.untranslatable == ()
    assert request.rewritten == ("dropped:seed",)
    assert request.tool_names == {}


def test_history_with_parallel_calls_goes_round() -> None:
    """Results of parallel calls become one user message, in any order, and the user's next words follow them."""
    request = ask(
        [
            USER,
            past(("a", "get_weather", '{"city":"Rome"}'), ("b", "now", "")),
            result("b", "noon"),
            result("a", [{"type": "text", "text": "sunny"}]),
            {"role": "user", "content": "And?"},
        ]
    )
    assert request.untranslatable == ()
    assert json.loads(request.body)["messages"] == [
        {"role": "user", "content": "Hi"},
        {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": "a", "name": "get_weather", "input": {"city": "Rome"}},
                {"type": "tool_use", "id": "b", "name": "now", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "b", "content": "noon"},
                {"type": "tool_result", "tool_use_id": "a", "content": "sunny"},
                {"type": "text", "text": "And?"},
            ],
        },
    ]


def test_ids_are_made_legal_and_unique() -> None:
    """Ids of Moonshot's form, repeated from turn to turn, come out legal, different, and still paired."""
    once = [past(("functions.now:0", "now", "{}")), result("functions.now:0", "noon")]
    messages = json.loads(ask([USER, *once, *once]).body)["messages"]
    uses = [message["content"][0]["id"] for message in messages if message["role"] == "assistant"]
    results = [message["content"][0]["tool_use_id"] for message in messages[1:] if message["role"] == "user"]
    assert uses == results == ["functions_now_0", "functions_now_0_2"]


def test_calls_without_ids_are_paired_by_order_and_name() -> None:
    """The older function role, without any id, still gives complete pairs."""
    past = {"role": "assistant", "content": "", "function_call": {"name": "now", "arguments": {"zone": "UTC"}}}
    request = ask([USER, past, {"role": "function", "name": "now", "content": "noon"}])
    assert request.untranslatable == ()
    assert json.loads(request.body)["messages"][1:] == [
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "call_1", "name": "now", "input": {"zone": "UTC"}}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call_1", "content": "noon"}]},
    ]


def test_neighbours_of_one_role_are_merged() -> None:
    """The protocol wants turns to alternate, so neighbours become blocks of one message; empty text is left out."""
    request = ask([USER, {"role": "user", "content": "There?"}, {"role": "assistant", "content": " "}, USER])
    assert json.loads(request.body)["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": text} for text in ("Hi", "There?", "Hi")]}
    ]
    assert request.rewritten == ("dropped:empty_message",)


def test_images() -> None:
    """Images go as base64 or by address, also inside a tool's result."""
    parts = [
        {"type": "text", "text": "Look"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}},
        {"type": "image_url", "image_url": {"url": "https://x.test/a.png"}},
    ]
    inline = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"}}
    messages = sent([{"role": "user", "content": parts}, past(("a", "see", "{}")), result("a", parts[:2])])["messages"]
    assert messages[0]["content"] == [
        {"type": "text", "text": "Look"},
        inline,
        {"type": "image", "source": {"type": "url", "url": "https://x.test/a.png"}},
    ]
    assert messages[2]["content"][0]["content"] == [{"type": "text", "text": "Look"}, inline]


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({}, None),
        ({"tool_choice": "auto"}, {"type": "auto"}),
        ({"tool_choice": "required"}, {"type": "any"}),
        ({"tool_choice": "none"}, {"type": "none"}),
        (
            {"tool_choice": {"type": "function", "function": {"name": "get_weather"}}},
            {"type": "tool", "name": "get_weather"},
        ),
        ({"parallel_tool_calls": False}, {"type": "auto", "disable_parallel_tool_use": True}),
        ({"parallel_tool_calls": True}, None),
        (
            {"parallel_tool_calls": False, "tool_choice": "required"},
            {"type": "any", "disable_parallel_tool_use": True},
        ),
        ({"parallel_tool_calls": False, "tool_choice": "none"}, {"type": "none"}),
    ],
)
def test_tool_choice(parameters: dict[str, Any], expected: Any) -> None:
    """Every form of the tool choice has its counterpart, and forbidding parallel calls goes into it."""
    request = ask([USER], [TOOL], **parameters)
    assert json.loads(request.body).get("tool_choice") == expected
    assert request.untranslatable == ()


def test_tool_choice_without_tools_is_left_out() -> None:
    """Without tools there is nothing to choose, whatever the sample says of parallel calls."""
    assert "tool_choice" not in sent([USER], [], tool_choice="auto", parallel_tool_calls=False)


@pytest.mark.parametrize(
    ("messages", "tools", "parameters", "reason"),
    [
        ([USER], [], {"n": 2}, "n>1"),
        ([USER], [], {"logprobs": True}, "logprobs"),
        ([USER], [], {"presence_penalty": 0.5}, "presence_penalty"),
        ([USER], [], {"logit_bias": {"1": 2}}, "logit_bias"),
        ([USER], [], {"temperature": 1.5}, "temperature>1"),
        ([USER], [], {"response_format": {"type": "json_object"}}, "response_format"),
        ([USER], [], {"stop": ["\n"]}, "stop sequence of white space"),
        ([USER], [], {"something_new": 1}, "something_new"),
        ([USER], [], {"tool_choice": "required"}, "tool_choice without tools"),
        ([USER], [TOOL], {"tool_choice": "sometimes"}, "tool_choice"),
        (
            [USER],
            [TOOL],
            {"tool_choice": {"type": "function", "function": {"name": "other"}}},
            "tool_choice of an undeclared tool",
        ),
        (
            [USER],
            [TOOL],
            {"tool_choice": {"type": "allowed_tools", "allowed_tools": {"tools": [{"name": "get_weather"}]}}},
            "tool_choice allowed_tools",
        ),
        ([USER], [{"type": "web_search"}], {}, "tool of type web_search"),
        ([USER], [{"type": "function", "function": {}}], {}, "tool without a name"),
        ([USER], [{"type": "function", "function": {"name": "f", "parameters": {"type": "array"}}}], {}, "root"),
        ([USER], [{"type": "function", "function": {"name": "f", "parameters": {"anyOf": [{}]}}}], {}, "anyOf"),
        ([], [], {}, "no message"),
        ([USER, {"role": "assistant", "content": "Sure: "}], [], {}, "ends with the assistant"),
        ([USER, past(("a", "f", "{}"))], [], {}, "tool call without a result"),
        ([USER, result("a", "x")], [], {}, "tool result without a call"),
        ([USER, past(("a", "f", "{")), result("a", "x")], [], {}, "not a JSON object"),
        ([{"role": "user", "content": [{"type": "input_audio"}]}], [], {}, "audio part"),
        ([{"role": "user", "content": [{"type": "file"}]}], [], {}, "file part"),
        ([{"role": "user", "content": [{"type": "image_url", "image_url": "x"}]}], [], {}, "image that is neither"),
        ([{"role": "user", "content": 5}], [], {}, "content that is not text"),
        ([{"role": "critic", "content": "No"}], [], {}, "role 'critic'"),
        ([7], [], {}, "role None"),
    ],
)
def test_untranslatable(messages: list[Any], tools: list[Any], parameters: dict[str, Any], reason: str) -> None:
    """What the protocol has no word for is named, so that the sample is not sent and nobody is charged."""
    assert any(reason in named for named in ask(messages, tools, **parameters).untranslatable)


@pytest.mark.parametrize(
    "parameters",
    [{"n": 1, "logprobs": False, "presence_penalty": 0, "stop": None}, {"response_format": {"type": "text"}}],
)
def test_neutral_parameters_cost_nothing(parameters: dict[str, Any]) -> None:
    """A parameter whose value asks for nothing is neither sent nor noted."""
    request = ask(**parameters)
    assert (request.untranslatable, request.rewritten) == ((), ())
    assert json.loads(request.body) == sent()


def test_output_budget() -> None:
    """The newer name wins, and without any a stated default is sent, noted, and can be set."""
    assert sent(max_completion_tokens=5)["max_tokens"] == 5
    turn = Turn((USER,))
    request = AnthropicMessages().request(turn, Endpoint("https://x.test", "m"))
    assert json.loads(request.body)["max_tokens"] == DEFAULT_MAX_TOKENS
    assert request.rewritten == (f"added:max_tokens={DEFAULT_MAX_TOKENS}",)
    wire = AnthropicMessages(default_max_tokens=77)
    assert json.loads(wire.request(turn, Endpoint("https://x.test", "m")).body)["max_tokens"] == 77


def test_tool_names_are_narrowed_and_mapped_back() -> None:
    """Names outside the alphabet are changed without colliding with legal ones, everywhere they occur."""
    names = ["a.b", "a_b", "a:b", "x" * 130, "天气"]
    tools = [{"type": "function", "function": {"name": name}} for name in names]
    choice = {"type": "function", "function": {"name": "a.b"}}
    request = ask([USER, past(("1", "a.b", "{}")), result("1", "ok")], tools, tool_choice=choice)
    body = json.loads(request.body)
    there = [tool["name"] for tool in body["tools"]]
    assert there == ["a_b_2", "a_b", "a_b_3", "x" * 128, "__"]
    assert body["messages"][1]["content"][0]["name"] == body["tool_choice"]["name"] == "a_b_2"
    assert request.tool_names == {"a_b_2": "a.b", "a_b_3": "a:b", "x" * 128: "x" * 130, "__": "天气"}


@given(st.lists(st.text(max_size=200), max_size=12, unique=True))
def test_sent_names_are_legal_and_distinct(names: list[str]) -> None:
    """Whatever tools are called, the names sent are legal, as many as declared, and lead back."""
    tools = [{"type": "function", "function": {"name": name}} for name in names if name]
    request = ask([USER], tools)
    there = [tool["name"] for tool in json.loads(request.body).get("tools", [])]
    assert len(set(there)) == len(tools)
    assert all(1 <= len(name) <= 128 and name.replace("-", "_").isascii() for name in there)
    assert [request.tool_names.get(name, name) for name in there] == [name for name in names if name]


def test_tool_schemas() -> None:
    """A tool without schema takes no arguments; a root combinator beside properties is dropped and noted."""
    narrowed = {**SCHEMA, "anyOf": [{"required": ["city"]}]}
    functions = [{"name": "now"}, {"name": "f", "parameters": narrowed, "strict": True}, {"name": "now"}]
    request = ask([USER], [{"type": "function", "function": function} for function in functions])
    assert json.loads(request.body)["tools"] == [
        {"name": "now", "input_schema": {"type": "object", "properties": {}}},
        {"name": "f", "input_schema": SCHEMA},
    ]
    assert request.rewritten == ("dropped:repeated_tool", "schema:anyOf", "dropped:strict")


def test_host_that_takes_structured_output() -> None:
    """With the quirks set, a JSON schema and strict tools are sent in the protocol's own words."""
    wire = AnthropicMessages(structured_output=True, strict_tools=True)
    form = {"type": "json_schema", "json_schema": {"name": "a", "schema": SCHEMA}}
    tool = {"type": "function", "function": {"name": "f", "strict": True, "parameters": SCHEMA}}
    request = wire.request(Turn((USER,), (tool,), {"response_format": form}), Endpoint("https://x.test", "m"))
    body = json.loads(request.body)
    assert body["output_config"] == {"format": {"type": "json_schema", "schema": SCHEMA}}
    assert body["tools"][0]["strict"] is True
    assert request.untranslatable == ()


@pytest.mark.parametrize(
    ("auth", "present", "absent"),
    [
        ("x-api-key", {"x-api-key": "k1"}, "authorization"),
        ("bearer", {"authorization": "Bearer k1"}, "x-api-key"),
        ("both", {"x-api-key": "k1", "authorization": "Bearer k1"}, None),
    ],
)
def test_auth_headers(auth: Any, present: dict[str, str], absent: str | None) -> None:
    """The key travels in the header the host reads, beside the version; the entry's own headers come last."""
    endpoint = Endpoint("https://x.test", "m", key="k1", headers={"x-more": "1"})
    headers = AnthropicMessages(auth=auth).request(Turn((USER,)), endpoint).headers
    assert present.items() <= headers.items()
    assert absent not in headers
    assert headers["anthropic-version"] == "2023-06-01"
    assert headers["x-more"] == "1"


def test_extra_body_comes_last() -> None:
    """What the entry adds to the body wins over what the turn says."""
    endpoint = Endpoint("https://x.test", "m", body={"max_tokens": 1, "thinking": {"type": "disabled"}})
    body = json.loads(AnthropicMessages().request(Turn((USER,), (), {"max_tokens": 9}), endpoint).body)
    assert (body["max_tokens"], body["thinking"]) == (1, {"type": "disabled"})


def test_dropped_words_of_a_history_are_noted() -> None:
    """Reasoning, participants' names and a late system message do not go as they were, and the request says so."""
    request = ask(
        [
            {**USER, "name": "Ann"},
            {"role": "assistant", "content": "Hm", "reasoning_content": "I think"},
            {"role": "system", "content": "Now in verse"},
            USER,
        ]
    )
    assert request.untranslatable == ()
    assert request.rewritten == ("dropped:name", "dropped:reasoning", "system_moved")
