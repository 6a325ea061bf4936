"""One answer out of what a reader says: what is over, what is timed, and what only the whole answer shows."""

from __future__ import annotations

from collections.abc import Callable
from operator import methodcaller
from typing import Any

import pytest

from vendor_verifier.records.record import ToolCall, Usage
from vendor_verifier.wire.answer import MAX_WORD, Answer, Parsed
from vendor_verifier.wire.errors import Fault

Step = Callable[[Answer], Any]
END, STOP = methodcaller("end"), methodcaller("finish", "stop", "stop")


def text(piece: str) -> Step:
    return methodcaller("text", piece)


def filled(*steps: Step | tuple[int, Step], interpret: Any = None) -> Answer:
    """An answer to which this was said, each at its moment or at none in particular."""
    answer = Answer(interpret)
    for step in steps:
        answer.at_ns, say = step if isinstance(step, tuple) else (0, step)
        say(answer)
    return answer


def anomalies(*steps: Step | tuple[int, Step], streamed: bool = False) -> tuple[str, ...]:
    return filled(*steps).response(streamed=streamed).anomalies


def test_the_last_finish_counts_and_a_change_is_flagged() -> None:
    """A repeated one is no change; an end without any is flagged, unless there was an error."""
    changed = filled(STOP, methodcaller("finish", "tool_calls", "tool_calls")).response(streamed=False)
    assert (changed.finish_reason, changed.anomalies) == ("tool_calls", ("finish_changed",))
    assert anomalies(STOP, STOP) == ()
    assert anomalies(text("a"), END) == ("no_finish_reason",)
    assert anomalies(methodcaller("failed", Fault("x")), END) == ()


@pytest.mark.parametrize(
    ("reports", "expected"),
    [
        ([Usage(3, 1), Usage(3, 4)], Usage(3, 4)), ([Usage(3, None), Usage(None, 4)], Usage(3, 4)),
        ([Usage(0, 0), Usage(3, 4)], Usage(3, 4)),
        ([Usage(3, 4, 1, 1, 0.5), Usage(0, 0, 0, 0, 0.0)], Usage(3, 4, 1, 1, 0.5)),
        ([Usage(), Usage(0, None)], Usage(0, None)), ([Usage()], Usage()),
    ],
)  # fmt: skip
def test_usage_reports_are_merged(reports: list[Usage], expected: Usage) -> None:
    """The last number wins, zero never erases, None is never turned into zero."""
    assert filled(*(methodcaller("usage", one) for one in reports)).response(streamed=False).usage == expected


def test_moments() -> None:
    """First token, first answer, last token, the gaps between tokens; empty pieces are none."""
    answer = filled(
        (5, methodcaller("identity", "m")),
        (10, text("")),
        (20, methodcaller("reasoning", "abc")),
        (20, methodcaller("reasoning", "d")),
        (50, text("efgh")),
        (60, methodcaller("call", 0, "i", None, "")),
        (90, methodcaller("call", 0, None, "f", "{}")),
        (95, methodcaller("usage", Usage(1, 2))),
        (99, END),
    )
    assert answer.first_answer_ns == 50
    assert answer.token_moments == [20, 20, 50, 90]
    assert answer.gaps_ns == (0, 30, 40)
    assert answer.first_chunk_share == pytest.approx(4 / 11)
    nothing = filled((5, text("")), (7, methodcaller("call", 0, "i")))
    assert (nothing.gaps_ns, nothing.first_chunk_share) == ((), None)


@pytest.mark.parametrize(
    "markup",
    [
        "<|tool_calls_section_begin|>", "<|tool_call_argument_begin|>", "<|tool_call_end|>", "<tool_call>",
        "</tool_call>", "<｜tool▁calls▁begin｜>", "<｜DSML｜function_calls>", "<arg_key>city</arg_key>",
        "<minimax:tool_call>", '<invoke name="f">', "<|python_tag|>", "<function=f-1.x>", "[TOOL_CALLS][{}]",
        "<|channel|>commentary", "<seed:tool_call>", "<think>hm</think>", "hm</think>",
    ],
)  # fmt: skip
def test_markup_in_the_text_of_an_answer_is_flagged(markup: str) -> None:
    """Each family's marks, anywhere in it; half an answer proves nothing."""
    assert anomalies(text(f"Sure! {markup} done"), STOP) == ("markup_in_text",)
    assert anomalies(text(f"Sure! {markup} done")) == ()


@pytest.mark.parametrize(
    "plain", ["a < b and c > d", "[1, 2]", "<b>bold</b>", "use the tool_call now", "think>", "[tool_calls]", "<|end"]
)
def test_ordinary_text_is_no_markup(plain: str) -> None:
    """Comparisons, lists, HTML and plain words."""
    assert anomalies(text(plain), STOP) == ()


def test_interpreted_text_keeps_its_timing() -> None:
    """What raw text means replaces it once the answer is over; it brings no token. A cut one stays raw."""
    meant = Parsed("Hello", "hm", (ToolCall("f", "{}", "i"),))
    steps = [(1, text("<think>hm</think>")), (5, text("Hello<tool_call>…"))]
    answer = filled(*steps, (9, STOP), interpret=lambda _text, _is_cut: meant)
    response = answer.response(streamed=True)
    assert (response.text, response.reasoning, response.tool_calls) == ("Hello", "hm", meant.tool_calls)
    assert (response.finish_reason, response.finish_raw, response.anomalies) == ("tool_calls", "stop", ())
    assert answer.gaps_ns == (4,)
    cut = filled(*steps, interpret=lambda _text, _is_cut: meant).response(streamed=True)
    assert cut.text == "<think>hm</think>Hello<tool_call>…"


def test_halves_of_a_pair_are_joined_and_endless_words_cut() -> None:
    """Neither is flagged, nor is a replacement character that the vendor itself sent."""
    response = filled(text("\ud83d"), text("\ude00\ufffd"), methodcaller("identity", "m" * 10**6)).response(
        streamed=True
    )
    assert (response.text, response.anomalies) == ("😀\ufffd", ())
    assert response.served_model == "m" * MAX_WORD
