"""The Gemini wire: requests as dictionaries, recorded streams in any chunking, each quirk by name."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.values.event import (
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
from vendor_verifier.values.exchange import Exchange
from vendor_verifier.values.request import Endpoint, HttpRequest, Turn
from vendor_verifier.wire.address import stream_url
from vendor_verifier.wire.answer import read_answer
from vendor_verifier.wire.assemble import Collected, collect
from vendor_verifier.wire.gemini import Gemini
from vendor_verifier.wire.gemini_reader import FAILED_CALLS, FINISH_REASONS, GeminiReader
from vendor_verifier.wire.sse import SseDecoder

CAPTURE = Path(__file__).parent / "captures" / "aimock.gemini.stream.txt"
BASE = "https://generativelanguage.googleapis.com/v1beta"
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOL = {"type": "function", "function": {"name": "get_weather", "description": "Weather now", "parameters": SCHEMA}}
USER = {"role": "user", "content": "Hi"}


def recorded() -> bytes:
    return CAPTURE.read_bytes().partition(b"\r\n\r\n")[2]


def long_stream() -> bytes:
    """A stream made up of everything the reader knows, non-ASCII text included."""
    payloads = [
        said({"text": "Hm … ", "thought": True}),
        said({"text": "Grüße 天气 \u2028"}, usageMetadata={"promptTokenCount": 5}),
        said({"functionCall": {"name": "f", "args": {"a": "é"}}, "thoughtSignature": "zzz"}),
        ended("STOP", modelVersion="gemini-x", responseId="r1", usageMetadata={"candidatesTokenCount": 9}),
    ]
    return "".join(f"data: {json.dumps(payload, ensure_ascii=False)}\n\n" for payload in payloads).encode()


def heard(chunks: Iterable[bytes]) -> list[StreamEvent]:
    decoder, reader = SseDecoder(), GeminiReader()
    events = [event for chunk in chunks for event in decoder.feed(chunk)]
    events.extend(decoder.close())
    return [event for item in events for event in reader.read(item)]


def stream(*payloads: Any) -> list[StreamEvent]:
    reader = GeminiReader()
    return [event for payload in payloads for event in reader.read(SseEvent(json.dumps(payload)))]


def answer(*payloads: Any) -> Collected:
    return collect(stream(*payloads), streamed=True)


def said(*parts: Any, **more: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, "index": 0}], **more}


def ended(reason: Any, *parts: Any, **more: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"parts": list(parts)}, "finishReason": reason}], **more}


def call(name: str = "f", **args: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": args}}


# ------------------------------------------------------------------ asking


def ask(
    messages: Iterable[Any] = (USER,), tools: Iterable[Any] = (), wire: Gemini | None = None, **parameters: Any
) -> HttpRequest:
    turn = Turn(tuple(messages), tuple(tools), parameters)
    return (wire or Gemini()).request(turn, Endpoint(BASE, "gemini-x"))


def sent(*args: Any, **parameters: Any) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(ask(*args, **parameters).body)
    return body


def past(*items: tuple[str, str, str], **more: Any) -> dict[str, Any]:
    """An assistant message that makes calls of (id, name, arguments)."""
    made = [{"id": i, "type": "function", "function": {"name": n, "arguments": a}, **more} for i, n, a in items]
    return {"role": "assistant", "content": None, "tool_calls": made}


def result(call_id: str, content: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


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
    ("messages", "tools", "parameters", "reason"),
    [
        ([USER], [TOOL], {"parallel_tool_calls": False}, "parallel_tool_calls=false"),
        ([USER], [], {"n": 2}, "n>1"),
        ([USER], [], {"logprobs": True}, "logprobs"),
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


@pytest.mark.parametrize(
    ("base", "model", "url"),
    [
        (f"{BASE}/", "gemini-x", f"{BASE}/models/gemini-x:streamGenerateContent?alt=sse"),
        (BASE, "models/gemini-x", f"{BASE}/models/gemini-x:streamGenerateContent?alt=sse"),
        ("https://x.test/v1", "tunedModels/a b", "https://x.test/v1/tunedModels/a%20b:streamGenerateContent?alt=sse"),
        ("https://x.test/m:streamGenerateContent?alt=sse", "m", "https://x.test/m:streamGenerateContent?alt=sse"),
    ],
)
def test_address(base: str, model: str, url: str) -> None:
    """The version stays in the base url, the model id may bring its folder, and a full address is left alone."""
    assert stream_url(base, model) == url


# ------------------------------------------------------------------ listening


@pytest.mark.parametrize("body", [recorded(), long_stream()], ids=["aimock", "made up"])
def test_stream_byte_by_byte(body: bytes) -> None:
    """A stream gives the same events whole, byte by byte, with CRLF, with a BOM and without its last line."""
    whole = heard([body])
    assert len(whole) >= 3
    assert heard(bytes([byte]) for byte in body) == whole
    assert heard([body.replace(b"\n", b"\r\n")]) == whole
    assert heard([b"\xef\xbb\xbf" + body]) == whole
    assert heard([body.rstrip(b"\n")]) == whole


@given(st.booleans(), st.lists(st.integers(0, 1000), max_size=20))
def test_stream_in_any_chunking(made_up: bool, cuts: list[int]) -> None:
    """Where the network cuts a stream makes no difference to what is heard."""
    body = long_stream() if made_up else recorded()
    edges = sorted({0, len(body), *(cut for cut in cuts if cut < len(body))})
    assert heard(body[a:b] for a, b in pairwise(edges)) == heard([body])


def test_recorded_answer_of_aimock() -> None:
    """The recorded answer: one whole call and that gateway's own finish word."""
    collected = collect(heard([recorded()]), streamed=True)
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


