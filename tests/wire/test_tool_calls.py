"""Putting tool calls together: one named test for each way in which hosts number, repeat or split them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.records.event import ToolCall
from vendor_verifier.wire import tool_calls
from vendor_verifier.wire.payload import parse_json
from vendor_verifier.wire.tool_calls import MAX_CALLS, MAX_PARSED, CallPiece, ToolCalls


def put_together(*deltas: CallPiece) -> tuple[ToolCall, ...]:
    accumulator = ToolCalls()
    for delta in deltas:
        accumulator.add(delta)
    return accumulator.joined()


def plain(calls: tuple[ToolCall, ...]) -> list[tuple[str, str]]:
    return [(call.name, call.arguments) for call in calls]


PARIS, ROME = '{"city":"Paris"}', '{"city":"Rome"}'


def test_standard_stream() -> None:
    """Id and name first, arguments in pieces: one clean call."""
    calls = put_together(
        CallPiece(0, "a", "get_weather", ""),
        CallPiece(0, None, None, '{"city":'),
        CallPiece(0, None, None, '"Paris"}'),
    )
    assert calls == (ToolCall("get_weather", PARIS, "a"),)


def test_interleaved_parallel_calls() -> None:
    """Pieces of two calls that alternate go to the call of their index."""
    calls = put_together(
        CallPiece(0, "a", "f", '{"x"'),
        CallPiece(1, "b", "g", '{"y"'),
        CallPiece(0, None, None, ":1}"),
        CallPiece(1, None, None, ":2}"),
    )
    assert plain(calls) == [("f", '{"x":1}'), ("g", '{"y":2}')]


def test_index_missing_new_id_is_a_new_call() -> None:
    """Without an index, a new id begins a call and a piece without id continues the last one."""
    calls = put_together(
        CallPiece(None, "a", "f", '{"city":'),
        CallPiece(None, None, None, '"Paris"}'),
        CallPiece(None, "b", "f", ROME),
    )
    assert plain(calls) == [("f", PARIS), ("f", ROME)]
    assert all("index_missing" in call.anomalies for call in calls)


def test_index_missing_id_in_every_piece() -> None:
    """Without an index, pieces that repeat a known id belong to that call, also interleaved."""
    calls = put_together(
        CallPiece(None, "a", "f", "{"),
        CallPiece(None, "b", "g", "{"),
        CallPiece(None, "a", None, "}"),
        CallPiece(None, "b", None, "}"),
    )
    assert plain(calls) == [("f", "{}"), ("g", "{}")]


def test_index_missing_and_no_id_at_all() -> None:
    """Without index and id, a name after complete arguments begins a call, even the same name."""
    calls = put_together(
        CallPiece(None, None, "f", PARIS),
        CallPiece(None, None, "f", ROME),
        CallPiece(None, None, "g", "{}"),
    )
    assert plain(calls) == [("f", PARIS), ("f", ROME), ("g", "{}")]


def test_index_missing_id_comes_late() -> None:
    """An id that follows the name belongs to that call."""
    calls = put_together(CallPiece(None, None, "f", None), CallPiece(None, "a", None, PARIS))
    assert [(call.id, call.name, call.arguments) for call in calls] == [("a", "f", PARIS)]


def test_index_missing_call_without_arguments_before_another() -> None:
    """A call that sent no arguments is not swallowed by the next one."""
    calls = put_together(CallPiece(None, None, "f", ""), CallPiece(None, "b", "g", PARIS))
    assert plain(calls) == [("f", ""), ("g", PARIS)]


def test_trailing_repetition_begins_no_call() -> None:
    """A last piece that repeats id and name without arguments is no second call."""
    calls = put_together(CallPiece(None, "a", "f", PARIS), CallPiece(None, "a", "f", ""))
    assert plain(calls) == [("f", PARIS)]


def test_same_index_different_id_is_a_new_call() -> None:
    """Hosts that send every call as index 0: a different id begins a new call instead of ``{..}{..}``."""
    calls = put_together(
        CallPiece(0, "a", "f", PARIS),
        CallPiece(0, "b", "f", '{"city":'),
        CallPiece(0, None, None, '"Rome"}'),
    )
    assert [(call.id, call.arguments) for call in calls] == [("a", PARIS), ("b", ROME)]
    assert calls[1].anomalies == ("index_reused",)


def test_same_index_without_ids_is_a_new_call_when_the_first_is_complete() -> None:
    """The same without ids: a name and new arguments after complete ones begin a call."""
    calls = put_together(CallPiece(0, None, "f", PARIS), CallPiece(0, None, "g", ROME))
    assert plain(calls) == [("f", PARIS), ("g", ROME)]


def test_new_id_for_every_piece() -> None:
    """A host that makes up an id for every piece still sends one call."""
    calls = put_together(
        CallPiece(0, "a", "f", '{"city":'), CallPiece(0, "b", None, '"Par'), CallPiece(0, "c", None, 'is"}')
    )
    assert calls == (ToolCall("f", PARIS, "a", ("id_changed",)),)


def test_name_and_id_repeated_in_every_piece() -> None:
    """llama-cpp-python repeats name and id in every delta; the name is not tripled."""
    calls = put_together(*(CallPiece(0, "call_0", "get_weather", piece) for piece in ("", '{"city":', '"Paris"}')))
    assert calls == (ToolCall("get_weather", PARIS, "call_0", ("name_repeated",)),)


def test_name_in_fragments() -> None:
    """A name that really comes in pieces before the arguments is joined."""
    calls = put_together(CallPiece(0, "a", "get_", None), CallPiece(0, None, "weather", None))
    assert calls == (ToolCall("get_weather", "", "a"),)


def test_name_after_the_arguments() -> None:
    """A name that comes last is still the name."""
    calls = put_together(CallPiece(0, "a", None, "{}"), CallPiece(0, None, "f", None))
    assert calls == (ToolCall("f", "{}", "a"),)


def test_name_that_changes_after_arguments_is_flagged() -> None:
    """Another name for the same index and id keeps the first and says so."""
    calls = put_together(CallPiece(0, "a", "f", "{"), CallPiece(0, "a", "g", "}"))
    assert calls == (ToolCall("f", "{}", "a", ("name_changed",)),)


@pytest.mark.parametrize("index", [-1, 2_000_000_000, -(10**30), 10**30])
def test_odd_index(index: int) -> None:
    """A negative or huge index is only a label: no memory is spent on it, and it is flagged."""
    calls = put_together(CallPiece(index, "a", "f", PARIS))
    assert calls == (ToolCall("f", PARIS, "a", ("index_odd",)),)


def test_calls_keep_the_order_in_which_they_began() -> None:
    """Order is that of the stream, not of the vendor's numbers."""
    calls = put_together(CallPiece(7, "a", "f", "{}"), CallPiece(3, "b", "g", "{}"))
    assert plain(calls) == [("f", "{}"), ("g", "{}")]


