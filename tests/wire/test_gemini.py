"""The Gemini wire: requests as dictionaries, what it has no word for, each quirk by name."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest
from turns import SCHEMA, USER, past, result

from vendor_verifier.records.request import Endpoint, HttpRequest, Turn
from vendor_verifier.wire.gemini import Gemini

BASE = "https://generativelanguage.googleapis.com/v1beta"
TOOL = {"type": "function", "function": {"name": "get_weather", "description": "Weather now", "parameters": SCHEMA}}


def ask(
    messages: Iterable[Any] = (USER,), tools: Iterable[Any] = (), wire: Gemini | None = None, **parameters: Any
) -> HttpRequest:
    turn = Turn(tuple(messages), tuple(tools), parameters)
    return (wire or Gemini()).request(turn, Endpoint(BASE, "gemini-x"))


def sent(*args: Any, **parameters: Any) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(ask(*args, **parameters).body)
    return body


def test_request_body() -> None:
    """System text, contents, tools, tool choice and settings are said in the protocol's words."""
    request = ask(
        [{"role": "system", "content": "Be kind."}, USER],
        [TOOL],
        temperature=0.5,
        top_p=0.9,
        max_tokens=9,
        stop=["END"],
        seed=7,
        presence_penalty=0.1,
        tool_choice="auto",
        user="u",
    )
    assert request.url == f"{BASE}/models/gemini-x:streamGenerateContent?alt=sse"
    assert json.loads(request.body) == {
        "systemInstruction": {"parts": [{"text": "Be kind."}]},
        "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
        "tools": [
            {
                "functionDeclarations": [
                    {
                        "name": "get_weather",
                        "description": "Weather now",
                        "parameters": {
                            "type": "OBJECT",
                            "properties": {"city": {"type": "STRING"}},
                            "required": ["city"],
                        },
                    }
                ]
            }
        ],
        "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}},
        "generationConfig": {
            "temperature": 0.5,
            "topP": 0.9,
            "maxOutputTokens": 9,
            "stopSequences": ["END"],
            "seed": 7,
            "presencePenalty": 0.1,
        },
    }
    assert (request.untranslatable, request.rewritten) == ((), ("dropped:user",))


def test_the_smallest_request() -> None:
    """A bare question sends its contents and nothing else."""
    assert sent() == {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}


def test_history_with_parallel_calls_goes_round() -> None:
    """Results of parallel calls go back in one message, in the order of the calls, apart from the user's next words."""
    request = ask(
        [
            USER,
            past(("a", "get_weather", '{"city":"Rome"}'), ("b", "now", "")),
            result("b", '{"time":"noon"}'),
            result("a", "sunny"),
            {"role": "user", "content": "And?"},
            {"role": "user", "content": "Well?"},
        ]
    )
    assert request.untranslatable == ()
    assert json.loads(request.body)["contents"] == [
        {"role": "user", "parts": [{"text": "Hi"}]},
        {
            "role": "model",
            "parts": [
                {"functionCall": {"name": "get_weather", "args": {"city": "Rome"}}},
                {"functionCall": {"name": "now", "args": {}}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "get_weather", "response": {"output": "sunny"}}},
                {"functionResponse": {"name": "now", "response": {"time": "noon"}}},
            ],
        },
        {"role": "user", "parts": [{"text": "And?"}, {"text": "Well?"}]},
    ]


def test_thought_signature_of_the_history() -> None:
    """A signature the history kept goes back with its call, for models that refuse a history without."""
    signed = past(("a", "now", "{}"), extra_content={"google": {"thought_signature": "zzz"}})
    parts = sent([USER, signed, result("a", "x")])["contents"][1]["parts"]
    assert parts == [{"functionCall": {"name": "now", "args": {}}, "thoughtSignature": "zzz"}]


def test_foreign_signature() -> None:
    """Where the quirk gives a stand-in, the first of parallel unsigned calls carries it."""
    wire = Gemini(foreign_signature="skip")
    history = [USER, past(("a", "now", "{}"), ("b", "now", "{}")), result("a", "x"), result("b", "y")]
    parts = sent(history, wire=wire)["contents"][1]["parts"]
    assert [part.get("thoughtSignature") for part in parts] == ["skip", None]


