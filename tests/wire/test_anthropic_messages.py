"""The Anthropic wire: requests as dictionaries, recorded streams in any chunking, each quirk by name."""

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
from vendor_verifier.values.request import Endpoint, HttpRequest, Turn
from vendor_verifier.wire.address import messages_url
from vendor_verifier.wire.anthropic_messages import DEFAULT_MAX_TOKENS, AnthropicMessages
from vendor_verifier.wire.anthropic_reader import STOP_REASONS, AnthropicReader
from vendor_verifier.wire.assemble import Collected, collect
from vendor_verifier.wire.sse import SseDecoder

CAPTURES = Path(__file__).parent / "captures"
STREAMS = ["aimock.anthropic.stream.txt", "llamacpp.anthropic.stream.txt"]
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOL = {"type": "function", "function": {"name": "get_weather", "description": "Weather now", "parameters": SCHEMA}}
USER = {"role": "user", "content": "Hi"}


def body_of(name: str) -> bytes:
    return (CAPTURES / name).read_bytes().partition(b"\r\n\r\n")[2]


def heard(chunks: Iterable[bytes]) -> list[StreamEvent]:
    decoder, reader = SseDecoder(), AnthropicReader()
    events = [event for chunk in chunks for event in decoder.feed(chunk)]
    events.extend(decoder.close())
    return [said for event in events for said in reader.read(event)]


def stream(*payloads: Any) -> list[StreamEvent]:
    reader = AnthropicReader()
    return [said for payload in payloads for said in reader.read(SseEvent(json.dumps(payload)))]


def answer(*payloads: Any) -> Collected:
    return collect(stream(*payloads), streamed=True)


def start(**usage: Any) -> dict[str, Any]:
    return {"type": "message_start", "message": {"id": "m1", "model": "claude", "content": [], "usage": usage}}


def block(index: Any, kind: str, **content: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": {"type": kind, **content}}


def delta(index: Any, kind: str, **content: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **content}}


def stop(index: Any) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def end(reason: Any, **usage: Any) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}


DONE = {"type": "message_stop"}


# ------------------------------------------------------------------ asking


def ask(messages: Iterable[Any] = (USER,), tools: Iterable[Any] = (), **parameters: Any) -> HttpRequest:
    turn = Turn(tuple(messages), tuple(tools), {"max_tokens": 9, **parameters})
    return AnthropicMessages().request(turn, Endpoint("https://x.test/v1", "m"))


def sent(*args: Any, **parameters: Any) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(ask(*args, **parameters).body)
    return body


def calls(*items: tuple[str, str, str]) -> dict[str, Any]:
    """An assistant message that makes calls of (id, name, arguments)."""
    made = [{"id": i, "type": "function", "function": {"name": n, "arguments": a}} for i, n, a in items]
    return {"role": "assistant", "content": None, "tool_calls": made}


