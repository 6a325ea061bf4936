"""Records: kinds of failure, names of models, and the identity of samples."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.records.plan import same_model
from vendor_verifier.records.record import Attempt, Failure, Record, Response, TurnRecord, supersedes
from vendor_verifier.records.request import Turn
from vendor_verifier.records.sample import content_digest


def test_no_other_kind_can_be_made_or_read() -> None:
    """A misspelt kind is refused where a failure is made, and in a file of records."""
    with pytest.raises(ValueError, match="no kind of failure"):
        Failure("timout", "stream", "words")
    with pytest.raises(msgspec.ValidationError, match="no kind of failure"):
        msgspec.json.decode(b'{"kind": "timout", "phase": "stream", "message": ""}', type=Failure)


@pytest.mark.parametrize(("new", "old", "wins"), [(True, False, True), (True, True, False), (False, False, False)])
def test_a_success_supersedes_a_failure_only(new: bool, old: bool, wins: bool) -> None:
    """Of two records under one key the first counts, unless the later one succeeded where it had failed."""

    def record(is_success: bool) -> Record:
        attempt = Attempt(1, response=Response("hi")) if is_success else Attempt(1, failure=Failure.of("dns", "gone"))
        return Record("r", "m", "v", "v", "trigger", "s", 0, (TurnRecord((attempt,)),))

    assert supersedes(record(new), record(old)) == wins


@pytest.mark.parametrize(
    ("asked", "served", "same"),
    [
        ("gpt-4o", "gpt-4o-2024-08-06", True),
        ("gpt-4", "gpt-4-0613", True),
        ("deepseek/deepseek-v3.2-exp:free", "deepseek-v3.2-exp", True),
        ("Qwen/Qwen3-8B", "qwen3-8b", True),
        ("gpt-4", "gpt-4o", False),
        ("claude-3", "claude-3-5-haiku", False),
        ("model-1", "model-10", False),
        ("kimi-k2-thinking", "kimi-k2", False),
        ("kimi-k2.5", "moonshotai/Kimi-K2.5-Instruct", True),
        ("kimi-k2", "Kimi-K2-Instruct-0905", True),
        ("kimi-k2", "kimi-k2-0905-preview", True),
        ("gemma-3", "google/gemma-3-it", True),
        ("gpt-4o", "gpt-4o-mini", False),
        ("kimi-k2.5", "Kimi-K2.5-Instruct-FP8", False),
        ("llama-3.3-70b", "Llama-3.3-70B-Instruct-Turbo", False),
        ("model", "model-instructed", False),
    ],
)
def test_what_counts_as_the_same_model(asked: str, served: str, same: bool) -> None:
    """The maker's prefix, dates and router suffixes do not matter, another size or generation does; both ways round."""
    assert same_model(asked, served) is same
    assert same_model(served, asked) is same


_SAID = (
    st.text(st.characters(max_codepoint=127), max_size=4)
    | st.text(max_size=3)
    | st.sampled_from(["\x7f", "\ud800", "é"])
)
_ANY = st.recursive(
    _SAID | st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False), st.lists, max_leaves=3
)
_MESSAGES = st.lists(st.dictionaries(_SAID, _SAID, max_size=4) | st.dictionaries(_SAID, _ANY, max_size=3), max_size=3)


@given(_MESSAGES)
def test_the_identity_of_a_sample_is_a_digest_of_canonical_json(messages: list[dict[str, Any]]) -> None:
    """As the standard library writes it, whatever the messages hold: ids join runs of all versions."""
    written = json.dumps([messages, [], None], sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    assert content_digest(Turn(tuple(messages))) == hashlib.sha256(written.encode()).hexdigest()[:16]
