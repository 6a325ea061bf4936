"""The reading of whole streams at once puts together what the general reader does, moments included."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.records.record import Exchange
from vendor_verifier.records.steps import at_once
from vendor_verifier.wire.assembler import Assembler, Collected
from vendor_verifier.wire.base import Reader
from vendor_verifier.wire.openai_chat import fast_reader
from vendor_verifier.wire.openai_chat.chat_chunk import ChatChunk, ordinary_chunk
from vendor_verifier.wire.openai_chat.fast_reader import read_chat_stream
from vendor_verifier.wire.openai_chat.reader import OpenAIChatReader
from vendor_verifier.wire.parse_answer import read_answer
from vendor_verifier.wire.sse import SseDecoder

CAPTURES = sorted(path for path in (Path(__file__).parent / "captures").rglob("*") if path.is_file())


def generally(chunks: Sequence[tuple[int, bytes]]) -> tuple[Collected, bool]:
    """What the general reader makes of a stream, and whether all of it was UTF-8."""
    decoder, reader, assembler = SseDecoder(), OpenAIChatReader(), Assembler()
    for at_ns, chunk in chunks:
        for event in decoder.feed(chunk):
            for heard in reader.read(event):
                assembler.add(heard, at_ns)
    for event in decoder.close():
        for heard in reader.read(event):
            assembler.add(heard, chunks[-1][0])
    return assembler.collected(), not decoder.invalid_utf8


def same(chunks: Sequence[tuple[int, bytes]]) -> bool:
    """Whether the stream was read at once; fails when that heard anything else than the general reader."""
    assembler = Assembler()
    if not at_once(read_chat_stream(chunks, assembler)):
        return False
    assert (assembler.collected(), True) == generally(chunks)
    return True


def pieces(stream: bytes, cuts: Sequence[int]) -> list[tuple[int, bytes]]:
    """The stream cut at ``cuts``, one piece every 5 ns but for every third, which comes with the one before."""
    ends = [0, *sorted(cut % (len(stream) + 1) for cut in cuts), len(stream)]
    return [(5 * (number - number % 3 // 2), stream[a:b]) for number, (a, b) in enumerate(pairwise(ends))]


CUTS = st.lists(st.integers(0, 5000), max_size=12)


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda path: path.name)
@given(cuts=CUTS)
def test_captures_are_put_together_alike(capture: Path, cuts: list[int]) -> None:
    """Everything real hosts were seen to send gives the same answer, in whatever pieces it arrives."""
    same(pieces(capture.read_bytes(), cuts))


_TEXT = st.sampled_from(["a", "", " the", "Ünï", '"', "\\", "\n", "\u2028", "<think>", "\ud800", "content"])
_NAMES = st.sampled_from([{"id": "x", "model": "m"}, {"id": "y", "model": "m"}, {"id": "x", "model": "n"}, {}])
_FUNCTION = st.fixed_dictionaries({}, optional={"name": st.just("f"), "arguments": _TEXT})
_CALLS = st.lists(
    st.fixed_dictionaries({"function": _FUNCTION}, optional={"index": st.integers(0, 1), "id": _TEXT}), max_size=2
)
_USAGE = st.fixed_dictionaries(
    {},
    optional={
        "prompt_tokens": st.sampled_from([0, 7, -1, None, 2**70, 5.0, 1.5, True]),
        "completion_tokens": st.sampled_from([0, 7]),
        "prompt_tokens_details": st.none() | st.just({"cached_tokens": 3}) | st.just({}),
        "completion_tokens_details": st.just({"reasoning_tokens": 2}),
        "prompt_cache_hit_tokens": st.just(4),
        "cost": st.sampled_from([0, 0.25, -1]),
        "queue_time": st.just(1),
    },
)
_DELTA = st.fixed_dictionaries(
    {}, optional={"role": st.just("assistant"), "content": _TEXT, "reasoning": _TEXT, "tool_calls": _CALLS}
)
_CHOICE = st.fixed_dictionaries(
    {
        "delta": st.fixed_dictionaries({"content": _TEXT}) | _DELTA,
        "finish_reason": st.sampled_from([None] * 4 + ["stop"]),
    },
    optional={"index": st.sampled_from([0, 0, 0, 1])},
)


@st.composite
def events(draw: st.DrawFn) -> str:
    """An event like those that hosts send, seldom one that is broken."""
    kind = draw(st.sampled_from(["chunk"] * 12 + ["done", "noise"]))
    if kind == "done":
        return "data: [DONE]\n\n"
    if kind == "noise":
        noise = [
            "\n",
            ": ping\n\n",
            "data: {\n\n",
            "data:\n\n",
            "\r\n",
            "data: 1\ndata: 2\n\n",
            "event: x\n",
            "data: {}\n\n",
        ]
        return draw(st.sampled_from(noise))
    chunk: dict[str, Any] = {"object": "chat.completion.chunk", **draw(_NAMES)}
    chunk["choices"] = draw(st.lists(_CHOICE, min_size=1, max_size=1) | st.lists(_CHOICE, max_size=2))
    usage = draw(st.none() | st.none() | _USAGE)
    if usage is not None:
        chunk["usage"] = usage
    text = json.dumps(chunk, ensure_ascii=draw(st.booleans()), separators=draw(st.sampled_from([(",", ":"), None])))
    return f"data: {text}\n\n"


@given(st.lists(events(), max_size=12), CUTS)
def test_made_up_streams_are_put_together_alike(stream: list[str], cuts: list[int]) -> None:
    """Whatever mixture of ordinary and odd chunks, in any pieces: the same answer or none."""
    same(pieces("".join(stream).encode("utf-8", "surrogatepass"), cuts))


_FRAMES = {
    b"content": (b"", b""),
    b"reasoning": (b"", b""),
    b"reasoning_content": (b'"reasoning":"r",', b""),
    b"arguments": (b'"tool_calls":[{"index":0,"function":{', b"}}]"),
}


def _chunk(said: bytes, before: bytes = b"", after: bytes = b"", key: bytes = b"content") -> bytes:
    opening, closing = _FRAMES[key]
    return (
        b'data: {"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{'
        + before + opening + b'"' + key + b'":"' + said + b'"' + after + closing + b'},"finish_reason":null}]}\n\n'
    )  # fmt: skip


_BYTES = st.sampled_from(
    [
        *(b"a", b"", b"\\n", b"\xc3\xbc", b"\xc3", b"\xbc", b'","content":"b', b'"', b"\x00", b"\x7f", b"\\"),
        *(b'\\"', b"\\\\", b"\\u00fc", b"\\ud83d", b"\\ude00", b"\\x", b',"x', b'","', b"\n"),
    ]
)
_ROUND = st.sampled_from(
    [b"", b"", b"", b'"role":"content",', b',"content":"z"', b',"\\u0063ontent":"z"', b', "content" :"z"']
)


_KEYS = st.sampled_from(sorted(_FRAMES))
_ENVELOPED = st.sampled_from(sorted(_FRAMES)).flatmap(
    lambda key: st.lists(st.builds(_chunk, _BYTES, st.just(b""), _ROUND, st.just(key) | _KEYS), max_size=8)
)


@given(_ENVELOPED, CUTS)
def test_texts_in_one_envelope_are_heard_alike(stream: list[bytes], cuts: list[int]) -> None:
    """Neither escapes, nor broken UTF-8, nor a key given twice pass for plain text in a known envelope."""
    same(pieces(b"".join(stream), cuts))


def test_the_ordinary_stream_is_read_at_once() -> None:
    """What nearly every host sends does not fall back, usage and end marker included."""
    stream = b"".join(map(_chunk, [b"", b"a", b" b", b"c"])) + (
        b'data: {"object":"chat.completion.chunk","choices":[{"delta":{},"finish_reason":"stop"}]}\n\n'
        b'data: {"object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}\n\n'
        b"data: [DONE]\n\n"
    )
    assert same([(0, stream[:200]), (7, stream[200:420]), (9, stream[420:])])


@pytest.mark.parametrize("blank", [b"", b" "])
@pytest.mark.parametrize("key", sorted(_FRAMES))
def test_a_row_of_one_envelope_is_parsed_once(key: bytes, blank: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the row, and with escapes in it, only its first chunk is parsed; but for the ambiguous kind."""
    parsed: list[bytes] = []

    def watched(data: bytes) -> ChatChunk | None:
        parsed.append(data)
        return ordinary_chunk(data)

    monkeypatch.setattr(fast_reader, "ordinary_chunk", watched)
    row = [
        _chunk(said, key=key).replace(b'":', b'":' + blank)
        for said in [b"a", b' \\"b\\n', b"\xc3\xbc", b"\\u00fc", b"c"] * 9
    ]
    assert same([(number, event) for number, event in enumerate(row)])
    assert len(parsed) == (len(row) if key == b"reasoning_content" else 1)


def test_a_reader_that_hears_more_is_asked_for_every_event() -> None:
    """A reader made out of the chat reader keeps its own ears."""

    class Deaf(OpenAIChatReader):
        def read(self, event: object) -> list[Any]:
            return []

    reader: Reader = Deaf()
    exchange = Exchange("2026-01-01T00:00:00+00:00", 1, 200, {}, [(0, _chunk(b"a"))])
    assert read_answer(exchange, reader)[1] is None