def test_duplicate_ids_under_different_indexes() -> None:
    """The index decides when two calls carry one id."""
    calls = put_together(CallPiece(0, "x", "f", PARIS), CallPiece(1, "x", "g", ROME))
    assert plain(calls) == [("f", PARIS), ("g", ROME)]


def test_duplicate_ids_without_index() -> None:
    """Two complete calls under one id and no index are two calls."""
    calls = put_together(CallPiece(None, "x", "f", PARIS), CallPiece(None, "x", "f", ROME))
    assert plain(calls) == [("f", PARIS), ("f", ROME)]
    assert calls[1].anomalies == ("id_reused",)


def test_empty_ids() -> None:
    """An empty id is no id: it neither begins nor ends a call, and the call that has no other is marked."""
    calls = put_together(CallPiece(0, "", "f", "{"), CallPiece(0, "", None, "}"), CallPiece(1, "", "g", "{}"))
    assert calls == tuple(ToolCall(name, "{}", anomalies=("id_empty",)) for name in ("f", "g"))
    assert put_together(CallPiece(0, "", "f", "{"), CallPiece(0, "x", None, "}")) == (ToolCall("f", "{}", "x"),)


def test_repeated_whole_arguments_stay_as_sent() -> None:
    """The vendor's own numbering says it is one call, so ``{..}{..}`` stays for the judge to see."""
    calls = put_together(CallPiece(0, "a", "f", PARIS), CallPiece(0, "a", None, PARIS))
    assert plain(calls) == [("f", PARIS + PARIS)]


def test_arguments_as_an_object() -> None:
    """An object instead of a string is serialised, text unescaped, and flagged."""
    calls = put_together(CallPiece(0, "a", "f", {"city": "Zürich"}))
    assert calls == (ToolCall("f", '{"city": "Zürich"}', "a", ("arguments_object",)),)


@pytest.mark.parametrize("arguments", ["", None])
def test_call_without_arguments(arguments: str | None) -> None:
    """No arguments at all stay the empty text; what that is worth is decided elsewhere."""
    assert plain(put_together(CallPiece(0, "a", "f", arguments))) == [("f", "")]


def test_double_encoded_arguments_stay_as_sent() -> None:
    """A JSON text inside a JSON string is not unwrapped here."""
    encoded = json.dumps(PARIS)
    assert plain(put_together(CallPiece(0, "a", "f", encoded))) == [("f", encoded)]


