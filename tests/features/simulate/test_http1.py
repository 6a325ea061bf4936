"""The request parser reads the same in any chunking and refuses what is ambiguous."""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.features.simulate.http import MAX_HEAD, CallParser, HttpCall, HttpError

STREAM = (
    b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello"
    b"\r\nPOST /b HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"3;note=1\r\nabc\r\n0a\r\n0123456789\r\n0\r\nTrailer: t\r\n\r\n"
    b"GET /c HTTP/1.0\r\nConnection: keep-alive\r\nX-Twice: 1\r\nx-twice: 2\r\n\r\n"
)


def _taken(parts: list[bytes]) -> list[HttpCall]:
    parser = CallParser(max_body=1000)
    found = []
    for part in parts:
        parser.feed(part)
        while (call := parser.take()) is not None:
            found.append(call)
    return found


@given(st.lists(st.integers(0, len(STREAM)), max_size=30).map(sorted))
def test_any_chunking_reads_the_same(cuts: list[int]) -> None:
    """Three pipelined requests come out alike wherever the bytes are cut."""
    edges = [0, *cuts, len(STREAM)]
    calls = _taken([STREAM[start:end] for start, end in pairwise(edges)])
    assert [(call.method, call.target, call.body) for call in calls] == [
        ("POST", "/a", b"hello"),
        ("POST", "/b", b"abc0123456789"),
        ("GET", "/c", b""),
    ]
    assert calls[2].headers["x-twice"] == "1, 2"
    assert [call.keep_alive for call in calls] == [True, True, True]


def test_an_offer_of_another_protocol_is_passed_over() -> None:
    """A client that would rather speak HTTP/2 is answered as if it had not said so, and its body is read."""
    offer = b"POST /a HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 5\r\n\r\nhello"
    assert [(call.target, call.body) for call in _taken([offer + offer])] == [("/a", b"hello")] * 2


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (b"hello\r\n\r\n", 400),
        (b"POST / HTTP/2.0\r\n\r\n", 505),
        (b"POST / HTTP/1.1\r\nbad header\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nA: b\r\n folded\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n", 413),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n" + b"x" * 1001, 413),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", 400),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n", 400),
        (b"GET / HTTP/1.1\r\nA: " + b"x" * MAX_HEAD, 431),
    ],
)
def test_bad_requests_have_their_status(raw: bytes, status: int) -> None:
    """Each malformed or oversize request is refused with the status that says why."""
    with pytest.raises(HttpError) as caught:
        _taken([raw])
    assert caught.value.status == status


@given(st.lists(st.binary(max_size=60) | st.sampled_from(STREAM.splitlines(keepends=True)), max_size=12))
def test_garbage_is_only_ever_refused(parts: list[bytes]) -> None:
    """Arbitrary bytes give requests or one kind of refusal, nothing else."""
    with suppress(HttpError):
        assert all(isinstance(call, HttpCall) for call in _taken(parts))
