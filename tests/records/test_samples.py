"""The identity of samples."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.records.request import Turn
from vendor_verifier.records.sample import content_digest

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