@pytest.mark.parametrize("delta", [CallPiece(), CallPiece(0), CallPiece(0, "", "", ""), CallPiece(arguments={})])
def test_a_piece_that_says_nothing_is_no_call(delta: CallPiece) -> None:
    """``tool_calls: [null]`` and empty pieces do not count as a call."""
    assert put_together(delta) == ()


def test_number_of_calls_is_bounded() -> None:
    """A host that begins calls without end gets a fixed number of them."""
    calls = put_together(*(CallPiece(index, f"id{index}", "f", "{}") for index in range(MAX_CALLS + 500)))
    assert len(calls) == MAX_CALLS


def test_looking_for_the_end_of_a_call_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of thousands of pieces that each look like a new call after long arguments only so many characters are parsed."""
    parsed: list[int] = []

    def counted(text: str, most: int) -> Any:
        parsed.append(len(text))
        return parse_json(text, most=most)

    monkeypatch.setattr(tool_calls, "parse_json", counted)
    long = '{"a": "' + "x" * 2_000_000 + '"} }'
    accumulator = ToolCalls()
    accumulator.add(CallPiece(None, None, "f", long))
    for _ in range(5_000):
        accumulator.add(CallPiece(None, None, "f", "{}"))
    assert MAX_PARSED < sum(parsed) <= MAX_PARSED + len(long) + 2 * 5_000
    assert len(accumulator.joined()) == 1


NAMES = st.from_regex(r"\A[A-Za-z][A-Za-z0-9_.-]{0,12}\Z")
OBJECTS = st.dictionaries(
    st.text(max_size=5), st.integers() | st.text(max_size=8) | st.lists(st.booleans(), max_size=3)
)
CALLS = st.lists(
    st.tuples(NAMES, OBJECTS.map(lambda value: json.dumps(value, ensure_ascii=False))), min_size=1, max_size=4
)


def pieces(draw: Any, text: str) -> list[str]:
    places = sorted(draw(st.lists(st.integers(0, len(text)), max_size=6)))
    return [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]


@st.composite
def streams(draw: Any) -> tuple[list[tuple[str, str]], list[list[CallPiece]]]:
    """Calls, and for each the deltas of one of the ways hosts send them with an index."""
    calls = draw(CALLS)
    repeats = draw(st.booleans())
    sent = []
    for index, (name, arguments) in enumerate(calls):
        parts = pieces(draw, arguments)
        sent.append(
            [
                CallPiece(index, f"id{index}", name if position == 0 or repeats else None, part)
                for position, part in enumerate(parts)
            ]
        )
    return calls, sent


@given(streams(), st.randoms(use_true_random=False))
def test_random_splits_of_random_calls_come_together_again(
    stream: tuple[list[tuple[str, str]], list[list[CallPiece]]], order: Any
) -> None:
    """However arguments are cut and calls interleaved, with or without repeated names, the calls are the same."""
    calls, sent = stream
    queues = [list(deltas) for deltas in sent]
    accumulator = ToolCalls()
    for queue in queues:
        accumulator.add(queue.pop(0))
    while any(queues):
        queue = order.choice([queue for queue in queues if queue])
        accumulator.add(queue.pop(0))
    assert plain(accumulator.joined()) == calls


@given(CALLS, st.data())
def test_random_splits_without_index_come_together_again(calls: list[tuple[str, str]], data: st.DataObject) -> None:
    """One call after the other without any index: ids alone are enough."""
    accumulator = ToolCalls()
    for number, (name, arguments) in enumerate(calls):
        for position, part in enumerate(pieces(data.draw, arguments)):
            first = position == 0
            accumulator.add(CallPiece(None, f"id{number}" if first else None, name if first else None, part))
    assert plain(accumulator.joined()) == calls


DELTAS = st.builds(
    CallPiece,
    st.none() | st.integers(),
    st.none() | st.sampled_from(["", "a", "b"]),
    st.none() | st.sampled_from(["", "f", "get_", "\ud800"]),
    st.none()
    | st.sampled_from(["", "{", "}", "{}", '{"a":1}', "]"])
    | st.dictionaries(st.text(), st.integers(), max_size=2),
)


@given(st.lists(DELTAS, max_size=30))
def test_no_order_of_pieces_raises_or_loses_text(deltas: list[CallPiece]) -> None:
    """Arbitrary pieces never raise, and every character of text arguments ends up in some call."""
    calls = put_together(*deltas)
    sent = sum(len(delta.arguments) for delta in deltas if isinstance(delta.arguments, str))
    assert sum(len(call.arguments) for call in calls) >= sent
