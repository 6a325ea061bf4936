"""One answer out of many events: what is whole, what is timed, and what only the whole answer shows."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.records.event import (
    Anomaly,
    Fault,
    Finish,
    Identity,
    Parsed,
    ReasoningDelta,
    StreamEnd,
    StreamEvent,
    TextDelta,
    ToolCallDelta,
    Usage,
)
from vendor_verifier.wire.assembler import BUFFERED_CHARACTERS, Assembler, Collected, collect
from vendor_verifier.wire.payload import MAX_WORD


def timed(*events: tuple[int, StreamEvent]) -> Collected:
    assembler = Assembler()
    for at_ns, event in events:
        assembler.add(event, at_ns)
    return assembler.collected()


STOP = Finish("stop", "stop")


@pytest.mark.parametrize(
    ("events", "complete", "empty"),
    [
        ([], False, True),
        ([StreamEnd()], True, True),
        ([STOP], True, True),
        ([TextDelta("a")], False, False),
        ([TextDelta("a"), STOP], True, False),
        ([TextDelta("a"), StreamEnd()], True, False),
        ([ReasoningDelta("a")], False, False),
        ([ToolCallDelta(0, "a", "f")], False, False),
        ([TextDelta("")], False, True),
        ([Usage(1, 2), Identity("m"), Anomaly("x")], False, True),
    ],
)
def test_complete_and_empty(events: list[StreamEvent], complete: bool, empty: bool) -> None:
    """Whole means a finish reason or the end marker, nothing else; empty means not one token."""
    collected = collect(events)
    assert (collected.complete, collected.empty) == (complete, empty)


def test_texts_are_joined_in_order() -> None:
    """Text, reasoning and calls are kept apart and in order."""
    response = collect(
        [ReasoningDelta("h"), TextDelta("a"), ReasoningDelta("m"), TextDelta("b"), ToolCallDelta(0, "i", "f", "{}")]
    ).response
    assert (response.text, response.reasoning, [call.name for call in response.tool_calls]) == ("ab", "hm", ["f"])


def test_no_finish_reason_is_flagged_only_for_an_ended_answer_without_fault() -> None:
    """An end marker without finish reason is odd; a cut or an error is not that."""
    assert collect([TextDelta("a"), StreamEnd()]).response.anomalies == ("no_finish_reason",)
    assert collect([TextDelta("a")]).response.anomalies == ()
    assert collect([Fault("x"), StreamEnd()]).response.anomalies == ()


def test_finish_that_changes_is_flagged() -> None:
    """The last finish reason counts; a different earlier one is noted, a repeated one is not."""
    response = collect([STOP, Finish("tool_calls", "tool_calls")]).response
    assert (response.finish_reason, response.anomalies) == ("tool_calls", ("finish_changed",))
    assert collect([STOP, STOP]).response.anomalies == ()


def test_first_fault_stays() -> None:
    """The first error is the one reported."""
    assert collect([Fault("first"), Fault("second")]).fault == Fault("first")


def test_identity_later_words_win_but_the_first_id_stays() -> None:
    """Non-empty later values win; the response id is the first one's."""
    response = collect(
        [Identity("m", response_id="1"), Identity(provider="p"), Identity("n", response_id="2")]
    ).response
    assert (response.served_model, response.served_provider, response.request_id) == ("n", "p", "1")


@pytest.mark.parametrize(
    ("reports", "expected"),
    [
        ([Usage(3, 1), Usage(3, 4)], Usage(3, 4)),
        ([Usage(3, None), Usage(None, 4)], Usage(3, 4)),
        ([Usage(0, 0), Usage(3, 4)], Usage(3, 4)),
        ([Usage(3, 4, 1, 1, 0.5), Usage(0, 0, 0, 0, 0.0)], Usage(3, 4, 1, 1, 0.5)),
        ([Usage(), Usage(0, None)], Usage(0, None)),
        ([Usage()], Usage()),
    ],
)
def test_usage_reports_are_merged(reports: list[Usage], expected: Usage) -> None:
    """The last number wins, zero never erases, None is never turned into zero."""
    assert collect(reports).response.usage == expected


def test_moments() -> None:
    """First event, first token, first answer, last token and the gaps between token moments."""
    moments = timed(
        (5, Identity("m")),
        (10, TextDelta("")),
        (20, ReasoningDelta("abc")),
        (20, ReasoningDelta("d")),
        (50, TextDelta("efgh")),
        (60, ToolCallDelta(0, "i", None, "")),
        (90, ToolCallDelta(0, None, "f", "{}")),
        (95, Usage(1, 2)),
        (99, StreamEnd()),
    ).moments
    assert moments.first_event_ns == 5
    assert moments.first_token_ns == 20
    assert moments.first_answer_ns == 50
    assert moments.last_token_ns == 90
    assert moments.gaps_ns == (0, 30, 40)
    assert moments.first_chunk_share == pytest.approx(4 / 11)


def test_pieces_of_one_moment_are_apart_by_nothing() -> None:
    """Two tokens that arrive together leave a gap of 0: it is not left out, so the percentiles of gaps show it."""
    moments = timed((10, TextDelta("a")), (30, TextDelta("b")), (30, TextDelta("c")), (40, TextDelta("d"))).moments
    assert moments.gaps_ns == (20, 0, 10)


def test_role_only_chunks_are_no_token() -> None:
    """Empty deltas leave every token moment unmeasured."""
    moments = timed((5, TextDelta("")), (6, ReasoningDelta("")), (7, ToolCallDelta(0, "i"))).moments
    assert (moments.first_event_ns, moments.first_token_ns, moments.last_token_ns) == (5, None, None)
    assert moments.gaps_ns == ()
    assert moments.first_chunk_share is None


