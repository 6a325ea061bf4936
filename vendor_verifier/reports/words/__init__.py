"""Every word the page says itself, in English and Chinese; texts of vendors and data sets are not translated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

from vendor_verifier.reports.words.en import ENGLISH
from vendor_verifier.reports.words.zh import CHINESE

Language = Literal["en", "zh"]
LANGUAGES: tuple[str, ...] = get_args(Language)
HTML_LANG: Mapping[str, str] = {"en": "en", "zh": "zh-Hans"}

_CATALOGUE: Mapping[Language, Mapping[str, str]] = {"en": ENGLISH, "zh": CHINESE}


class Texts:
    """The catalogue of one language."""

    def __init__(self, language: Language) -> None:
        self.language = language
        self._texts = _CATALOGUE[language]

    def __call__(self, name: str, /, **values: object) -> str:
        """The text of that name with ``values`` filled in; plain text, not yet escaped."""
        return self._texts[name].format(**values) if values else self._texts[name]

    def listed(self, names: list[str], most: int = 3) -> str:
        """``a, b and c``, or ``a, b, c and 4 more``."""
        if len(names) > most + 1:
            return self("list_more", names=self("comma").join(names[:most]), n=len(names) - most)
        if len(names) < 2:
            return "".join(names)
        return self("list_and", names=self("comma").join(names[:-1]), last=names[-1])
