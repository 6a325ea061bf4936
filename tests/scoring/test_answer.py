"""What is read of one answer: plausible usage, decoding, hidden tokens, buffering."""

from __future__ import annotations

from typing import Any

import pytest
from made_records import MS, bad, ok, timing

from vendor_verifier.records.record import Attempt, Usage
from vendor_verifier.redaction import digest_text
from vendor_verifier.scoring.answer import Answer, buffered, is_billed, reported_usage


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, Usage()),
        (Usage(0, 0), Usage()),
        (Usage(0, 5), Usage(None, 5)),
        (Usage(5, 0), Usage(5, None)),
        (Usage(5, 7, 0, 0, 0.0), Usage(5, 7, 0, 0, 0.0)),
    ],
)
def test_zeros_are_not_reported(usage: Usage | None, expected: Usage) -> None:
    """Nobody asks or says nothing; a cache, a price or the output of an empty answer can be zero."""
    assert reported_usage(ok(usage=usage)) == expected
    assert reported_usage(ok((), text="", usage=Usage(5, 0))) == Usage(5, 0)


@pytest.mark.parametrize(
    ("changes", "said", "expected"),
    [
        ({}, {}, (100.0, 1.0)),
        ({"first_chunk_share": 0.25}, {}, (75.0, 1.0)),
        ({"first_chunk_share": None}, {}, None),
        ({"last_token_ns": 105 * MS}, {}, None),
        ({"last_token_ns": 115 * MS}, {}, None),
        ({"last_token_ns": None}, {}, None),
        ({}, {"usage": Usage(10)}, None),
        ({}, {"streamed": False}, None),
        ({}, {"usage": Usage(10, 100, reasoning=50)}, None),
        ({}, {"usage": Usage(10, 100, reasoning=50), "reasoning": "hm " * 50}, (100.0, 1.0)),
    ],
)
def test_decoding(changes: dict[str, Any], said: dict[str, Any], expected: tuple[float, float] | None) -> None:
    """Tokens after the first moment and their seconds; None of one chunk, a buffered answer or hidden tokens."""
    assert Answer(ok(timed=timing(**changes), **said)).decoded == expected


@pytest.mark.parametrize(
    ("said", "hidden"),
    [
        ({"text": "x" * 400}, False),
        ({"text": "", "usage": Usage(10, 80)}, False),
        ({"text": "", "usage": Usage(10, 300)}, True),
        ({"text": "語" * 60, "usage": Usage(10, 250)}, False),
        ({"text": digest_text("x" * 300), "usage": Usage(10, 120)}, False),
        ({"usage": Usage(10, 50, reasoning=40)}, True),
        ({"usage": Usage(10, 400, reasoning=300), "reasoning": "so and so " * 25, "text": "x" * 400}, True),
        ({"usage": Usage(10, 50, reasoning=40), "text": "<think>so</think> yes"}, False),
    ],
)
def test_hidden_tokens(said: dict[str, Any], hidden: bool) -> None:
    assert Answer(ok(**said)).hides_tokens == hidden


@pytest.mark.lateness
@pytest.mark.parametrize(
    ("changes", "said", "expected"),
    [
        ({}, {}, False),
        ({"last_token_ns": 100 * MS}, {}, True),
        ({"last_token_ns": 110 * MS}, {}, True),
        ({"last_token_ns": 110 * MS, "our_lateness_ns": 9 * MS}, {}, False),
        ({"last_token_ns": 100 * MS}, {"usage": Usage(10, 15)}, False),
        ({"last_token_ns": 100 * MS}, {"calls_whole": True}, False),
        ({"last_token_ns": 100 * MS}, {"streamed": False}, False),
        ({"last_token_ns": 100 * MS}, {"usage": None}, True),
    ],
)
def test_buffered_answers(changes: dict[str, Any], said: dict[str, Any], expected: bool) -> None:
    """All in one moment, or faster than any model; not where we were late, nor of calls in one piece."""
    assert buffered(Answer(ok(timed=timing(**changes), **said))) == expected


@pytest.mark.parametrize(
    ("attempt", "billed"),
    [(ok(), True), (bad(), False), (bad("rate_limited", 429), False), (bad("timeout_total", None), True)],
)
def test_billed_attempts(attempt: Attempt, billed: bool) -> None:
    """What reached the model, or may have."""
    assert is_billed(attempt) == billed
