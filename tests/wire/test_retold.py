"""What a later telling adds to an earlier one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.wire.openai_responses.reader import RepeatedText, ends_with


@given(st.lists(st.text(max_size=4), max_size=6), st.text(max_size=4))
def test_retold_adds_what_is_missing(pieces: list[str], more: str) -> None:
    """A retelling that goes on where the pieces stopped adds just its end; ends_with agrees with plain strings."""
    retold = RepeatedText()
    for piece in pieces:
        retold.add(piece)
    whole = "".join(pieces)
    assert retold.missing(whole + more) == more
    assert ends_with(pieces, more) == whole.endswith(more)
    if whole:
        other = "b" if whole[0] == "a" else "a"
        assert retold.missing(other + whole) is None