def test_whole_bodies_have_no_moments() -> None:
    """A body that did not stream has no token times, whatever its reader said."""
    moments = collect([TextDelta("a"), STOP], streamed=False).moments
    assert moments.first_token_ns is None


def test_buffered() -> None:
    """A long answer at one moment was held back; a short one, a spread one and a plain body were not."""
    long = "x" * BUFFERED_CHARACTERS
    assert "buffered" in timed((1, TextDelta(long)), (2, STOP)).response.anomalies
    assert "buffered" in timed((1, TextDelta(long[1:])), (1, TextDelta("x")), (2, STOP)).response.anomalies
    assert "buffered" not in timed((1, TextDelta(long[1:])), (2, STOP)).response.anomalies
    assert "buffered" not in timed((1, TextDelta(long)), (2, TextDelta("x"))).response.anomalies
    assert "buffered" not in collect([TextDelta(long), STOP], streamed=False).response.anomalies


def test_usage_zero_needs_an_answer() -> None:
    """Zero output tokens for an answer that has some is a lie; for an empty answer it is the truth."""
    assert "usage_zero" in collect([TextDelta("a"), Usage(1, 0)]).response.anomalies
    assert "usage_zero" not in collect([Usage(1, 0), STOP]).response.anomalies
    assert "usage_zero" not in collect([TextDelta("a"), Usage(1, None)]).response.anomalies


def test_markup_is_only_judged_in_a_whole_answer() -> None:
    """Markup in the text of a complete answer is flagged; half an answer proves nothing."""
    assert collect([TextDelta("<tool_call>"), STOP]).response.anomalies == ("markup_in_text",)
    assert collect([TextDelta("<tool_call>")]).response.anomalies == ()


def test_parsed_replaces_the_text_and_keeps_the_timing() -> None:
    """What raw text turned out to be replaces it and adds calls, but brings no token and no moment."""
    parsed = Parsed("Hello", "hm", (ToolCallDelta(0, "i", "f", "{}"),))
    collected = timed((1, TextDelta("<think>hm</think>")), (5, TextDelta("Hello<tool_call>…")), (9, parsed), (9, STOP))
    response = collected.response
    assert (response.text, response.reasoning, response.tool_calls[0].name) == ("Hello", "hm", "f")
    assert response.anomalies == ()
    assert (collected.moments.last_token_ns, collected.moments.gaps_ns) == (5, (4,))


@pytest.mark.parametrize(
    "event",
    [
        TextDelta("\ud800"),
        ReasoningDelta("\ud800"),
        ToolCallDelta(0, "i", "f", '{"a":"\ud800"}'),
        ToolCallDelta(0, "i", "f", {"a": "\ud800"}),
        ToolCallDelta(0, "i", "\ud800", "{}"),
        ToolCallDelta(0, "\ud800", "f", "{}"),
        Identity("\ud800"),
        Finish("unknown", "\ud800"),
    ],
)
def test_lone_surrogates_are_replaced_and_flagged(event: StreamEvent) -> None:
    """Half a character anywhere in an answer becomes U+FFFD with an anomaly, so that the answer can be written."""
    response = collect([event]).response
    assert "lone_surrogate" in response.anomalies
    str(response).encode()


def test_a_pair_split_over_deltas_is_joined() -> None:
    """The two halves of one character in two deltas are that character, without an anomaly."""
    response = collect([TextDelta("\ud83d"), TextDelta("\ude00")]).response
    assert (response.text, response.anomalies) == ("😀", ())


def test_replacement_character_sent_by_the_vendor_is_no_anomaly() -> None:
    """U+FFFD that the vendor itself sent is ordinary text."""
    assert collect([TextDelta("\ufffd")]).response.anomalies == ()


def test_endless_words_are_cut() -> None:
    """A model name of a megabyte does not get into a record."""
    response = collect([Identity("m" * 1_000_000), Finish("unknown", "f" * 1_000_000)]).response
    assert response.served_model == "m" * MAX_WORD
    assert response.finish_raw == "f" * MAX_WORD


TEXT = st.text(alphabet=st.characters(codec=None), max_size=5)
EVENTS: st.SearchStrategy[Any] = st.one_of(
    st.builds(TextDelta, TEXT),
    st.builds(ReasoningDelta, TEXT),
    st.builds(ToolCallDelta, st.none() | st.integers(), st.none() | TEXT, st.none() | TEXT, st.none() | TEXT),
    st.builds(Finish, st.sampled_from(["stop", "length", "error"]), st.none() | TEXT),
    st.builds(Identity, TEXT, TEXT, TEXT, TEXT, TEXT),
    st.builds(Parsed, TEXT, TEXT),
    st.just(StreamEnd()),
    st.just(Fault("x")),
    st.builds(Usage, st.none() | st.integers(0, 9), st.none() | st.integers(0, 9)),
)


@given(st.lists(st.tuples(st.integers(0, 5), EVENTS), max_size=20))
def test_any_events_give_an_answer_that_can_be_written(steps: list[tuple[int, Any]]) -> None:
    """No events in any order raise; gaps add up to last minus first token; the share lies in (0, 1]."""
    at_ns = 0
    events = []
    for step, event in steps:
        at_ns += step
        events.append((at_ns, event))
    collected = timed(*events)
    str(collected.response).encode()
    moments = collected.moments
    if moments.first_token_ns is not None and moments.last_token_ns is not None:
        assert sum(moments.gaps_ns) == moments.last_token_ns - moments.first_token_ns
        assert 0 < (moments.first_chunk_share or 0) <= 1
        assert all(gap >= 0 for gap in moments.gaps_ns)
