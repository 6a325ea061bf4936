"""What the official SDKs make of streams that depart from the standard, beside our own reading."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from doctor_cases import DONE, JSON, USAGE, answer, calling, chunk, refused, sse, text_question, tool_question, words

from vendor_verifier.features.doctor import sdk_compatibility
from vendor_verifier.features.doctor.diagnose import verdict
from vendor_verifier.features.doctor.sdk_compatibility import (
    MAX_REPLAYED_BYTES,
    SdkReading,
    losses,
    replay_answers,
)
from vendor_verifier.features.doctor.values import Answer, SdkFinding
from vendor_verifier.values.event import ToolCall, Usage
from vendor_verifier.values.record import Failure, Response
from vendor_verifier.wire.anthropic_messages import AnthropicMessages
from vendor_verifier.wire.base import Wire
from vendor_verifier.wire.openai_chat import OpenAIChat
from vendor_verifier.wire.openai_responses import OpenAIResponses

pytestmark = pytest.mark.anyio

CAPTURES = Path(__file__).parents[2] / "wire" / "captures"


def stream(*pieces: bytes) -> Answer:
    return answer(tool_question(), [(1, b"".join(pieces))])


async def by_route(made: Answer, wire: str = "openai") -> dict[str, SdkFinding]:
    return {finding.route: finding for finding in await replay_answers([made], wire)}


async def test_a_standard_answer_is_consistent_by_both_routes() -> None:
    """Calls, text, usage and finish reason arrive in full at an application."""
    found = await replay_answers([answer(tool_question(), calling()), answer(text_question(), words())], "openai")
    assert [(one.status, one.evidence) for one in found] == [("consistent", ())] * 4
    assert {one.route for one in found} == {"create(stream=True)", "stream()"}
    assert found[0].sdk.startswith("openai SDK ")


def call(index: int | None, name: str | None, arguments: str, id_: str | None = "c") -> bytes:
    function = {"name": name, "arguments": arguments}
    one: dict[str, Any] = {"id": id_, "type": "function", "function": function}
    return chunk(tool_calls=[one if index is None else {"index": index, **one}])


END = (chunk("tool_calls"), sse(USAGE), DONE)


@pytest.mark.parametrize(
    ("pieces", "route", "status", "words_"),
    [
        # No index: the helper cannot place the call at all.
        ([call(None, "get_weather", "{}"), *END], "stream()", "crashes", "TypeError"),
        # No "object" in the chunks: the helper skips every one of them.
        (
            [sse({"id": "r", "choices": [{"index": 0, "delta": {"content": "hi"}, "finish_reason": "stop"}]}), DONE],
            "stream()", "crashes", "AssertionError",
        ),
        # Two calls without an index: one of them is gone.
        (
            [call(None, "get_weather", "{}", "a"), call(None, "get_weather", "{}", "b"), *END],
            "create(stream=True)", "loses", "1 tool call instead of 2",
        ),
        # The name in every delta.
        (
            [call(0, "get_weather", '{"city":'), call(0, "get_weather", '"Paris"}'), *END],
            "stream()", "loses", "get_weatherget_weather",
        ),
        # One index for two calls.
        (
            [call(0, "get_weather", "{}", "a"), call(0, "get_weather", "{}", "b"), *END],
            "create(stream=True)", "loses", "1 tool call instead of 2",
        ),
        # delta: null
        (
            [sse({"id": "r", "choices": [{"index": 0, "delta": None, "finish_reason": None}]}),
             chunk("stop", content="hi"), DONE],
            "create(stream=True)", "crashes", "AttributeError",
        ),
        # An event that is no JSON and takes nothing away.
        ([chunk(content="hi"), b"data: oops\n\n", chunk("stop"), DONE], "create(stream=True)", "crashes", "JSON"),
        # A broken event, with which a piece of the answer is gone, is raised, as it should be.
        (
            [chunk(content="hi"), b"data: {oops\n\n", chunk("stop"), DONE],
            "create(stream=True)", "consistent", "bad_payload",
        ),
        # A cut stream is taken for a whole one.
        ([chunk(content="hi")], "create(stream=True)", "loses", "truncated"),
        # An error the SDK does not recognise.
        (
            [chunk(content="hi"), sse({"object": "error", "message": "CUDA out of memory", "code": 500})],
            "create(stream=True)", "loses", "api_error_in_200",
        ),
        # An error it does recognise is raised, as it should be.
        ([chunk(content="hi"), sse({"error": {"message": "busy"}})], "create(stream=True)", "consistent", "APIError"),
        # The usage stands where only Moonshot puts it.
        (
            [sse({"id": "r", "choices": [{"index": 0, "delta": {"content": "hi"}, "finish_reason": "stop",
                                          "usage": {"prompt_tokens": 4, "completion_tokens": 2}}]}), DONE],
            "create(stream=True)", "loses", "input tokens: none instead of 4",
        ),
    ],
)  # fmt: skip
async def test_a_quirk_is_told_with_what_it_does_to_an_application(
    pieces: Sequence[bytes], route: str, status: str, words_: str
) -> None:
    """Each known departure: our reader copes, the finding says what the SDK's user gets."""
    finding = (await by_route(stream(*pieces)))[route]
    assert finding.status == status, finding
    assert words_ in "; ".join(finding.evidence)


