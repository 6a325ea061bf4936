"""Tool calls in raw text: a row of ``raw_texts.jsonl`` for each family's markers, cut calls, and nothing repaired.

An expected call is name, arguments and id.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from costs import assert_linear
from hypothesis import given
from hypothesis import strategies as st
from listening import CALL, completion, pieces, sse
from made_values import replace

from vendor_verifier.records.record import Exchange
from vendor_verifier.wire.openai_completions import OpenAICompletions, parse_text, read_value
from vendor_verifier.wire.parse_answer import read_answer

ROWS = [json.loads(line) for line in (Path(__file__).parent / "raw_texts.jsonl").read_bytes().splitlines()]


@pytest.mark.parametrize("row", ROWS, ids=[row["case"] for row in ROWS])
def test_raw_text_is_read_as_its_family_means_it(row: dict[str, Any]) -> None:
    """Reasoning, the calls, and the text that is left; arguments that the budget cut never read as whole."""
    parsed = parse_text(row["text"], row.get("tools", ()), is_cut=row.get("is_cut", False))
    calls = [[call.name, call.arguments, call.id] for call in parsed.tool_calls]
    found = {"text": parsed.text, "reasoning": parsed.reasoning, "calls": calls}
    assert {key: value for key, value in found.items() if value} == row["expected"]


@pytest.mark.parametrize(
    ("text", "schema", "value"),
    [
        ("null", {"type": ["string", "null"]}, None), ("7", {"type": ["string", "null"]}, "7"),
        ("null", {"type": "string"}, "null"), ("x", {"type": "integer"}, "x"), ("NaN", {"type": "number"}, "NaN"),
        ("[1, 2]", {"type": "array"}, [1, 2]), ("true", None, True), ("true", {"type": 7}, True),
        ("true", {"enum": []}, True),
    ],
)  # fmt: skip
def test_values_without_quotes(text: str, schema: Any, value: Any) -> None:
    """Declared text stays text, JSON is read, what is neither stays text."""
    assert read_value(text, schema) == value


def test_reading_the_calls_at_the_end_adds_no_token() -> None:
    """Timing is that of the text; before the end nothing is read as a call."""
    events = [sse(one) for one in (*pieces(CALL), completion("", "stop"), "[DONE]")]
    exchange = Exchange("2026-01-01T00:00:00+00:00", 99, 200, {}, list(enumerate(events)))
    timing, response, failure = read_answer(exchange, OpenAICompletions().reader())
    assert failure is None
    assert response is not None
    assert len(response.tool_calls) == 1
    assert timing.last_token_ns == len(pieces(CALL)) - 1
    assert len(timing.gaps_ns) == len(pieces(CALL)) - 1
    cut = read_answer(replace(exchange, chunks=exchange.chunks[:-2]), OpenAICompletions().reader())[1]
    assert cut is not None
    assert (cut.text, cut.tool_calls) == (CALL, ())


MARKS = (
    '<tool_call> </tool_call> <|tool_call_begin|> <|tool_call_end|> <|tool_call_argument_begin|> functions.f:0 { } " '
    "<function= <parameter= > <arg_key> </arg_key> <arg_value> </arg_value> <｜tool▁call▁begin｜> <｜tool▁sep｜> "
    '<｜tool▁call▁end｜> "> </｜DSML｜invoke> <think> </think> ```json f'
).split()
MARKS += ["\n", '{"name": "f", "arguments": {"a": 1}}', '<｜DSML｜invoke name="']


@given(st.lists(st.sampled_from(MARKS) | st.text(max_size=3), max_size=25).map("".join), st.booleans())
def test_any_mixture_of_markers_is_read(text: str, is_cut: bool) -> None:
    """No text raises, every call has a name, and nothing is made up."""
    parsed = parse_text(text, is_cut=is_cut)
    assert all(call.name for call in parsed.tool_calls)
    assert len(parsed.text) + len(parsed.reasoning) <= len(text)


@pytest.mark.parametrize(
    "mark", ["<tool_call>", "<|tool_call_begin|>", "</tool_call>", "<tool_call>{</tool_call>", "<think>"]
)
def test_floods_of_markers_cost_linear_time(mark: str) -> None:
    """Twice as many markers take twice as long, up to a megabyte of them."""
    assert_linear(lambda size: partial(parse_text, mark * (size // len(mark))), 250_000)
