"""The decoded timeline of one answer."""

from __future__ import annotations

from doctor_cases import DONE, JSON, MS, answer, calling, chunk, refused, sse, text_question, tool_question, words
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.features.doctor.diagnose import timeline
from vendor_verifier.wire.openai_chat import OpenAIChat


def test_a_stream_is_told_moment_by_moment_with_the_middle_as_one() -> None:
    """Headers, first tokens, the rest compressed with its longest pause, the last, finish, usage and end."""
    told = timeline(answer(text_question(), words(20, every_ms=10)), OpenAIChat().reader())
    assert [moment.what for moment in told] == [
        "request sent", "headers, status 200", "first event", "first token", "token", "token", "16 more token moments",
        "last token", "finish", "usage", "end marker", "end of the answer",
    ]  # fmt: skip
    by_name = {moment.what: moment for moment in told}
    assert by_name["headers, status 200"].at_ms == 80.0
    assert by_name["first token"].at_ms == 100.0
    assert by_name["16 more token moments"].text == "longest pause 10 ms"
    assert by_name["last token"].at_ms == 290.0
    assert by_name["usage"].text == "input 20, output 8"


def test_a_call_an_unknown_finish_and_an_error_are_told_in_words() -> None:
    """What stands in the stream is shown as it was said."""
    told = timeline(answer(tool_question(), calling()), OpenAIChat().reader())
    assert 'get_weather{"city":"Paris"}' in [moment.text for moment in told]
    odd = [(MS, chunk("eos", content="x")), (2 * MS, sse({"error": {"message": "broke"}}))]
    texts = [moment.text for moment in timeline(answer(text_question(), odd), OpenAIChat().reader())]
    assert "stop (said 'eos')" in texts
    assert "broke" in texts


def test_a_refusal_has_headers_and_its_kind() -> None:
    """No token is invented for it."""
    told = timeline(refused(text_question(), 401), OpenAIChat().reader())
    assert [moment.what for moment in told] == ["request sent", "headers, status 401", "auth"]


def test_a_json_body_is_no_stream() -> None:
    """A whole body shows no token moments, and does not fail."""
    body = b'{"choices": [{"index": 0, "message": {"content": "hi"}, "finish_reason": "stop"}]}'
    told = timeline(answer(text_question(), [(MS, body)], headers=JSON), OpenAIChat().reader())
    assert [moment.what for moment in told] == ["request sent", "end of the answer", "headers, status 200"]


@given(st.lists(st.tuples(st.integers(0, 50), st.sampled_from(["", "a", "\n"]) | st.text(max_size=5)), max_size=30))
def test_it_is_short_and_in_order(pieces: list[tuple[int, str]]) -> None:
    """Whatever arrives when, a timeline is sorted and at most a dozen lines."""
    at_ns = 0
    chunks = []
    for gap_ms, content in pieces:
        at_ns += gap_ms * MS
        chunks.append((at_ns, chunk(content=content)))
    chunks.append((at_ns, chunk("stop") + DONE))
    told = timeline(answer(text_question(), chunks), OpenAIChat().reader())
    assert [moment.at_ms for moment in told] == sorted(moment.at_ms for moment in told)
    assert len(told) <= 12