async def test_a_json_body_to_a_stream_request_is_lost_whole() -> None:
    """The SDK's stream is silently empty."""
    body = {"choices": [{"index": 0, "message": {"content": "hello"}, "finish_reason": "stop"}]}
    finding = (await by_route(answer(text_question(), [(1, json.dumps(body).encode())], headers=JSON)))[
        "create(stream=True)"
    ]
    assert finding.status == "loses"
    assert finding.evidence[0] == "text: '' instead of 'hello'"


async def test_a_refusal_is_not_replayed_and_a_wire_without_an_sdk_has_no_finding() -> None:
    """There is nothing to lose in a 401; Gemini has no SDK here."""
    assert await replay_answers([refused(text_question(), 401)], "openai") == ()
    assert await replay_answers([answer(text_question(), words())], "gemini") == ()


@pytest.mark.parametrize(
    ("name", "wire"),
    [("anthropic", AnthropicMessages()), ("responses", OpenAIResponses()), ("chat", OpenAIChat())],
)
async def test_recorded_streams_replay_on_their_own_sdk(name: str, wire: Wire) -> None:
    """Bytes of a real server go through the SDK of their protocol, and the comparison finds its way in them."""
    # llama-cpp-python is odd in itself: see the next test.
    files = [path for path in sorted(CAPTURES.glob(f"*.{name}.stream*")) if not path.name.startswith("lcpy")]
    if not files:
        pytest.skip("no capture of this protocol")
    for path in files:
        data = path.read_bytes()
        _, _, body = data.partition(b"\r\n\r\n") if data.startswith(b"HTTP/") else (b"", b"", data)
        made = answer(tool_question(), [(1, body)], wire=wire)
        assert made.response is not None, path
        for finding in await replay_answers([made], wire.name):
            assert finding.status != "crashes", (path, finding)
            assert not [word for word in finding.evidence if word.startswith(("text", "tool call"))], (path, finding)


async def test_a_recorded_call_that_repeats_its_name_is_told() -> None:
    """llama-cpp-python names a call in every piece: users of the SDK's helper hold a name that no tool has."""
    body = (CAPTURES / "lcpy.chat.stream.named.txt").read_bytes().partition(b"\r\n\r\n")[2]
    findings = await replay_answers([answer(tool_question(), [(1, body)], wire=OpenAIChat())], "openai")
    told = [word for finding in findings for word in finding.evidence if word.startswith("tool call")]
    assert told
    assert all("get_weatherget_weather" in word for word in told)


async def test_an_answer_far_too_long_is_not_read_and_is_no_loss() -> None:
    """What a hostile vendor sends may take an SDK minutes; it is our own choice not to, and counts against nobody."""
    pieces = [chunk(content="x" * 100) for _ in range(MAX_REPLAYED_BYTES // 100)]
    found = await replay_answers([stream(*pieces, chunk("stop"), DONE)], "openai")
    assert [one.status for one in found] == ["too_long", "too_long"]
    assert verdict((), found) == "usable"


async def test_an_sdk_that_takes_too_long_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """A vendor cannot hold the examination up by what an SDK is slow to read."""
    made = stream(*(chunk(content="x") for _ in range(1000)), chunk("stop"), DONE)
    assert [one.status for one in await replay_answers([made], "openai")] == ["consistent", "consistent"]
    monkeypatch.setattr(sdk_compatibility, "MAX_REPLAY_S", 0)
    found = await replay_answers([made], "openai")
    assert [one.status for one in found] == ["too_long", "too_long"]
    assert found[0].evidence == ("still reading after 0 s and stopped",)


def test_losses_are_named_one_by_one() -> None:
    """Text, calls, arguments, finish and usage each have their own sentence; agreement has none."""
    response = Response("hi", tool_calls=(ToolCall("f", '{"a": 1}'),), finish_reason="stop", usage=Usage(5, 6))
    same = SdkReading("hi", [("f", '{"a":1}')], "stop", 5, 6)
    assert losses(same, response, None, "openai") == ()
    other = SdkReading("ho", [("g", "{")], None, None, 0)
    assert [word.split(":")[0] for word in losses(other, response, None, "openai")] == [
        "text", "tool call 1", "tool call 1", "the finish reason is lost",
        "usage, input tokens", "usage, output tokens",
    ]  # fmt: skip
    raw = SdkReading("<tool_call>…", [], "stop", 5, 6)
    assert losses(raw, response, None, "openai_completions") == ()
    failure = Failure("truncated", "stream", "cut")
    assert losses(same, response, failure, "openai")[0].startswith("no exception")


def test_empty_arguments_are_an_empty_object() -> None:
    """To a tool nothing and {} are the same."""
    response = Response(tool_calls=(ToolCall("f", ""),), finish_reason="tool_calls")
    assert losses(SdkReading("", [("f", "{}")], "tool_calls"), response, None, "anthropic") == ()