def test_images_are_inline() -> None:
    """An image as base64 becomes inline data."""
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}}
    assert sent([{"role": "user", "content": [{"type": "text", "text": "Look"}, image]}])["contents"] == [
        {"role": "user", "parts": [{"text": "Look"}, {"inlineData": {"mimeType": "image/png", "data": "QUJD"}}]}
    ]


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("auto", {"mode": "AUTO"}),
        ("required", {"mode": "ANY"}),
        ("none", {"mode": "NONE"}),
        (
            {"type": "function", "function": {"name": "get_weather"}},
            {"mode": "ANY", "allowedFunctionNames": ["get_weather"]},
        ),
        (
            {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [{"name": "get_weather"}]}},
            {"mode": "ANY", "allowedFunctionNames": ["get_weather"]},
        ),
    ],
)
def test_tool_choice(choice: Any, expected: dict[str, Any]) -> None:
    """Every form of the tool choice has its mode."""
    request = ask([USER], [TOOL], tool_choice=choice)
    assert json.loads(request.body)["toolConfig"] == {"functionCallingConfig": expected}
    assert request.untranslatable == ()


@pytest.mark.parametrize(
    ("schema", "notes"),
    [
        ({"type": "object", "properties": {"a": {"type": "string", "enum": ["x"], "description": "y"}}}, ()),
        ({"type": "object", "properties": {"a": {"type": ["string", "null"]}}}, ("schema:reworded",)),
        (
            {"type": "object", "properties": {"a": {"$ref": "#/$defs/b"}}, "$defs": {"b": {"type": "integer"}}},
            ("schema:reworded",),
        ),
        ({"type": "object", "properties": {"a": {"type": "integer", "multipleOf": 3}}}, ("schema:multipleOf",)),
    ],
)
def test_a_schema_in_other_words_is_noted_also_where_nothing_is_lost(
    schema: dict[str, Any], notes: tuple[str, ...]
) -> None:
    """Another count of prompt tokens is then ours; the case of types makes none."""
    tool = {"type": "function", "function": {"name": "f", "description": "d", "parameters": schema}}
    assert ask([USER], [tool]).rewritten == notes


@pytest.mark.parametrize(
    ("messages", "tools", "parameters", "reason"),
    [
        ([USER], [TOOL], {"parallel_tool_calls": False}, "parallel_tool_calls=false"),
        ([USER], [], {"n": 2}, "n>1"),
        ([USER], [], {"top_logprobs": 3}, "top_logprobs"),
        ([USER], [], {"logit_bias": {"1": 2}}, "logit_bias"),
        ([USER], [], {"stop": list("abcdef")}, "stop sequences"),
        ([USER], [], {"response_format": {"type": "grammar"}}, "response_format"),
        ([USER], [], {"tool_choice": "required"}, "tool_choice without tools"),
        (
            [USER],
            [TOOL],
            {"tool_choice": {"type": "allowed_tools", "tools": [{"name": "get_weather"}]}},
            "tool_choice allowed_tools",
        ),
        ([USER], [{"type": "function", "function": {"name": "f", "parameters": {"type": "array"}}}], {}, "root"),
        ([USER], [{"type": "function", "function": {"name": "f", "parameters": False}}], {}, "root"),
        ([], [], {}, "no message"),
        ([USER, {"role": "assistant", "content": "Sure"}], [], {}, "ends with the assistant"),
        ([USER, past(("a", "f", "{}"))], [], {}, "tool call without a result"),
        ([USER, result("a", "x")], [], {}, "tool result without a call"),
        ([USER, past(("a", "f", "[]")), result("a", "x")], [], {}, "not a JSON object"),
        ([{"role": "user", "content": [{"type": "image_url", "image_url": "https://x.test/a"}]}], [], {}, "by address"),
        ([{"role": "user", "content": [{"type": "input_audio"}]}], [], {}, "audio part"),
    ],
)
def test_untranslatable(messages: list[Any], tools: list[Any], parameters: dict[str, Any], reason: str) -> None:
    """What the protocol has no word for is named, so that the sample is not sent and nobody is charged."""
    assert any(reason in named for named in ask(messages, tools, **parameters).untranslatable)


def test_parallel_calls_forbidden_without_tools_is_harmless() -> None:
    """Where there is nothing to call, forbidding parallel calls changes nothing."""
    assert ask([USER], [], parallel_tool_calls=False).untranslatable == ()


