"""What each wire's reader makes of an answer: recorded ones, and one row for each way in which hosts depart.

``answers.jsonl`` has a row for each: what came (``events`` of a stream, with their name where they have one, or a whole
``body``) and what must be made of it. Whatever is not in ``expected`` must be absent.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from asking import ALL
from costs import assert_linear
from hypothesis import given, settings
from hypothesis import strategies as st
from listening import STREAMS, near_json

from vendor_verifier.records.record import Exchange
from vendor_verifier.transport.exchange import ProgressMeter
from vendor_verifier.wire.parse_answer import Outcome, read_answer

ROWS = [json.loads(line) for line in (Path(__file__).parent / "answers.jsonl").read_bytes().splitlines()]
# What the protocols' objects are made of: JSON that looks almost right finds more than JSON of any kind.
KEYS: dict[str, str] = {
    "openai": "choices delta message tool_calls function index id name arguments content usage finish_reason error "
    "base_resp status_code reasoning_details cost code object type",
    "openai_completions": "choices text finish_reason index usage delta content error id model",
    "openai_responses": "item id item_id call_id output_index content_index delta text arguments name response output "
    "content part status usage type summary incomplete_details",
    "anthropic": "type index message content_block delta usage id name input text thinking content partial_json "
    "stop_reason error input_tokens output_tokens model output_tokens_details",
    "gemini": "candidates content parts text thought functionCall name args id finishReason index promptFeedback "
    "blockReason usageMetadata promptTokenCount thoughtsTokenCount modelVersion error",
}
WORDS: dict[str, str] = {
    "openai": "stop tool_calls error",
    "openai_completions": "stop length <tool_call> </tool_call>",
    "openai_responses": "function_call message output_text reasoning completed failed response.created "
    "response.output_item.added response.output_item.done response.output_text.delta response.output_text.done "
    "response.function_call_arguments.delta response.function_call_arguments.done response.content_part.done "
    "response.completed response.failed response.incomplete",
    "anthropic": "message_start content_block_start content_block_delta content_block_stop message_delta message_stop "
    "tool_use server_tool_use text thinking text_delta input_json_delta thinking_delta",
    "gemini": "STOP MALFORMED_FUNCTION_CALL",
}


def bytes_of(events: Iterable[Any]) -> bytes:
    """The events as a stream; text is sent as it is, everything else as its JSON."""
    lines = []
    for event in events:
        payload, name = event if isinstance(event, list) else (event, "")
        text = payload if isinstance(payload, str) else json.dumps(payload)
        lines.append((f"event: {name}\n" if name else "") + f"data: {text}\n\n")
    return "".join(lines).encode()


def read(
    wire: str, chunks: Iterable[bytes], *, tools: Any = (), content_type: str = "text/event-stream", apart_ns: int = 0
) -> Outcome:
    stamped = [(1 + apart_ns * number, chunk) for number, chunk in enumerate(chunks)]
    exchange = Exchange("2026-01-01T00:00:00+00:00", 9, 200, {"content-type": content_type}, stamped)
    return read_answer(exchange, ALL[wire].reader(tools), asked_stream=content_type == "text/event-stream")


def told(outcome: Outcome) -> dict[str, Any]:
    """The outcome in the words of ``answers.jsonl``."""
    timing, response, failure = outcome
    found: dict[str, Any] = {}
    if response is not None:
        fields = {**msgspec.to_builtins(response), "streamed": None}
        found = {key: value for key, value in fields.items() if value not in (None, "", [], (), False)}
        for call in found.get("tool_calls", []):
            for key in [key for key in ("anomalies", "id") if call[key] in (None, ())]:
                del call[key]
        if "usage" in found:
            found["usage"] = {key: value for key, value in found["usage"].items() if value is not None}
    if failure is not None:
        keys = ["kind", "message", "code", *(["status"] if failure.kind == "api_error_in_200" else [])]
        found["failure"] = {key: value for key in keys if (value := getattr(failure, key)) is not None}
    if timing.first_token_ns is not None:
        found["has_token"] = True
    # Tuples become lists.
    plain: dict[str, Any] = json.loads(json.dumps(found))
    return plain


def chunkings(data: bytes) -> Iterator[list[bytes]]:
    yield [data]
    yield [data[at : at + 1] for at in range(len(data))]
    yield [data[at : at + 13] for at in range(0, len(data), 13)]
    yield [event + b"\n\n" for event in data.split(b"\n\n")]
    yield [data.replace(b"\n", b"\r\n")]
    yield [b"\xef\xbb\xbf" + data]


@pytest.mark.parametrize("row", ROWS, ids=[f"{row['wire']}: {row['case']}" for row in ROWS])
def test_what_a_host_sends_is_read_as_it_is_meant(row: dict[str, Any]) -> None:
    """However the bytes are cut, with any line ends and with a byte order mark."""
    if "body" in row:
        body = [json.dumps(row["body"]).encode()]
        whole = read(row["wire"], body, tools=row.get("tools", ()), content_type="application/json")
        assert told(whole) == row["expected"]
        return
    for chunks in chunkings(bytes_of(row["events"])):
        assert told(read(row["wire"], chunks, tools=row.get("tools", ()))) == row["expected"]


def test_blocks_that_end_again_and_again_cost_linear_time() -> None:
    begun, ended = '{"type": "content_block_start"}', '{"type": "message_delta", "delta": {"stop_reason": "x"}}'
    assert_linear(lambda size: partial(read, "anthropic", [bytes_of([begun] * size + [ended] * size)]), 500)


@pytest.mark.parametrize("wire", ALL)
def test_the_meter_sees_the_first_token_where_the_reader_does(wire: str) -> None:
    """A time limit for the first token is met by the same event as the record's first token."""
    rows = [row for row in ROWS if row["wire"] == wire and "events" in row]
    assert rows
    for row in rows:
        meter, chunks = ProgressMeter(ALL[wire].reader()), [bytes_of([event]) for event in row["events"]]
        met = [number for number, chunk in enumerate(chunks) if meter.feed(chunk) is not None and meter.has_token]
        timing, _, _ = read(wire, chunks, tools=row.get("tools", ()), apart_ns=1)
        assert (met[0] + 1 if met else None) == timing.first_token_ns, row["case"]


