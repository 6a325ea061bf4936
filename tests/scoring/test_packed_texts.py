"""Texts in one run of bytes: the same as a list."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.scoring.packed_texts import PackedTexts

TEXTS = st.none() | st.text(st.characters(exclude_categories=()), max_size=4)


@given(st.lists(TEXTS, max_size=8), st.lists(st.tuples(st.integers(0, 7), TEXTS), max_size=4))
def test_texts_are_a_list(came: list[str | None], instead: list[tuple[int, str | None]]) -> None:
    """Whatever is appended and replaced comes back, lone surrogates too; an empty text is none."""
    texts, expected = PackedTexts(), list(came)
    for text in came:
        texts.append(text)
    for row, text in instead:
        if row < len(expected):
            texts.replace(row, text)
            expected[row] = text
    assert list(texts) == [text or None for text in expected]
    assert [texts[row] for row in range(len(texts))] == [text or None for text in expected]
