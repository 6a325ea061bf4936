"""Turns of every kind that a record can hold: failed or not, timed or not, streamed or not, with any usage."""

from __future__ import annotations

from hypothesis import strategies as st

from vendor_verifier.records.event import Usage
from vendor_verifier.records.record import Attempt, Failure, Response, Timing, TurnRecord

_NS = st.none() | st.sampled_from([0, 1, 9_999_999, 10_000_000, 250_000_000, 3_000_000_001])
_COUNT = st.sampled_from([None, 0, 1, 40, 90_000])
_USAGE = st.none() | st.builds(Usage, input=_COUNT, output=_COUNT, reasoning=_COUNT)
_RESPONSE = st.builds(
    Response,
    text=st.sampled_from(["", "a word"]),
    reasoning=st.sampled_from(["", "hm"]),
    usage=_USAGE,
    streamed=st.sampled_from([True, True, False]),
)
_TIMING = st.builds(
    Timing,
    sent_at=st.sampled_from(["2026-01-01T00:00:00+00:00", "2026-01-01T00:00:00", "some day"]),
    end_ns=st.integers(0, 10**10),
    scheduled_ns=st.sampled_from([None, 0, -7_000_001]),
    first_token_ns=_NS,
    first_answer_ns=_NS,
    last_token_ns=_NS,
    first_chunk_share=st.sampled_from([None, 0.0, 0.25, 1.0]),
    connection_reused=st.sampled_from([None, False, True]),
    connect_ns=_NS,
    dns_ns=_NS,
    tcp_ns=_NS,
    tls_ns=_NS,
)
_FAILURE = st.sampled_from([None, None, None, Failure("truncated", "stream", "cut")])
_ATTEMPT = st.builds(
    Attempt,
    st.just(1),
    timing=st.none() | _TIMING,
    response=st.none() | _RESPONSE,
    failure=_FAILURE,
    resent=st.booleans(),
)
TURN = st.builds(TurnRecord, st.lists(_ATTEMPT, max_size=2).map(tuple))
TURNS = st.lists(TURN, min_size=1, max_size=1) | st.lists(TURN, max_size=3)
"""One turn, as nearly every record has, or none to three."""
