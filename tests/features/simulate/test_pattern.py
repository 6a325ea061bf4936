"""Strings made from patterns match them."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.features.simulate.scalar_values import UnsupportedPattern, matching_string

PATTERNS = (
    r"^[A-Z0-9]{2}\d{1,4}$",
    r"^([01]\d|2[0-3]):[0-5]\d$",
    r"^10\.\d{4,9}/\S+$",
    r"^\+[0-9]{7,15}$",
    r"^[a-z_]+(\.[a-z_]+)*$",
    r"^(?:GET|POST)\s/(?P<path>[^/?#\s]+)?$",
    r"^#[0-9a-fA-F]{6}$",
    r"\bword\b",
    r"^[^a-z]{3,}$",
    r"^[\w.-]+@[\w-]+\.(com|org)$",
    r"^x[]a]?$",
    r"\u0041\x42\t?",
    r"",
)


@pytest.mark.parametrize("pattern", PATTERNS)
@given(seed=st.integers(0, 2**32))
def test_a_made_string_matches(pattern: str, seed: int) -> None:
    """Whatever the dice say, what is made from a pattern is found by it."""
    assert re.search(pattern, matching_string(pattern, random.Random(seed)))


def test_lengths_are_met_where_the_pattern_allows() -> None:
    """An open repetition is stretched or kept short as the lengths ask."""
    assert len(matching_string("^[a-z]+$", random.Random(1), min_length=30)) >= 30
    assert all(len(matching_string("^[a-z]*$", random.Random(n), max_length=1)) <= 1 for n in range(20))


@pytest.mark.parametrize(
    "pattern",
    ["(?=a)b", "(?!a)b", "(a)\\1", "[a", "(a", "a)", "a\\", "(" * 500, "((a{999}){999}){999}", "[^\\s\\S]*" * 400],
)
def test_the_unsupported_is_refused_not_looped_over(pattern: str) -> None:
    """Look-around, references, broken or runaway patterns end in one refusal."""
    with pytest.raises(UnsupportedPattern):
        matching_string(pattern, random.Random(0))


@given(st.text(alphabet="abc()[]{}|*+?\\^$.,-:<>=!0123456789dwspux", max_size=40), st.integers(0, 999))
def test_any_text_as_a_pattern_gives_a_string_or_a_refusal(pattern: str, seed: int) -> None:
    """No pattern makes the module raise anything else."""
    try:
        made = matching_string(pattern, random.Random(seed))
    except UnsupportedPattern:
        return
    made.encode()
