"""Each record metric equals its formula, and is None instead of a wrong number."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from observed import observed, table_of

from vendor_verifier.metrics import METRICS, RANKED
from vendor_verifier.metrics.answer import Answer, buffered, hides_tokens, zero_usage
from vendor_verifier.records.event import ToolCall, Usage
from vendor_verifier.records.record import Attempt, Failure, Record, Response, Timing, TurnRecord
from vendor_verifier.redaction import digest_text

MS = 1_000_000


def timing(**changes: Any) -> Timing:
    """Sent at 0; tokens from 200 ms to 1,200 ms, a fifth of the text in the first moment; end at 1,300 ms."""
    fields: dict[str, Any] = {
        "sent_at": "2026-01-01T00:00:00Z",
        "end_ns": 1_300 * MS,
        "first_event_ns": 50 * MS,
        "first_token_ns": 200 * MS,
        "first_answer_ns": 400 * MS,
        "last_token_ns": 1_200 * MS,
        "first_chunk_share": 0.2,
    }
    return Timing(**{**fields, **changes})


def response(**changes: Any) -> Response:
    return Response(**{"text": "x" * 400, "finish_reason": "stop", "usage": Usage(50, 100), **changes})


def record(*attempts: Attempt) -> Record:
    turns = (TurnRecord(attempts or (Attempt(1, timing(), response()),)),)
    return Record("r", "m", "v", "v", "trigger", "s-1", 0, turns)


def measure(name: str, made: Record) -> float | None:
    return next(metric for metric in METRICS if metric.name == name).measure(made)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("success", 1.0),
        ("total_tokens", 150),
        ("input_tokens", 50),
        ("output_tokens", 100),
        ("ttft_ms", 200.0),
        ("ttfat_ms", 400.0),
        ("tpot_ms", 1_000 / 99),
        ("tps", 80.0),
        ("e2e_tps", 100 / 1.2),
        ("e2e_ms", 1300.0),
    ],
)
def test_a_plain_answer_gives_the_formula(name: str, expected: float) -> None:
    """One streamed answer with known times and usage gives the hand-computed number."""
    assert measure(name, record()) == pytest.approx(expected)


def test_cold_and_warm_ttft_are_told_apart() -> None:
    """The first answer on a connection counts as cold, a later one as warm, and where that is unknown as neither."""
    cold = record(Attempt(1, timing(connection_reused=False), response()))
    warm = record(Attempt(1, timing(connection_reused=True), response()))
    names = ("ttft_ms", "ttft_cold_ms", "ttft_warm_ms")
    assert [measure(name, cold) for name in names] == [200.0, 200.0, None]
    assert [measure(name, warm) for name in names] == [200.0, None, 200.0]
    assert [measure(name, record()) for name in names] == [200.0, None, None]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"connection_reused": True}, 200.0),
        ({"connection_reused": False, "connect_ns": 60 * MS}, 260.0),
        ({"connection_reused": False}, None),
        ({}, 200.0),
        ({"first_token_ns": None}, None),
    ],
)
def test_ttft_from_submission_has_the_connecting_in_it(changes: dict[str, Any], expected: float | None) -> None:
    """As the product's page defines it; where nobody told how long connecting took, it is not measured."""
    assert measure("ttft_from_submission_ms", record(Attempt(1, timing(**changes), response()))) == expected


def test_turns_of_one_record_are_cold_or_warm_each_for_itself() -> None:
    """A conversation whose first turn opened the connection has one cold and one warm TTFT."""
    first = TurnRecord((Attempt(1, timing(connection_reused=False, first_token_ns=500 * MS), response()),))
    second = TurnRecord((Attempt(1, timing(connection_reused=True), response()),))
    made = Record("r", "m", "v", "v", "trigger", "s-1", 0, (first, second))
    assert [measure(name, made) for name in ("ttft_ms", "ttft_cold_ms", "ttft_warm_ms")] == [350.0, 500.0, 200.0]


def test_what_connecting_took_is_told_in_parts() -> None:
    """Name, TCP and TLS are numbers of their own; a part that was not told apart is None, and so is a reused one's."""
    parts = {"connect_ns": 60 * MS, "dns_ns": 10 * MS, "tcp_ns": 20 * MS, "tls_ns": 30 * MS}
    names = ("connect_ms", "dns_ms", "tcp_ms", "tls_ms")
    made = record(Attempt(1, timing(connection_reused=False, **parts), response()))
    assert [measure(name, made) for name in names] == [60.0, 10.0, 20.0, 30.0]
    plain = record(Attempt(1, timing(connect_ns=60 * MS, dns_ns=10 * MS, tcp_ns=50 * MS), response()))
    assert [measure(name, plain) for name in names] == [60.0, 10.0, 50.0, None]
    assert [measure(name, record()) for name in names] == [None] * 4


