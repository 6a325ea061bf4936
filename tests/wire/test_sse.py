"""Server-sent events: the decoder gives the same events whatever the chunking, line ends and oddities of the sender."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import pairwise

import pytest
from costs import assert_linear
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.wire.sse import MAX_LINE_BYTES, SseDecoder, SseEvent


def decoded(chunks: Iterable[bytes], max_line: int = MAX_LINE_BYTES) -> tuple[list[SseEvent], SseDecoder]:
    decoder = SseDecoder(max_line)
    events = [event for chunk in chunks for event in decoder.feed(chunk)]
    return [*events, *decoder.close()], decoder


def events_of(*chunks: bytes) -> list[SseEvent]:
    return decoded(chunks)[0]


def bytewise(body: bytes) -> list[bytes]:
    return [body[at : at + 1] for at in range(len(body))]


def cut(body: bytes, places: Iterable[int]) -> list[bytes]:
    edges = [0, *sorted({place % (len(body) + 1) for place in places}), len(body)]
    return [body[start:end] for start, end in pairwise(edges)]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"], ids=["LF", "CRLF", "CR"])
def test_line_ends(end: bytes) -> None:
    """LF, CRLF and CR all end lines and events."""
    body = end.join([b"data: 1", b"", b"event: x", b"data: 2", b"", b""])
    # No event waits for a byte after its blank line: its time stamp is its own.
    assert list(SseDecoder().feed(body)) == [SseEvent("1"), SseEvent("2", "x")]


@pytest.mark.parametrize(
    ("body", "events"),
    [
        *((body, []) for body in (b"", b"\xef\xbb", b"\xef\xbb\xbf", b"\n\n\n", b"\r", b":")),
        (b"data:x\n\ndata:  x\n\ndata\n\ndata:\n\ndata: a: b\n\n",
         [SseEvent("x"), SseEvent(" x"), SseEvent(""), SseEvent(""), SseEvent("a: b")]),
        ("data: \ufeff1\n\n".encode(), [SseEvent("\ufeff1")]),
        (b": PROCESSING\n\n: keep-alive\n\ndata: 1\n: inside\ndata: 2\n\n", [SseEvent("1\n2")]),
        (b"id: 7\nretry: 10\nfoo: bar\nfoo\ndata: 1\n\n", [SseEvent("1")]),
        (b"data: {\ndata:\ndata: }\n\n", [SseEvent("{\n\n}")]),
        (b"event: ping\n\ndata: 1\n\n", [SseEvent("1")]),
        (b"data: 1\n\ndata: 2\r", [SseEvent("1"), SseEvent("2")]),
        ("data: naïve 東京 😀\n\n".encode(), [SseEvent("naïve 東京 😀")]),
        # U+2028, U+2029, NEL, FF, VT and the information separators end no line.
        *((f"data: a{mark}b\n\n".encode(), [SseEvent(f"a{mark}b")]) for mark in "\u2028\u2029\x85\f\v\x1c\x1d\x1e"),
    ],
)  # fmt: skip
def test_fields_make_events(body: bytes, events: list[SseEvent]) -> None:
    """Comments and unknown fields say nothing, data lines are joined, and the end of the stream ends the last event."""
    assert events_of(body) == events_of(*bytewise(body)) == events


@pytest.mark.parametrize(
    ("chunks", "kept"),
    [
        ([b"data: 1\n\n", b"data: " + b"x" * 100, b"\n\ndata: 2\n\n"], ["1"]),
        *(([field + b"x" * 100 + b"\ndata: 1\n\n"], []) for field in (b"event: ", b": ", b"id: ")),
        ([b"data: 12345678\n" * 20 + b"\n", b"data: 2\n\n"], []),
    ],
)
def test_a_line_or_event_beyond_the_cap_stops_the_decoder(chunks: list[bytes], kept: list[str]) -> None:
    """With the flag set; events before it stay, later ones are not given."""
    events, decoder = decoded(chunks, max_line=64)
    assert [event.data for event in events] == kept
    assert decoder.overflow


@pytest.mark.parametrize("bad", [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf8\x88\x80\x80\x80"])
def test_invalid_utf8_is_replaced_and_noted(bad: bytes) -> None:
    """Bytes that are not UTF-8 become U+FFFD and set the flag."""
    events, decoder = decoded([b"data: a" + bad + b"b\n\n"])
    assert events[0].data.startswith("a\ufffd")
    assert events[0].data.endswith("b")
    assert decoder.invalid_utf8


def test_a_line_of_just_the_cap_passes() -> None:
    """The limit itself is allowed, in one chunk and byte by byte, with every line end."""
    for end in (b"\n", b"\r\n", b"\r"):
        body = b"data: " + b"x" * 58 + end + end
        for chunks in ([body], bytewise(body)):
            events, decoder = decoded(chunks, max_line=64)
            assert [event.data for event in events] == ["x" * 58]
            assert not decoder.overflow


FRAGMENTS = [
    b"data: ", b"data", b"event: x", b": c", b"\n", b"\n\n", b"\r\n", b"\r", b"{}", "é\u2028".encode(), b"\xff",
]  # fmt: skip


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=30).map(b"".join), st.lists(st.integers(0, 400), max_size=12))
def test_any_chunking_gives_the_same_events(body: bytes, places: list[int]) -> None:
    """Whole, byte by byte and cut anywhere: the same events, the same flags."""
    whole, whole_decoder = decoded([body])
    for chunks in (bytewise(body), cut(body, places)):
        events, decoder = decoded(chunks)
        assert events == whole
        assert decoder.invalid_utf8 == whole_decoder.invalid_utf8


@given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=8), st.integers(1, 40))
def test_arbitrary_bytes_never_raise_and_overflow_the_same_way(body: bytes, places: list[int], max_line: int) -> None:
    """Any bytes are decoded without an exception, and the cap strikes at the same place in any chunking."""
    whole, whole_decoder = decoded([body], max_line)
    events, decoder = decoded(cut(body, places), max_line)
    assert events == whole
    assert decoder.overflow == whole_decoder.overflow


@pytest.mark.parametrize("begun", [b"data: ", b"data: 1\n\ndata: ", b": ", b"data: 1\ndata: "])
def test_a_line_that_grows_chunk_by_chunk_costs_linear_time(begun: bytes) -> None:
    """Small chunks, up to eight megabytes, are added up, not copied again for each: that would stall all others."""

    def chunks_of(size: int) -> list[bytes]:
        return [begun, *[b"x" * 2_048] * (size // 2_048), b"\n\n"]

    events, _ = decoded(chunks_of(MAX_LINE_BYTES))
    assert len(events) <= 1
    assert_linear(lambda size: partial(decoded, chunks_of(size)), MAX_LINE_BYTES // 4)
