"""Times that our own process read late are no vendor's: each metric decides by its own value."""

from __future__ import annotations

import pytest
from changing import replace

from vendor_verifier.metrics import RECORD_METRICS
from vendor_verifier.metrics.answer import LOOP_LAG, Answer, buffered
from vendor_verifier.metrics.base import read_answers
from vendor_verifier.metrics.measure import measured
from vendor_verifier.records.event import Usage
from vendor_verifier.records.record import Attempt, Record, Response, Timing, TurnRecord
from vendor_verifier.store import decode_record, encode_record

pytestmark = pytest.mark.lateness

MS = 1_000_000
_NAMES = [metric.name for metric in RECORD_METRICS]


def record(late_ms: float | None, *anomalies: str, turns: int = 1) -> Record:
    """Connected in 20 ms, first token after 100 ms, last after 1,100 ms, 10 ms apart, ended after 1,200 ms."""
    timing = Timing(
        "2026-01-01T00:00:00Z",
        end_ns=1_200 * MS,
        connect_ns=20 * MS,
        first_token_ns=100 * MS,
        first_answer_ns=100 * MS,
        last_token_ns=1_100 * MS,
        gaps_ns=(10 * MS,) * 100,
        first_chunk_share=0.01,
        connection_reused=False,
    )
    response = Response("hi " * 40, finish_reason="stop", usage=Usage(10, 101), anomalies=anomalies)
    late = replace(timing, our_lateness_ns=None if late_ms is None else int(late_ms * MS))
    rest = [TurnRecord((Attempt(1, replace(timing, our_lateness_ns=0), response),))] * (turns - 1)
    return Record("r", "m", "l", "v", "trigger", "s", 0, (TurnRecord((Attempt(1, late, response),)), *rest))


def values(made: Record) -> dict[str, float | None]:
    """What is measured of it by name."""
    return dict(zip(_NAMES, measured(made, read_answers(made)).values, strict=True))


_TTFT = ["ttft_ms", "ttft_cold_ms", "ttfat_ms"]
_SUBMITTED = ["ttft_from_submission_ms"]  # 120 ms, of which 5 % are 6 ms
_DECODED = ["tpot_ms", "tps"]


@pytest.mark.parametrize(
    ("late_ms", "gone"),
    [
        (None, []),
        (5, []),
        (5.1, [*_TTFT, "connect_ms", "icl_ms"]),
        (50, [*_TTFT, *_SUBMITTED, "connect_ms", "icl_ms"]),
        (51, [*_TTFT, *_SUBMITTED, *_DECODED, "connect_ms", "icl_ms"]),
        (56, [*_TTFT, *_SUBMITTED, *_DECODED, "e2e_tps", "connect_ms", "icl_ms"]),
        (61, [*_TTFT, *_SUBMITTED, *_DECODED, "e2e_tps", "e2e_ms", "connect_ms", "icl_ms"]),
    ],
)
def test_a_row_is_out_of_the_times_that_our_lateness_spoils_and_of_no_other(
    late_ms: float | None, gone: list[str]
) -> None:
    """Beyond the larger of 5 ms and 5 % of the value; tokens stay, and the rest is as without lateness."""
    made = record(late_ms)
    found, whole = measured(made, read_answers(made)), values(record(0))
    assert sorted(found.spoilt) == sorted(gone)
    assert values(made) == {name: None if name in gone else value for name, value in whole.items()}
    assert tuple(sums is None for sums in found.pooled) == ("tps" in gone, "e2e_tps" in gone)


def test_the_latest_of_several_turns_decides_for_the_row() -> None:
    """A process that stood still for 30 s in one of three turns says nothing of the mean of them."""
    assert values(record(30_000, turns=3))["ttft_ms"] is None
    assert values(record(0, turns=3))["ttft_ms"] == 100


def test_a_record_from_before_lateness_was_kept_is_affected_where_it_is_flagged() -> None:
    """``loop_lag`` without a figure takes every time out; with a figure the figure decides."""
    assert values(record(None, LOOP_LAG))["e2e_ms"] is None
    assert values(record(None, LOOP_LAG))["output_tokens"] == 101
    assert values(record(1, LOOP_LAG))["e2e_ms"] == 1_200
    assert values(record(None))["e2e_ms"] == 1_200


def test_a_retry_that_failed_while_we_were_late_spoils_nothing_of_the_answer() -> None:
    """Only the attempt that measured is looked at."""
    made = record(0)
    (turn,) = made.turns
    assert turn.attempts[0].timing is not None
    failed = replace(turn.attempts[0], timing=replace(turn.attempts[0].timing, our_lateness_ns=30_000 * MS))
    assert values(replace(made, turns=(TurnRecord((failed, turn.attempts[0])),)))["ttft_ms"] == 100


def test_what_we_read_late_is_not_called_buffered() -> None:
    """All pieces in one moment are the vendor's doing only if we were listening."""
    timing = Timing("t", 200 * MS, first_token_ns=100 * MS, last_token_ns=100 * MS, first_chunk_share=1.0)
    attempt = Attempt(1, timing, Response("word " * 40, usage=Usage(5, 40)))
    assert buffered(Answer(replace(attempt, timing=replace(timing, our_lateness_ns=4 * MS))))
    assert buffered(Answer(attempt))
    assert not buffered(Answer(replace(attempt, timing=replace(timing, our_lateness_ns=6 * MS))))
    assert attempt.response is not None
    assert not buffered(Answer(replace(attempt, response=replace(attempt.response, anomalies=(LOOP_LAG,)))))


def test_lateness_is_stored_and_records_without_it_can_still_be_read() -> None:
    """A line of records.jsonl gives back the figure, and a line from before it was kept gives none."""
    for made in (record(12.5), record(None)):
        line = encode_record(made)
        assert decode_record(line) == made
    old = encode_record(record(None)).replace(b',"our_lateness_ns":null', b"")
    assert b"our_lateness_ns" not in old
    assert decode_record(old) == record(None)