@pytest.mark.parametrize("changes", [{"last_token_ns": 201 * MS}, {"first_chunk_share": None}])
def test_tpot_is_refused_where_tps_is(changes: dict[str, Any]) -> None:
    """A reply that came in a burst has no time per token; nor has one whose tokens nobody reported."""
    made = record(Attempt(1, timing(**changes), response()))
    assert (measure("tpot_ms", made), measure("tps", made)) == (None, None)
    assert measure("tpot_ms", record(Attempt(1, timing(), response(usage=None)))) is None
    assert measure("tpot_ms", record(Attempt(1, timing(), response(usage=Usage(5, 1))))) is None


def test_a_failure_measures_nothing_but_its_failing() -> None:
    """A cut answer with tokens and times counts for success 0 and for no other metric."""
    made = record(Attempt(1, timing(), response(), Failure("truncated", "stream", "cut")))
    assert {metric.name: metric.measure(made) for metric in METRICS} == {
        metric.name: 0.0 if metric.name == "success" else None for metric in METRICS
    }


def test_p22_a_retry_leaves_the_latency_alone() -> None:
    """Only the successful attempt's own clock counts; a slow 429 before it changes nothing (P22)."""
    refused = Attempt(1, timing(end_ns=9_000 * MS), None, Failure("rate_limited", "headers", "x", 429))
    made = record(refused, Attempt(2, timing(), response()))
    assert measure("ttft_ms", made) == 200.0
    assert measure("e2e_ms", made) == 1300.0


def test_p21_ttft_is_the_first_token_not_the_first_event() -> None:
    """An early role-only chunk (first event) does not stop the clock (P21)."""
    assert measure("ttft_ms", record(Attempt(1, timing(first_event_ns=1), response()))) == 200.0


def test_p23_an_answer_without_tokens_has_no_ttft() -> None:
    """A missing first token is None, not 0 (P23)."""
    bare = timing(first_token_ns=None, first_answer_ns=None, last_token_ns=None, first_chunk_share=None)
    made = record(Attempt(1, bare, response(text="")))
    assert [measure(name, made) for name in ("ttft_ms", "ttfat_ms", "tps", "e2e_tps")] == [None] * 4


def test_p25_missing_usage_is_none_never_zero() -> None:
    """Without usage there are no tokens and no TPS, while TTFT stands (P25)."""
    made = record(Attempt(1, timing(), response(usage=None)))
    assert [measure(name, made) for name in ("total_tokens", "output_tokens", "tps", "e2e_tps")] == [None] * 4
    assert measure("ttft_ms", made) == 200.0


@pytest.mark.parametrize("usage", [Usage(0, 0), Usage(None, 100), Usage(0, 100), Usage(50, 0)])
def test_p25_a_zero_that_cannot_be_true_is_not_a_report(usage: Usage) -> None:
    """Zero prompt tokens, or zero output beside a text, would win "fewest tokens"; they read as missing (P25)."""
    made = Attempt(1, timing(), response(usage=usage))
    assert measure("total_tokens", record(made)) is None
    assert zero_usage(Answer(made)) == (usage.input == 0 or usage.output == 0)


def test_an_answer_that_is_really_empty_may_cost_no_output() -> None:
    """Zero output tokens are believed where nothing was said."""
    made = record(Attempt(1, timing(), response(text="", usage=Usage(50, 0), finish_reason="content_filter")))
    assert measure("total_tokens", made) == 50


def test_p26_partial_usage_and_zero_times_divide_by_nothing() -> None:
    """A missing half of usage or an instant end gives None or 0.0, no error (P26)."""
    instant = timing(end_ns=0, first_token_ns=0, first_answer_ns=0, last_token_ns=0, first_chunk_share=1.0)
    made = record(Attempt(1, instant, response(usage=Usage(50, None))))
    values = {metric.name: metric.measure(made) for metric in METRICS}
    assert (values["total_tokens"], values["tps"], values["e2e_tps"], values["e2e_ms"]) == (None, None, None, 0.0)


@pytest.mark.parametrize(
    "changes",
    [
        {"last_token_ns": 200 * MS, "first_chunk_share": 1.0},
        {"last_token_ns": 209 * MS},
        {"last_token_ns": 212 * MS},
        {"first_chunk_share": None},
    ],
)
def test_p20_a_held_back_reply_has_no_tps(changes: dict[str, Any]) -> None:
    """One chunk, a window under 10 ms or a speed no model has give None instead of 11,111 tok/s (P20)."""
    assert measure("tps", record(Attempt(1, timing(**changes), response()))) is None


def test_p20_a_slow_decoder_keeps_its_number() -> None:
    """The bounds do not catch an honest fast vendor: 80 tokens in 40 ms are 2,000 tok/s."""
    assert measure("tps", record(Attempt(1, timing(last_token_ns=240 * MS), response()))) == pytest.approx(2000)


def test_p46_a_cut_stream_has_no_tps() -> None:
    """A stream that died gives no speed, however many tokens came (P46)."""
    assert measure("tps", record(Attempt(1, timing(), response(), Failure("truncated", "stream", "x")))) is None