RECORDED = [(wire, name) for wire, streams in STREAMS.items() for name in streams]


@pytest.mark.parametrize(("wire", "name"), RECORDED)
def test_a_recorded_stream_is_read_the_same_in_any_dress(wire: str, name: str) -> None:
    """Byte by byte, with other line ends, with a byte order mark, without its last blank line, cut at every place."""
    data = STREAMS[wire][name]
    whole = told(read(wire, [data]))
    assert whole.get("text") or whole.get("tool_calls")
    assert "failure" not in whole or "drop" in name
    for chunks in (*chunkings(data), [data.rstrip(b"\n")]):
        assert told(read(wire, chunks)) == whole
    for place in range(1, len(data), 7 if len(data) < 4_000 else 37):
        assert told(read(wire, [data[:place], data[place:]])) == whole


@pytest.mark.parametrize("wire", ALL)
@settings(deadline=None)
@given(data=st.data(), cuts=st.lists(st.integers(0, 2_000), max_size=6))
def test_any_events_and_bodies_are_read(wire: str, data: st.DataObject, cuts: list[int]) -> None:
    """Nothing raises, an answer or a failure comes of it that can be written, and chunks make no difference."""
    payloads = data.draw(st.lists(near_json(KEYS[wire], WORDS[wire]), max_size=8))
    name = data.draw(st.sampled_from(["", "error", "ping"]))
    stream = bytes_of([json.dumps(payload), name] for payload in payloads)
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    outcome = read(wire, [stream[start:end] for start, end in pairwise(edges)])
    assert told(outcome) == told(read(wire, [stream]))
    for body in payloads:
        outcome = read(wire, [json.dumps(body).encode()], content_type="application/json")
        assert outcome[1] is not None or outcome[2] is not None
        msgspec.json.encode(outcome)