def test_tool_names_are_narrowed_and_mapped_back() -> None:
    """Dots, colons and dashes survive; other characters, a leading digit and excess length do not."""
    names = ["a.b:c-d", "a b", "a_b", "9lives", "x" * 70]
    tools = [{"type": "function", "function": {"name": name}} for name in names]
    choice = {"type": "function", "function": {"name": "a b"}}
    request = ask([USER, past(("1", "a b", "{}")), result("1", "ok")], tools, tool_choice=choice)
    body = json.loads(request.body)
    there = [declared["name"] for declared in body["tools"][0]["functionDeclarations"]]
    assert there == ["a.b:c-d", "a_b_2", "a_b", "_lives", "x" * 64]
    assert body["toolConfig"]["functionCallingConfig"]["allowedFunctionNames"] == ["a_b_2"]
    assert body["contents"][1]["parts"][0]["functionCall"]["name"] == "a_b_2"
    assert body["contents"][2]["parts"][0]["functionResponse"]["name"] == "a_b_2"
    assert request.tool_names == {"a_b_2": "a b", "_lives": "9lives", "x" * 64: "x" * 70}


def test_schema_modes() -> None:
    """One mode converts and says what was lost, the other sends the schema as it is."""
    schema = {"type": "object", "properties": {"a": {"const": 5}}, "additionalProperties": False}
    tool = {"type": "function", "function": {"name": "f", "parameters": schema, "strict": True}}
    converted = ask([USER], [tool])
    assert json.loads(converted.body)["tools"][0]["functionDeclarations"][0] == {
        "name": "f",
        "parameters": {"type": "OBJECT", "properties": {"a": {"type": "INTEGER"}}},
    }
    assert {"schema:additionalProperties", "schema:enum", "dropped:strict"} <= set(converted.rewritten)
    untouched = ask([USER], [tool], wire=Gemini(schema="json_schema"))
    assert json.loads(untouched.body)["tools"][0]["functionDeclarations"][0] == {
        "name": "f",
        "parametersJsonSchema": schema,
    }
    assert untouched.rewritten == ("dropped:strict",)


@pytest.mark.parametrize("parameters", [None, {}, {"type": "object"}, {"type": "object", "properties": {}}])
def test_tool_without_parameters(parameters: Any) -> None:
    """An object without properties is refused by Gemini, so such a tool declares no parameters at all."""
    tool = {"type": "function", "function": {"name": "now", "parameters": parameters}}
    request = ask([USER], [tool])
    assert json.loads(request.body)["tools"] == [{"functionDeclarations": [{"name": "now"}]}]
    assert request.untranslatable == ()


def test_response_format() -> None:
    """JSON is asked for by its media type, a schema in the form the mode takes."""
    plain = sent(response_format={"type": "json_object"})
    assert plain["generationConfig"] == {"responseMimeType": "application/json"}
    form = {"type": "json_schema", "json_schema": {"name": "a", "schema": SCHEMA}}
    assert sent(response_format=form)["generationConfig"]["responseSchema"]["type"] == "OBJECT"
    untouched = sent(response_format=form, wire=Gemini(schema="json_schema"))
    assert untouched["generationConfig"]["responseJsonSchema"] == SCHEMA


def test_extra_body_adds_to_the_settings() -> None:
    """An entry's thinking budget joins the turn's settings instead of replacing them."""
    extra = {"generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}, "safetySettings": []}
    turn = Turn((USER,), (), {"max_tokens": 9})
    body = json.loads(Gemini().request(turn, Endpoint(BASE, "m", body=extra)).body)
    assert body["generationConfig"] == {"maxOutputTokens": 9, "thinkingConfig": {"thinkingBudget": 0}}
    assert body["safetySettings"] == []


@pytest.mark.parametrize(
    ("auth", "present", "absent"),
    [
        ("x-goog-api-key", {"x-goog-api-key": "k1"}, "authorization"),
        ("bearer", {"authorization": "Bearer k1"}, "x-goog-api-key"),
        ("both", {"x-goog-api-key": "k1", "authorization": "Bearer k1"}, None),
    ],
)
def test_auth_headers(auth: Any, present: dict[str, str], absent: str | None) -> None:
    """The key travels in the header the host reads and never in the address."""
    request = Gemini(auth=auth).request(Turn((USER,)), Endpoint(BASE, "m", key="k1", headers={"x-more": "1"}))
    assert {**present, "x-more": "1"}.items() <= request.headers.items()
    assert absent not in request.headers
    assert "k1" not in request.url