def result(call_id: str, content: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


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
            calls(("a", "get_weather", '{"city":"Rome"}'), ("b", "now", "")),
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
    once = [calls(("functions.now:0", "now", "{}")), result("functions.now:0", "noon")]
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
    messages = sent([{"role": "user", "content": parts}, calls(("a", "see", "{}")), result("a", parts[:2])])["messages"]
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
        ([USER, calls(("a", "f", "{}"))], [], {}, "tool call without a result"),
        ([USER, result("a", "x")], [], {}, "tool result without a call"),
        ([USER, calls(("a", "f", "{")), result("a", "x")], [], {}, "not a JSON object"),
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
    request = ask([USER, calls(("1", "a.b", "{}")), result("1", "ok")], tools, tool_choice=choice)
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


@pytest.mark.parametrize(
    ("base", "url"),
    [
        ("https://api.anthropic.com", "https://api.anthropic.com/v1/messages"),
        ("https://api.anthropic.com/v1/", "https://api.anthropic.com/v1/messages"),
        ("https://api.minimax.io/anthropic", "https://api.minimax.io/anthropic/v1/messages"),
        ("https://x.test/v1/messages", "https://x.test/v1/messages"),
    ],
)
def test_address(base: str, url: str) -> None:
    """A base url may name the version or the whole path, or neither."""
    assert messages_url(base) == url


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


# ------------------------------------------------------------------ listening


@pytest.mark.parametrize("name", STREAMS)
def test_recorded_stream_byte_by_byte(name: str) -> None:
    """A recorded stream gives the same events whole, byte by byte, with CRLF, with a BOM and without its last line."""
    body = body_of(name)
    whole = heard([body])
    assert len(whole) > 5
    assert heard(bytes([byte]) for byte in body) == whole
    assert heard([body.replace(b"\n", b"\r\n")]) == whole
    assert heard([b"\xef\xbb\xbf" + body]) == whole
    assert heard([body.rstrip(b"\n")]) == whole


@given(st.sampled_from(STREAMS), st.lists(st.integers(0, 5000), max_size=20))
def test_recorded_stream_in_any_chunking(name: str, cuts: list[int]) -> None:
    """Where the network cuts a stream makes no difference to what is heard."""
    body = body_of(name)
    edges = sorted({0, len(body), *(cut for cut in cuts if cut < len(body))})
    assert heard(body[a:b] for a, b in pairwise(edges)) == heard([body])


def test_recorded_answer_of_aimock() -> None:
    """The recorded answer: one call, finished, ended; zeros stay zeros because the host reported them."""
    collected = collect(heard([body_of(STREAMS[0])]), streamed=True)
    response = collected.response
    assert [(call.name, json.loads(call.arguments)) for call in response.tool_calls] == [
        ("get_weather", {"location": "Paris", "unit": "celsius"})
    ]
    assert (response.finish_reason, response.finish_raw) == ("tool_calls", "tool_use")
    assert response.usage == Usage(input=0, output=0)
    assert (response.served_model, response.request_id) == ("gpt-4o", "msg_7I-miLCFnkIDoVY0")
    assert collected.ended
    assert not {"bad_event", "no_finish_reason", "finish_changed"} & set(response.anomalies)


def test_cached_tokens_are_added_to_the_input() -> None:
    """llama.cpp says 1 input token and 664 from the cache: the prompt had 665."""
    response = collect(heard([body_of(STREAMS[1])]), streamed=True).response
    assert response.usage == Usage(input=665, output=81, cached=664)
    assert json.loads(response.tool_calls[0].arguments) == {"location": "", "unit": "celsius"}


def test_gateway_that_counts_at_the_end() -> None:
    """Zeros in message_start and the truth in message_delta give the truth; a later zero erases nothing."""
    late = answer(start(input_tokens=0, output_tokens=0), end("end_turn", input_tokens=40, output_tokens=7), DONE)
    assert late.response.usage == Usage(input=40, output=7)
    early = answer(
        start(input_tokens=40, cache_creation_input_tokens=2, output_tokens=1),
        end("end_turn", input_tokens=0, cache_creation_input_tokens=0, output_tokens=7),
    )
    assert early.response.usage == Usage(input=42, output=7)


def test_usage_absent_stays_absent() -> None:
    """A host that reports nothing reports nothing, not zero."""
    message = {"type": "message_start", "message": {"model": "m", "usage": None}}
    assert answer(message, end("end_turn"), DONE).response.usage is None


def test_thinking_tokens_and_cost() -> None:
    """Thinking tokens are part of the output and shown beside it; a router's price is kept."""
    collected = answer(end("end_turn", output_tokens=9, output_tokens_details={"thinking_tokens": 4}, cost=0.5))
    assert collected.response.usage == Usage(output=9, reasoning=4, cost_usd=0.5)


@pytest.mark.parametrize(
    ("raw", "reason"), [*STOP_REASONS.items(), ("pause_turn", "unknown"), ("brand_new", "unknown")]
)
def test_stop_reasons(raw: str, reason: str) -> None:
    """Every stop reason has its place in the field's words, and the vendor's word is kept."""
    assert stream(end(raw))[-1] == Finish(reason, raw)  # type: ignore[arg-type]


def test_refusal_and_window_are_not_stops() -> None:
    """The two words most easily mistaken for a plain stop."""
    assert STOP_REASONS["refusal"] == "content_filter"
    assert STOP_REASONS["model_context_window_exceeded"] == "length"


@pytest.mark.parametrize("raw", [None, "", 5])
def test_cut_stream_has_no_finish(raw: Any) -> None:
    """Without a stop reason and without message_stop the answer is incomplete, text or no text."""
    collected = answer(start(), block(0, "text"), delta(0, "text_delta", text="Hel"), end(raw))
    assert collected.response.text == "Hel"
    assert not collected.complete


def test_message_stop_ends() -> None:
    """The end marker makes an answer complete even where the reason is missing, and that is flagged."""
    collected = answer(start(), DONE)
    assert collected.ended
    assert "no_finish_reason" in collected.response.anomalies


def test_text_and_thinking() -> None:
    """Text and thinking are kept apart; signatures, citations and redacted thinking are no words."""
    events = stream(
        block(0, "thinking", thinking=""),
        delta(0, "thinking_delta", thinking="Hm"),
        delta(0, "signature_delta", signature="zzz"),
        stop(0),
        block(1, "redacted_thinking", data="zzz"),
        stop(1),
        block(2, "text", text="A"),
        delta(2, "text_delta", text="B"),
        delta(2, "citations_delta", citation={}),
    )
    assert events == [ReasoningDelta("Hm"), TextDelta("A"), TextDelta("B")]


def test_tool_without_arguments() -> None:
    """No fragment, or empty ones, stand for an empty object."""
    for fragments in ([], [delta(0, "input_json_delta", partial_json="")]):
        collected = answer(block(0, "tool_use", id="t", name="now", input={}), *fragments, stop(0), end("tool_use"))
        assert [(call.name, call.arguments, call.anomalies) for call in collected.response.tool_calls] == [
            ("now", "{}", ())
        ]
        assert "input_in_block_start" not in collected.response.anomalies


def test_input_whole_in_block_start() -> None:
    """A gateway that sends the arguments in the opening event is read and flagged."""
    collected = answer(block(0, "tool_use", id="t", name="f", input={"a": "é"}), stop(0), end("tool_use"))
    assert collected.response.tool_calls[0].arguments == '{"a": "é"}'
    assert "input_in_block_start" in collected.response.anomalies


def test_input_in_block_start_and_again_in_deltas() -> None:
    """Arguments that come both ways count once."""
    collected = answer(
        block(0, "tool_use", id="t", name="f", input={"a": 1}),
        delta(0, "input_json_delta", partial_json='{"a":1}'),
        stop(0),
    )
    assert collected.response.tool_calls[0].arguments == '{"a":1}'


def test_input_as_text_in_block_start() -> None:
    """Arguments as JSON text in the opening event are taken as they are."""
    collected = answer(block(0, "tool_use", id="t", name="f", input='{"a":1}'), stop(0))
    assert collected.response.tool_calls[0].arguments == '{"a":1}'


def test_block_stop_forgotten() -> None:
    """The end of the message closes blocks that nobody closed, an early usage report does not."""
    collected = answer(
        block(0, "tool_use", id="t", name="f", input={}),
        end(None, output_tokens=1),
        delta(0, "input_json_delta", partial_json='{"a":1}'),
        block(1, "tool_use", id="u", name="now", input={}),
        DONE,
    )
    assert [call.arguments for call in collected.response.tool_calls] == ['{"a":1}', "{}"]


def test_index_reused_for_another_call() -> None:
    """A gateway that numbers every block 0 still makes two calls, each with its own arguments."""
    collected = answer(
        block(0, "tool_use", id="t", name="f"),
        delta(0, "input_json_delta", partial_json='{"a":1}'),
        block(0, "tool_use", id="u", name="g"),
        delta(0, "input_json_delta", partial_json='{"b":2}'),
        end("tool_use"),
    )
    assert [(call.name, call.arguments) for call in collected.response.tool_calls] == [
        ("f", '{"a":1}'),
        ("g", '{"b":2}'),
    ]
    assert "index_reused" in collected.response.anomalies


def test_block_opened_twice() -> None:
    """The same opening event sent twice opens one call."""
    opening = block(0, "tool_use", id="t", name="f")
    collected = answer(opening, opening, delta(0, "input_json_delta", partial_json="{}"), end("tool_use"))
    assert len(collected.response.tool_calls) == 1
    assert "block_repeated" in collected.response.anomalies


@pytest.mark.parametrize("index", [-3, 2_000_000_000, None, "0"])
def test_odd_indices(index: Any) -> None:
    """A negative, huge, missing or nonsensical index loses no call."""
    collected = answer(
        block(index, "tool_use", id="t", name="f"),
        delta(index, "input_json_delta", partial_json='{"a":'),
        delta(index, "input_json_delta", partial_json="1}"),
        stop(index),
    )
    assert [(call.name, call.arguments) for call in collected.response.tool_calls] == [("f", '{"a":1}')]


def test_delta_of_a_block_never_opened() -> None:
    """Arguments without an opening event are a call without a name, and flagged."""
    collected = answer(delta(4, "input_json_delta", partial_json='{"a":1}'))
    assert [(call.name, call.arguments) for call in collected.response.tool_calls] == [("", '{"a":1}')]
    assert "block_not_started" in collected.response.anomalies


def test_fragment_as_object() -> None:
    """An object where a fragment belongs is accepted and flagged."""
    call = answer(block(0, "tool_use", id="t", name="f"), delta(0, "input_json_delta", partial_json={"a": 1}))
    assert call.response.tool_calls[0].arguments == '{"a": 1}'
    assert call.response.tool_calls[0].anomalies == ("arguments_object",)


def test_tools_the_host_runs_are_no_calls() -> None:
    """Blocks of server-side tools and unknown blocks are skipped with a flag, their arguments too."""
    collected = answer(
        block(0, "server_tool_use", id="s", name="web_search"),
        delta(0, "input_json_delta", partial_json='{"q":1}'),
        stop(0),
        block(1, "web_search_tool_result", content=[]),
        block(2, "hologram"),
    )
    assert collected.response.tool_calls == ()
    assert {"host_tool_block", "unknown_block"} <= set(collected.response.anomalies)


def test_pings_and_unknown_events_say_nothing() -> None:
    """A ping anywhere, an event type nobody knows yet, and a payload without type are silent."""
    assert stream({"type": "ping"}, {"type": "message_sparkle", "x": 1}, {"hello": 1}) == []


def test_event_name_stands_in_for_a_missing_type() -> None:
    """Where a gateway leaves ``type`` to the event name, the name is believed."""
    assert list(AnthropicReader().read(SseEvent("{}", "message_stop"))) == [StreamEnd()]


@pytest.mark.parametrize(
    ("name", "payload", "fault"),
    [
        (
            "error",
            {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
            Fault("Overloaded", "overloaded_error", 529),
        ),
        ("", {"error": {"type": "rate_limit_error", "message": "Slow"}}, Fault("Slow", "rate_limit_error", 429)),
        ("error", {"message": "Boom"}, Fault("Boom", None, None)),
        ("", {"object": "error", "message": "Bad", "code": 400}, Fault("Bad", "400", 400)),
        ("", {"base_resp": {"status_code": 1002, "status_msg": "Limit"}}, Fault("Limit", "1002", 429)),
    ],
)
def test_errors_in_the_stream(name: str, payload: Any, fault: Fault) -> None:
    """An error inside a 200 stream is a fault with the status its word stands for, in each shape."""
    assert list(AnthropicReader().read(SseEvent(json.dumps(payload), name))) == [fault]


def test_error_event_that_is_not_json() -> None:
    """An error event in plain text keeps its text."""
    assert list(AnthropicReader().read(SseEvent("upstream gone", "error"))) == [Fault("upstream gone")]


@pytest.mark.parametrize("data", ["{", "null", "[]", "42", '"hi"', "NaN"])
def test_unreadable_events(data: str) -> None:
    """An event that is not a JSON object is one anomaly, and the reading goes on."""
    assert list(AnthropicReader().read(SseEvent(data))) == [Anomaly("bad_event")]


def test_foreign_end_marker() -> None:
    """A gateway that ends in the other protocol's way has ended, with a flag."""
    assert list(AnthropicReader().read(SseEvent("[DONE]"))) == [Anomaly("foreign_end_marker"), StreamEnd()]


def test_whole_body() -> None:
    """A host that does not stream answers the same, in one object."""
    body = {
        "type": "message",
        "id": "m1",
        "model": "claude",
        "content": [
            {"type": "thinking", "thinking": "Hm"},
            {"type": "text", "text": "A"},
            {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}},
            {"type": "tool_use", "id": "u", "name": "now"},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 3, "cache_read_input_tokens": 2, "output_tokens": 4},
    }
    assert list(AnthropicReader().read_body(body)) == [
        Identity(model="claude", response_id="m1"),
        Usage(input=5, output=4, cached=2),
        ReasoningDelta("Hm"),
        TextDelta("A"),
        ToolCallDelta(0, "t", "f", '{"a": 1}'),
        ToolCallDelta(1, "u", "now", "{}"),
        Finish("tool_calls", "tool_use"),
        StreamEnd(),
    ]


@pytest.mark.parametrize(
    ("body", "code"),
    [([], "not_an_object"), ({"choices": []}, "no_choices"), ({"error": {"type": "api_error"}}, "api_error")],
)
def test_bodies_that_are_no_answer(body: Any, code: str) -> None:
    """A body in another shape is a fault that says which."""
    (fault,) = AnthropicReader().read_body(body)
    assert isinstance(fault, Fault)
    assert fault.code == code


def test_recorded_429_body_is_a_fault() -> None:
    """The error body of a recorded 429 reads the same inside a 200."""
    body = json.loads(body_of("aimock.429.anthropic.txt"))
    assert list(AnthropicReader().read_body(body)) == [Fault("Rate limit exceeded", "rate_limit_error", 429)]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
TYPES = st.sampled_from([
    "message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta",
    "message_stop", "tool_use", "server_tool_use", "text", "thinking", "text_delta", "input_json_delta",
    "thinking_delta",
])  # fmt: skip
KEYS = st.sampled_from([
    "type", "index", "message", "content_block", "delta", "usage", "id", "name", "input", "text", "thinking", "content",
    "partial_json", "stop_reason", "error", "input_tokens", "output_tokens", "model", "output_tokens_details",
])  # fmt: skip
NEAR = st.recursive(JSON | TYPES, lambda inner: st.dictionaries(KEYS, inner | TYPES, max_size=6), max_leaves=20)


@given(st.lists(st.one_of(JSON, NEAR), max_size=8), NEAR)
def test_nothing_raises(payloads: list[Any], body: Any) -> None:
    """Any JSON at all, and above all JSON that looks almost right, is read without an exception and collected."""
    collected = collect(stream(*payloads), streamed=True)
    assert collected.response.streamed
    collect(AnthropicReader().read_body(body))


@given(st.lists(st.one_of(JSON, NEAR), max_size=5), st.lists(NEAR, max_size=3), st.dictionaries(KEYS, JSON, max_size=4))
def test_no_turn_raises(messages: list[Any], tools: list[Any], parameters: dict[str, Any]) -> None:
    """Any turn becomes a request, sendable or not; a malformed sample never stops a run."""
    turn = Turn(tuple(messages), tuple(tools), parameters)
    assert AnthropicMessages().request(turn, Endpoint("https://x.test", "m")).body


@given(
    st.lists(
        st.tuples(
            st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5), max_size=3), st.integers(1, 9)
        ),
        max_size=4,
    )
)
def test_split_arguments_come_together(arguments: list[tuple[dict[str, Any], int]]) -> None:
    """Calls whose arguments were cut into pieces of any size come back whole and in order."""
    payloads: list[Any] = []
    for number, (value, size) in enumerate(arguments):
        text = json.dumps(value)
        payloads.append(block(number, "tool_use", id=f"t{number}", name=f"f{number}", input={}))
        payloads.extend(
            delta(number, "input_json_delta", partial_json=text[at : at + size]) for at in range(0, len(text), size)
        )
        payloads.append(stop(number))
    calls_heard = answer(*payloads).response.tool_calls
    assert [json.loads(call.arguments) for call in calls_heard] == [value for value, _ in arguments]
    assert [call.name for call in calls_heard] == [f"f{number}" for number in range(len(arguments))]
