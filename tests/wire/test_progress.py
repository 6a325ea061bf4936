"""The meter tells tokens and data from keep-alive noise, whatever the chunking."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.transport.exchange import ProgressMeter
from vendor_verifier.wire.openai_chat import OpenAIChatReader

ROLE = b'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}\n\n'
TOKEN = b'data: {"choices":[{"index":0,"delta":{"content":"hi"}}]}\n\n'
NOISE = [
    b": keep-alive\n\n", b":\n\n", b"\n", b"\r\n\r\n", b'event: ping\ndata: {"type": "ping"}\n\n',
    b'event: ping\ndata: {"type":"ping"}\n\n' * 3, b"retry: 1000\n", b"id: 1\n",
]  # fmt: skip


def meter() -> ProgressMeter:
    return ProgressMeter(OpenAIChatReader())


@pytest.mark.parametrize("is_json", [False, True])
def test_noise_is_neither_token_nor_progress(is_json: bool) -> None:
    """Comments, blank lines, pings and fields without data say nothing, before and after the first token, also where
    the stream comes under another content type."""
    for noise in NOISE:
        fresh = meter()
        if is_json:
            fresh.expect_body()
        assert not fresh.feed(noise)
        assert not fresh.has_token
        fresh.feed(TOKEN)
        assert fresh.has_token
        assert not fresh.feed(noise)


def test_a_field_split_over_chunks_is_seen_once() -> None:
    """A data field counts when its name is whole, and dripping bytes of its content do not count again."""
    dripped = meter()
    dripped.feed(TOKEN)
    seen = [dripped.feed(TOKEN[at : at + 1]) for at in range(len(TOKEN))]
    assert seen.count(True) == 1
    assert seen.index(True) == len(b"data:") - 1


@given(st.lists(st.integers(1, len(ROLE + TOKEN)), max_size=8))
def test_the_first_token_does_not_depend_on_the_chunking(cuts: list[int]) -> None:
    """However the bytes are cut, the token is there once its event is complete and not before."""
    data = ROLE + TOKEN
    fresh = meter()
    places = sorted({0, *(cut for cut in cuts if cut < len(data)), len(data)})
    for start, end in pairwise(places):
        fresh.feed(data[start:end])
        # The event is complete with the line end that empties the last line.
        assert fresh.has_token == (end == len(data))


@pytest.mark.parametrize(("chunk", "progress"), [(b'{"a"', True), (b"  \n", False), (b"", False), (b" x", True)])
def test_of_a_plain_body_everything_but_white_space_counts(chunk: bytes, progress: bool) -> None:
    """A body that is no stream is under way from its first visible byte."""
    body = meter()
    body.expect_body()
    assert body.feed(chunk) == progress
    assert body.has_token == progress