def test_a_whole_answer_has_no_streaming_times() -> None:
    """Plain JSON has neither TTFT nor TPS."""
    made = record(Attempt(1, timing(), response(streamed=False)))
    assert [measure(name, made) for name in ("ttft_ms", "ttfat_ms", "tps")] == [None] * 3
    assert measure("total_tokens", made) == 150


def test_tokens_that_nobody_saw_give_no_speed() -> None:
    """Of reasoning that is billed and not shown, or of more tokens than bytes, nobody knows when they came."""
    usage = Usage(50, 100, reasoning=80)

    def tps(said: Response) -> float | None:
        return measure("tps", record(Attempt(1, timing(), said)))

    assert tps(response(usage=usage)) is None
    assert measure("tpot_ms", record(Attempt(1, timing(), response(usage=usage)))) is None
    assert tps(response(usage=usage, reasoning="hm")) == pytest.approx(80.0)
    assert tps(response(usage=usage, text=f"<think>hm</think>{'x' * 80}")) == pytest.approx(80.0)
    assert tps(response(text="x" * 84)) == pytest.approx(80.0)
    assert tps(response(text="x" * 83)) is None
    assert measure("e2e_tps", record(Attempt(1, timing(), response(usage=usage)))) is not None


def test_markup_and_letters_of_several_bytes_are_granted() -> None:
    """A call's markup costs tokens that stand in no field, and a letter of three bytes can be three tokens."""
    call = ToolCall("f", "{}")
    assert not hides_tokens(response(text="", tool_calls=(call,)), Usage(50, 83))
    assert hides_tokens(response(text="", tool_calls=(call,)), Usage(50, 84))
    assert not hides_tokens(response(text="水" * 30), Usage(50, 106))
    assert hides_tokens(response(text="水" * 30), Usage(50, 107))


@given(st.text(max_size=200), st.integers(0, 900))
def test_a_redacted_answer_hides_no_more_than_it_did(text: str, output: int) -> None:
    """Only characters are kept of a redacted text, so what is told of it is told of the text, too."""
    if hides_tokens(response(text=digest_text(text)), Usage(1, output)):
        assert hides_tokens(response(text=text), Usage(1, output))


@pytest.mark.parametrize(
    ("changes", "usage", "expected"),
    [
        ({}, Usage(50, 100), False),
        ({"last_token_ns": 200 * MS, "first_chunk_share": 1.0}, Usage(50, 100), True),
        ({"last_token_ns": 200 * MS, "first_chunk_share": 1.0}, None, True),
        ({"last_token_ns": 200 * MS, "first_chunk_share": 1.0}, Usage(50, 3), False),
        ({"last_token_ns": 205 * MS}, Usage(50, 100), True),
        ({"last_token_ns": 205 * MS, "first_chunk_share": 0.9}, Usage(50, 100), False),
    ],
)
def test_buffered_is_flagged_only_where_decoding_cannot_have_happened(
    changes: dict[str, Any], usage: Usage | None, expected: bool
) -> None:
    """A long reply in one moment, or faster than any model decodes, is buffered; a short one is not."""
    assert buffered(Answer(Attempt(1, timing(**changes), response(usage=usage)))) is expected


def test_the_vendors_tps_is_the_ratio_of_sums() -> None:
    """100 tokens in 10 s and 100 in 1 s are 200 tokens in 11 s, not the mean of 10 and 100."""
    slow = record(Attempt(1, timing(last_token_ns=10_200 * MS, first_chunk_share=0.0), response()))
    fast = record(Attempt(1, timing(first_chunk_share=0.0), response()))
    table = table_of([observed(slow), structs.replace(observed(fast), repetition=1)])
    assert table.pooled("tps") == pytest.approx(200 / 11)
    assert table_of([]).pooled("tps") is None


def test_several_turns_add_up() -> None:
    """Tokens and time sum over turns, TTFT is their mean, and a turn without usage leaves no total."""
    one = TurnRecord((Attempt(1, timing(), response()),))
    other = TurnRecord((Attempt(1, timing(first_token_ns=400 * MS), response()),))
    silent = TurnRecord((Attempt(1, timing(), response(usage=None)),))
    made = Record("r", "m", "v", "v", "trigger", "s-1", 0, (one, other))
    assert (measure("total_tokens", made), measure("ttft_ms", made), measure("e2e_ms", made)) == (300, 300.0, 2600.0)
    partial = Record("r", "m", "v", "v", "trigger", "s-1", 0, (one, silent))
    assert measure("total_tokens", partial) is None


def test_names_are_unique_and_carry_their_unit() -> None:
    """No two metrics share a name, and names in ms say so."""
    names = [item.name for item in METRICS]
    assert len(set(names)) == len(names)
    named = [*((metric.name, metric) for metric in METRICS), *RANKED.items()]
    assert all((metric.unit == "ms") == name.endswith("_ms") for name, metric in named)
