"""The catalogue of the pages' words: every text in every language, filled in with the same values."""

from __future__ import annotations

import string

from vendor_verifier.reports.words import LANGUAGES, catalogue


def _fields(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def test_every_text_is_there_in_every_language() -> None:
    """No name is without a text in one of the languages, and no text is empty."""
    texts = catalogue()
    assert set(texts) == set(LANGUAGES)
    assert {name for lang in LANGUAGES for name in texts[lang]} == set.intersection(*(set(texts[e]) for e in LANGUAGES))
    assert all(text for lang in LANGUAGES for text in texts[lang].values())


def test_the_languages_fill_in_the_same_values() -> None:
    """A translation that leaves a value out would hide it from its readers; one that asks for another would fail."""
    texts = catalogue()
    assert {name: _fields(text) for name, text in texts["zh"].items()} == {
        name: _fields(text) for name, text in texts["en"].items()
    }
