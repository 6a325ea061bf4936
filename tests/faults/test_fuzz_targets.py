"""No bytes make any reader raise, over any wire and chunking."""

from __future__ import annotations

import pytest
from fuzz_readers import TARGETS, feed
from hypothesis import given, settings
from hypothesis import strategies as st

# Bytes that look like what the readers expect, broken in places: plain noise is refused too early to find anything.
PIECES = st.sampled_from([
    b"data: ", b"event: error", b"\n\n", b"\r\n", b": ping\n", b"[DONE]", b'{"choices": [{"delta": ', b'"content": "a"',
    b'"tool_calls": [', b'{"index": 1, "function": {"name": "f", "arguments": "{"}}', b"]}", b"}]}", b"null", b"{}",
    b'"finish_reason": "stop"',
    b'{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": 1}}',
    b'{"candidates": [{"content": {"parts": [{"text": []}]}}]}', b'{"error": {"message": 1}}', b'"\\ud800"', b"\xff",
    b",",
    b'{"type": "response.completed", "response": {"output": 1}}', b"retry-after: 1e9\n", b"x-ratelimit-reset-a: 6m0s\n",
    b"m:\n  vendors:\n    - ", b"&a [*a, *a]", b"name: ", b"? ", b"!!python/object ", b"1e999", b"NaN", b"[" * 40,
])  # fmt: skip


@settings(max_examples=150, deadline=None)
@pytest.mark.parametrize("target", range(len(TARGETS)), ids=[target.__name__ for target in TARGETS])
@given(pieces=st.lists(PIECES | st.binary(max_size=8), max_size=25), choice=st.binary(min_size=3, max_size=3))
def test_no_bytes_raise(target: int, pieces: list[bytes], choice: bytes) -> None:
    """Whatever is read is either understood or refused in the way the reader promises."""
    feed(bytes([target]) + choice + b"".join(pieces))
