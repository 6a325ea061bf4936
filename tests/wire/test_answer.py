"""A finished exchange is read the same whatever its chunking, and judged by what was really said."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from listening import sse

from vendor_verifier.records.record import Exchange, Failure, FailureKind
from vendor_verifier.wire.openai_chat import OpenAIChatReader
from vendor_verifier.wire.parse_answer import read_answer

SENT_AT = "2026-01-01T00:00:00.000+00:00"
STREAM = {"content-type": "text/event-stream"}
JSON = {"content-type": "application/json"}
DONE = b"data: [DONE]\n\n"


def event(finish: str | None = None, **delta: Any) -> bytes:
    return sse({"model": "m", "choices": [{"delta": delta, "finish_reason": finish}]})


def message(finish: str | None = "stop", **fields: Any) -> bytes:
    return json.dumps({"id": "r", "choices": [{"message": fields, "finish_reason": finish}]}).encode()


def read(
    *chunks: bytes, headers: Mapping[str, str] = STREAM, status: int = 200, failure: Failure | None = None,
    **options: Any,
) -> Any:  # fmt: skip
    """The outcome of an exchange whose chunks came every 10 ns."""
    stamped = [(10 * (n + 1), chunk) for n, chunk in enumerate(chunks)]
    exchange = Exchange(SENT_AT, 10 * len(chunks) + 5, status, headers, stamped, 1, -7, 3, failure)
    return read_answer(exchange, OpenAIChatReader(), **options)


def kind_of(outcome: Any) -> FailureKind | None:
    return outcome[2].kind if outcome[2] else None


def anomalies(outcome: Any) -> tuple[str, ...]:
    return outcome[1].anomalies if outcome[1] else ()


def test_timing_is_the_chunks() -> None:
    """First token, first answer, gaps and end are the moments their bytes came."""
    timing, _, failure = read(
        event(role="assistant"), event(reasoning="hm"), event(content="a"), event("stop", content="b"), DONE
    )
    assert failure is None
    assert (timing.first_token_ns, timing.first_answer_ns) == (20, 30)
    assert (timing.last_token_ns, timing.gaps_ns, timing.end_ns) == (40, (10, 10), 55)
    assert (timing.scheduled_ns, timing.connect_ns, timing.headers_ns) == (-7, 3, 1)
    assert timing.first_chunk_share == 0.5


def test_a_plain_body_has_no_token_times() -> None:
    """Plain JSON to a stream request is read; TTFT is absent, never the time of the whole."""
    outcome = read(message(content="hello"), headers=JSON)
    timing, response, failure = outcome
    assert failure is None
    assert (response.text, response.streamed) == ("hello", False)
    assert anomalies(outcome) == ("not_streamed",)
    assert (timing.first_token_ns, timing.last_token_ns, timing.gaps_ns) == (None, None, ())


@pytest.mark.parametrize(
    "start", [b"", b": hi\n\n", b":\n\n", b"retry: 1\n\n", b"id: 1\n", b"\n\n", b"\xef\xbb\xbf", b"event: x\n"]
)
@pytest.mark.parametrize("content_type", ["text/event-stream; charset=utf-8", "application/json", "text/plain", ""])
@pytest.mark.parametrize("size", [1, 3, 1000])
def test_a_stream_is_known_by_its_look(start: bytes, content_type: str, size: int) -> None:
    """A stream under any content type, from its first field on and in any chunking, is a stream."""
    data = start + event("stop", content="hello") + DONE
    chunks = [data[at : at + size] for at in range(0, len(data), size)]
    _, response, failure = read(*chunks, headers={"content-type": content_type})
    assert failure is None
    assert (response.text, response.streamed) == ("hello", True)


@pytest.mark.parametrize("kind", ["truncated", "timeout_idle", "timeout_total", "limit_exceeded"])
def test_a_connection_end_counts_only_before_the_answers_end(kind: str) -> None:
    """Both the partial response and what the transport saw are in the outcome of a cut answer. One that was given whole
    is a success, however the connection ended afterwards."""
    failure = Failure(kind, "stream", "words", 200)
    _, response, seen = read(event(content="hel"), failure=failure)
    assert (response.text, seen) == ("hel", failure)
    for end in (event("stop"), DONE):
        expected = None if kind != "limit_exceeded" else kind
        assert kind_of(read(event(content="hello"), end, failure=failure)) == expected


@pytest.mark.parametrize(
    ("chunks", "headers", "kind"),
    [
        ((b": hi\n\n",), STREAM, "empty_response"), ((event(role="assistant"), DONE), STREAM, "empty_response"),
        ((b" \n",), JSON, "empty_response"), ((b"[1]",), JSON, "not_an_api_response"),
        ((b"<html>busy</html>",), STREAM, "not_an_api_response"), ((b'{"choices": [',), JSON, "not_an_api_response"),
        ((event("error", content="a"), DONE), STREAM, "api_error_in_200"),
        ((b"data: " + b"x" * (9 * 2**20),), STREAM, "limit_exceeded"),
        ((event("content_filter", content="I would"), DONE), STREAM, None),
        ((b"\xef\xbb\xbf" + message(content="hello"),), STREAM, None), ((b"\n \n" + message(content="hi"),), {}, None),
    ],
)  # fmt: skip
def test_what_a_200_can_be_instead_of_an_answer(
    chunks: tuple[bytes, ...], headers: Mapping[str, str], kind: FailureKind | None
) -> None:
    """Besides the rows of the failure matrix; what is an answer after all has no failure."""
    assert kind_of(read(*chunks, headers=headers)) == kind


@pytest.mark.parametrize(
    ("body", "rules"),
    [
        ({"error": {"code": 400, "message": "API key not valid."}}, "auth"), ({"error": "Unauthorized"}, "auth"),
        ({"error": {"code": 429, "message": "Over quota", "type": "insufficient_quota"}}, "no_credit"),
        ({"error": {"code": 403, "message": "was flagged"}}, "moderation"), ({"detail": "Invalid API key"}, "auth"),
        ({"code": 401, "msg": "token expired", "success": False}, "auth"), ({"msg": "余额不足"}, "no_credit"),
        ({"detail": "Hello"}, "not_an_api_response"), ({"code": "InvalidApiKey", "message": "No"}, "auth"),
    ],
)  # fmt: skip
def test_a_refusal_inside_a_200_counts_as_what_it_says(body: dict[str, Any], rules: str) -> None:
    """Its words count as well as its status: a key or credit of ours is not charged to the vendor."""
    assert read(json.dumps(body).encode(), headers=JSON)[2].rules.name == rules


def test_a_refusal_is_read_from_its_body_and_headers() -> None:
    """Status, words and wait of a non-2xx answer come from the vendor, a cut body notwithstanding."""
    body = b'{"error": {"message": "slow down", "code": "busy"}}'
    _, response, failure = read(
        body, status=429, headers=JSON | {"retry-after": "3"}, failure=Failure.truncated("gone", 429)
    )
    assert response is None
    told = (failure.kind, failure.message, failure.code, failure.retry_after_s)
    assert told == ("rate_limited", "slow down", "busy", 3.0)


def test_the_vendors_own_opinion_of_a_refusal_counts() -> None:
    """A plugin may know better than the status."""
    own = Failure("auth", "headers", "bad key", 400)
    assert read(b"No connected db.", status=400, classify=lambda status, headers, body: own)[2] is own
    assert kind_of(read(b"x", status=400, classify=lambda status, headers, body: None)) == "bad_request"


def test_names_are_given_back_as_declared() -> None:
    """Where a wire had to send other names, calls carry the declared ones; unknown names stay."""
    calls = [{"index": n, "id": str(n), "function": {"name": name, "arguments": "{}"}} for n, name in enumerate("ab")]
    _, response, _ = read(event("tool_calls", tool_calls=calls), DONE, tool_names={"a": "org.a"})
    assert [call.name for call in response.tool_calls] == ["org.a", "b"]


@pytest.mark.parametrize("name", ["x-request-id", "request-id", "x-amzn-requestid", "apim-request-id"])
@pytest.mark.parametrize(
    ("chunks", "status"), [((b"{}",), 500), ((b"",), 200), ((event(content="a"),), 200), ((b"<html>",), 200)]
)
def test_a_failed_attempt_keeps_its_request_id(chunks: tuple[bytes, ...], status: int, name: str) -> None:
    """What a vendor's support asks for first: refused, empty, cut or no answer at all."""
    _, _, failure = read(*chunks, status=status, headers={**STREAM, name: "req-7"})
    assert failure.request_id == "req-7"


