"""Schema accuracy counts calls and responses under both policies."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.metrics.outcome import schema_counts
from vendor_verifier.records.score import CallClass

CLASSES: tuple[CallClass, ...] = (
    "valid", "invalid_json", "unknown_tool", "schema_mismatch", "empty_arguments", "schema_unusable",
)  # fmt: skip
RESPONSES = st.lists(st.lists(st.sampled_from(CLASSES), max_size=4), max_size=12)


def test_p43_no_calls_is_not_measured() -> None:
    """Without any call accuracy is None, not 0 (P43)."""
    counts = schema_counts([(), ()], "lenient")
    assert (counts.calls, counts.responses, counts.accuracy, counts.per_response) == (0, 0, None, None)
    assert (counts.accuracy_strict, counts.per_response_strict) == (None, None)


def test_p43_calls_and_responses_are_two_units() -> None:
    """One bad call of three spoils its response but not its neighbours (P43)."""
    counts = schema_counts([("valid", "valid", "invalid_json"), ("valid",), ()], "lenient")
    assert (counts.accuracy, counts.per_response, counts.calls, counts.responses) == (3 / 4, 1 / 2, 4, 2)


def test_p41_empty_arguments_cost_only_under_strict() -> None:
    """A "" for a tool without required arguments is valid when lenient and invalid when strict (P41)."""
    counts = schema_counts([("valid",), ("empty_arguments",)], "strict")
    assert (counts.accuracy_lenient, counts.accuracy_strict, counts.accuracy) == (1.0, 0.5, 0.5)


def test_p42_an_unusable_schema_costs_only_under_strict() -> None:
    """A dataset's bad schema leaves the lenient denominator and is charged as the old files did when strict (P42)."""
    counts = schema_counts([("valid",), ("schema_unusable",)], "lenient")
    assert (counts.valid_lenient, counts.accuracy_lenient, counts.per_response_lenient) == (1, 1.0, 1.0)
    assert (counts.valid_strict, counts.accuracy_strict, counts.per_response_strict) == (1, 0.5, 0.5)


@given(RESPONSES)
def test_strict_never_flatters(responses: list[list[CallClass]]) -> None:
    """Strict is never above lenient, shares stay in [0, 1], and classes add up to calls."""
    counts = schema_counts(responses, "lenient")
    assert sum(counts.classes.values()) == counts.calls == sum(map(len, responses))
    if counts.accuracy_lenient is not None and counts.accuracy_strict is not None:
        assert 0 <= counts.accuracy_strict <= counts.accuracy_lenient <= 1
    if counts.per_response_lenient is not None and counts.per_response_strict is not None:
        assert 0 <= counts.per_response_strict <= counts.per_response_lenient <= 1
