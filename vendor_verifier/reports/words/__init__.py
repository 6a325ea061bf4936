"""The texts of the HTML pages in English and Chinese, read from ``catalogue.toml`` when the first is asked for.

What vendors and data sets wrote is not translated.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Literal, get_args

from vendor_verifier.metrics import FIGURES, SPREADS

Language = Literal["en", "zh"]
LANGUAGES: tuple[str, ...] = get_args(Language)
HTML_LANG: Mapping[str, str] = {"en": "en", "zh": "zh-Hans"}


class Texts:
    """The catalogue of one language."""

    def __init__(self, language: Language) -> None:
        self.language = language
        self._texts = catalogue()[language]

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


@cache
def catalogue() -> Mapping[str, Mapping[str, str]]:
    """Language → name → text; the titles of metrics and ``speed_…`` are those of their definitions."""
    entries = tomllib.loads(files(__name__).joinpath("catalogue.toml").read_text(encoding="utf-8"))
    texts = {lang: {name: words[lang] for name, words in entries.items() if lang in words} for lang in LANGUAGES}
    for number, lang in enumerate(LANGUAGES):
        texts[lang] |= {f"speed_{metric.name}": metric.titles[number] for metric in SPREADS}
        texts[lang] |= {figure.name: figure.titles[number] for figure in FIGURES}
    return texts