@pytest.mark.parametrize("status", [200, 503])
@pytest.mark.parametrize(
    ("encoding", "body", "named"),
    [("br", b"\x1b\x5c\x00", "br"), ("zstd", b"\x28\xb5\x2f\xfd", "zstd"), ("gzip, br", b"\x0b\x02\x80", "gzip, br")],
)  # fmt: skip
def test_a_body_that_is_still_packed_is_named(encoding: str, body: bytes, named: str, status: int) -> None:
    """Never "empty", never a page of odd characters: the coding is named, of an answer and of a refusal."""
    outcome = read(body, status=status, headers={**STREAM, "content-encoding": encoding})
    assert kind_of(outcome) == ("bad_payload" if status == 200 else "overloaded")
    assert f"still packed with {named}:" in outcome[2].message


def test_a_body_that_says_it_is_packed_and_is_not_is_read() -> None:
    """A header is a claim; the transport may have unpacked it, and some hosts only forget the header."""
    assert kind_of(read(message(content="hello"), headers={**JSON, "content-encoding": "br"})) is None


@pytest.mark.parametrize(
    "markup",
    [
        "<|tool_calls_section_begin|>", "<|tool_call_argument_begin|>", "<|tool_call_end|>", "<tool_call>",
        "</tool_call>", "<｜tool▁calls▁begin｜>", "<｜DSML｜function_calls>", "<arg_key>city</arg_key>",
        "<minimax:tool_call>", '<invoke name="f">', "<|python_tag|>", "<function=f-1.x>", "[TOOL_CALLS][{}]",
        "<|channel|>commentary", "<seed:tool_call>", "<think>hm</think>", "hm</think>",
    ],
)  # fmt: skip
def test_markup_in_the_text_of_an_answer_is_flagged(markup: str) -> None:
    """Each family's marks, anywhere in it; half an answer proves nothing."""
    said = event(content=f"Sure! {markup} done")
    assert anomalies(read(said, event("stop"))) == ("markup_in_text",)
    assert anomalies(read(said)) == ()


@pytest.mark.parametrize(
    "plain", ["a < b and c > d", "[1, 2]", "<b>bold</b>", "use the tool_call now", "think>", "[tool_calls]", "<|end"]
)
def test_ordinary_text_is_no_markup(plain: str) -> None:
    """Comparisons, lists, HTML and plain words."""
    assert anomalies(read(event("stop", content=plain))) == ()


def test_an_endless_word_is_cut() -> None:
    response = read(event("x" * 10**5, content="a"))[1]
    assert response.finish_raw == "x" * 500
