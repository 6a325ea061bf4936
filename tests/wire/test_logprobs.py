"""Stated log-probabilities: read from every shape they come in, of the first token only, bounded, never raising."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.registry import WIRES
from vendor_verifier.values.event import MAX_LOGPROBS, SseEvent, TokenLogprob, TokenLogprobs
from vendor_verifier.wire.assembler import collect
from vendor_verifier.wire.logprobs import MAX_TOKEN, chat_logprobs, gemini_logprobs

_LISTED = [{"token": "Oslo", "logprob": -0.1, "bytes": None}, {"token": "Rome", "logprob": -2.5}]
_CHAT: dict[str, Any] = {"content": [{"token": "Rome", "logprob": -2.5, "top_logprobs": _LISTED}], "refusal": None}
_RAW: dict[str, Any] = {"tokens": ["Rome"], "top_logprobs": [{"Oslo": -0.1, "Rome": -2.5}]}
_GEMINI: dict[str, Any] = {
    "topCandidates": [{"candidates": [{"token": "Oslo", "logProbability": -0.1},
                                      {"token": "Rome", "tokenId": 3, "logProbability": -2.5}]}],
}  # fmt: skip
_READ = (TokenLogprob("Oslo", -0.1), TokenLogprob("Rome", -2.5))


def _chunk(text: str, logprobs: object, finish: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": {"content": text}, "logprobs": logprobs, "finish_reason": finish}
    return {"object": "chat.completion.chunk", "choices": [choice]}


def _streamed(wire: str, chunks: list[dict[str, Any]]) -> TokenLogprobs | None:
    reader = WIRES[wire].reader()
    events = [event for chunk in chunks for event in reader.read(SseEvent(json.dumps(chunk)))]
    return collect(events).response.first_logprobs


def _whole(wire: str, body: dict[str, Any]) -> TokenLogprobs | None:
    return collect(WIRES[wire].reader().read_body(body)).response.first_logprobs


@pytest.mark.parametrize("logprobs", [_CHAT, _RAW], ids=["chat", "the form of raw completions"])
def test_a_chat_answer_has_them_streamed_or_whole(logprobs: dict[str, Any]) -> None:
    """An opening chunk without them comes before."""
    assert _streamed("openai", [_chunk("", None), _chunk("Rome", logprobs), _chunk("", None, "stop")]) == _READ
    message = {"message": {"content": "Rome"}, "logprobs": logprobs, "finish_reason": "stop"}
    assert _whole("openai", {"choices": [message]}) == _READ


def test_those_of_a_later_token_are_left_out() -> None:
    other = {"content": [{"token": "!", "logprob": 0.0, "top_logprobs": [{"token": "!", "logprob": 0.0}]}]}
    assert _streamed("openai", [_chunk("Rome", _CHAT), _chunk("!", other)]) == _READ
    assert _streamed("openai", [_chunk("Rome", None), _chunk("!", other)]) is None


def test_a_gemini_answer_has_them_streamed_or_whole() -> None:
    body = {
        "candidates": [{"content": {"parts": [{"text": "Rome"}]}, "finishReason": "STOP", "logprobsResult": _GEMINI}]
    }
    assert _streamed("gemini", [body]) == _whole("gemini", body) == _READ


def test_an_ordinary_answer_has_none() -> None:
    assert _streamed("openai", [_chunk("Rome", None, "stop")]) is None
    assert (
        _whole("gemini", {"candidates": [{"content": {"parts": [{"text": "Rome"}]}, "finishReason": "STOP"}]}) is None
    )


def test_long_lists_and_long_tokens_are_cut_and_nonsense_is_left_out() -> None:
    """A number beyond all bounds, text, a truth value and a null are no log-probabilities; a lone surrogate no text."""
    listed: list[dict[str, Any]] = [{"token": "x" * 10_000, "logprob": -1}, {"token": "\ud800", "logprob": -2}]
    listed += [{"token": str(n), "logprob": bad} for n, bad in enumerate((10**400, "-1", True, None, float("nan")))]
    listed += [{"token": f"more {n}", "logprob": -3.0} for n in range(100)]
    found = chat_logprobs({"content": [{"top_logprobs": listed}]})
    assert found is not None
    assert len(found.tokens) == MAX_LOGPROBS - 5
    assert found.tokens[:2] == (TokenLogprob("x" * MAX_TOKEN, -1.0), TokenLogprob("\ufffd", -2.0))


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(
        st.sampled_from(
            ["content", "top_logprobs", "token", "logprob", "topCandidates", "candidates", "logProbability"]
        ),
        inner, max_size=4,
    ),
    max_leaves=20,
)  # fmt: skip


@given(_JSON)
def test_no_value_makes_the_readers_raise(value: object) -> None:
    for found in (chat_logprobs(value), gemini_logprobs(value)):
        assert found is None or 0 < len(found.tokens) <= MAX_LOGPROBS