def test_call_without_args_and_with_id() -> None:
    """A tool without arguments gets an empty object; an id is kept where there is one."""
    assert stream(said({"functionCall": {"name": "now", "id": "c1"}})) == [ToolCallDelta(0, "c1", "now", "{}")]


@pytest.mark.parametrize(("given_args", "text"), [('{"a":1}', '{"a":1}'), ([1], "{}"), (5, "{}")])
def test_args_that_are_no_object(given_args: Any, text: str) -> None:
    """Arguments of another kind are flagged; text is taken as it is."""
    events = stream(said({"functionCall": {"name": "f", "args": given_args}}))
    assert events == [Anomaly("arguments_not_an_object"), ToolCallDelta(0, None, "f", text)]


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


@pytest.mark.parametrize(
    ("name", "payload", "fault"),
    [
        ("error", {"message": "Boom"}, Fault("Boom")),
        ("", {"object": "error", "message": "Bad", "code": 400}, Fault("Bad", "400", 400)),
        ("", {"base_resp": {"status_code": 1002, "status_msg": "Limit"}}, Fault("Limit", "1002", 429)),
    ],
)
def test_errors_in_other_shapes(name: str, payload: Any, fault: Fault) -> None:
    """Gateways report errors in their own shapes under this protocol too."""
    assert list(GeminiReader().read(SseEvent(json.dumps(payload), name))) == [fault]


def test_error_event_that_is_not_json() -> None:
    """An error event in plain text keeps its text."""
    assert list(GeminiReader().read(SseEvent("upstream gone", "error"))) == [Fault("upstream gone")]


@pytest.mark.parametrize("data", ["{", "null", "[]", "42", '"hi"', "Infinity"])
def test_unreadable_events(data: str) -> None:
    """An event that is not a JSON object is one anomaly, and the reading goes on."""
    assert list(GeminiReader().read(SseEvent(data))) == [Anomaly("bad_event")]


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
    request = ask([USER], [{"type": "function", "function": {"name": "a b"}}])
    _, response, _ = read_answer(exchange(ended("STOP", call("a_b"))), GeminiReader(), tool_names=request.tool_names)
    assert response is not None
    assert [made.name for made in response.tool_calls] == ["a b"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
KEYS = st.sampled_from([
    "candidates", "content", "parts", "text", "thought", "functionCall", "name", "args", "id", "finishReason", "index",
    "promptFeedback", "blockReason", "usageMetadata", "promptTokenCount", "thoughtsTokenCount", "modelVersion", "error",
    "role", "tool_calls", "type", "function", "parameters", "properties", "$ref", "anyOf", "tool_choice", "arguments",
])  # fmt: skip
WORDS = st.sampled_from(["STOP", "user", "assistant", "tool", "function", "MALFORMED_FUNCTION_CALL", "object", "#"])
NEAR = st.recursive(
    JSON | WORDS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=6), max_leaves=20
)


@given(st.lists(st.one_of(JSON, NEAR), max_size=8), NEAR)
def test_nothing_raises(payloads: list[Any], body: Any) -> None:
    """Any JSON at all, and above all JSON that looks almost right, is read without an exception and collected."""
    assert answer(*payloads).response.streamed
    collect(GeminiReader().read_body(body))


@given(st.lists(st.one_of(JSON, NEAR), max_size=5), st.lists(NEAR, max_size=3), st.dictionaries(KEYS, NEAR, max_size=4))
def test_no_turn_raises(messages: list[Any], tools: list[Any], parameters: dict[str, Any]) -> None:
    """Any turn becomes a request, sendable or not; a malformed sample never stops a run."""
    turn = Turn(tuple(messages), tuple(tools), parameters)
    for wire in (Gemini(), Gemini(schema="json_schema")):
        assert wire.request(turn, Endpoint(BASE, "m")).body
