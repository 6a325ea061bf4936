"""Every title and sentence that people read, by name, in every language beside each other in the ``*.toml`` files here.

It lies below scoring and audits, because what they warn of and what they find is said with it. What vendors and data
sets wrote is not translated. A language is one entry of ``HTML_LANG`` and its texts in the files; what it lacks is said
in English. ``<language>_one`` is a text for ``n`` = 1, ``_wide`` one for places with room, ``_narrow`` one for others.
``{rows:row is|rows are}`` is a count with the words that follow it, for one and for others.
"""

from __future__ import annotations

import os
import re
import string
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib.util import cache_from_source
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec

HTML_LANG: Mapping[str, str] = {
    "en": "en",
    "zh": "zh-Hans",
}
LANGUAGES = tuple(HTML_LANG)
# No warning of ours is longer; a stranger's text may be a megabyte, which is not searched.
_LONGEST = 2_000
Room = Literal["usual", "wide", "narrow"]
if TYPE_CHECKING:
    Language: TypeAlias = str
else:
    Language = Literal[LANGUAGES]


class Texts:
    """The texts of one language; ``wide`` for places with much room, ``narrow`` for those with little."""

    def __init__(self, language: Language, room: Room = "usual") -> None:
        self.language = language
        self.room = room
        self._texts = texts_of(language, room)

    def __call__(self, name: str, /, **values: object) -> str:
        """The text of that name with ``values`` filled in; plain text, not yet escaped."""
        text = self._texts.get(f"{name}_one") if values.get("n") == 1 else None
        text = self._texts[name] if text is None else text
        if not values:
            return text
        return _FORMATTER.vformat(text, (), {key: self.said(value) for key, value in values.items()})

    def known(self, name: str, otherwise: str) -> str:
        """The text of a name that comes from elsewhere, such as a code for programs; else ``otherwise``."""
        return self._texts.get(name, otherwise)

    def listed(self, names: Sequence[str], most: int = 3) -> str:
        """``a, b and c``, or ``a, b, c and 4 more``."""
        if len(names) > most + 1:
            return self("list_more", names=self("comma").join(names[:most]), n=len(names) - most)
        if len(names) < 2:
            return "".join(names)
        return self("list_and", names=self("comma").join(names[:-1]), last=names[-1])

    def joined(self, parts: Iterable[str | None], by: str = "comma") -> str:
        """The parts that there are, with commas (or ``semicolon``) between."""
        return self(by).join(part for part in parts if part)

    def said(self, value: Any) -> Any:
        """A sentence of :func:`english` in this language, also one that was stored since; anything else as it is.

        Of several in a tuple each is said, with semicolons between.
        """
        if isinstance(value, tuple):
            return self.joined(map(self.said, value), "semicolon")
        if isinstance(value, str) and not isinstance(value, Sentence) and self.language != "en":
            value = recognised(value)
        return self(value.name, **value.values) if isinstance(value, Sentence) else value


def counted(count: object, one: str, others: str | None = None) -> str:
    """``1 request`` or ``7 requests``; ``others`` is ``one`` with an s unless it is given."""
    return f"{count} {one if str(count) == '1' else others or f'{one}s'}"


class _Counting(string.Formatter):
    """Formats ``{count:request|requests}`` as ``1 request`` or ``7 requests``; all else as usual."""

    def format_field(self, value: Any, format_spec: str) -> Any:
        one, divider, others = format_spec.partition("|")
        if not divider:
            return super().format_field(value, format_spec)
        return counted(value, one, others)


_FORMATTER = _Counting()


class Sentence(str):
    """An English sentence that knows its name and values, so that it can be said in another language too."""

    name: str
    values: Mapping[str, object]

    def __new__(cls, text: str, name: str, values: Mapping[str, object]) -> Sentence:
        made = super().__new__(cls, text)
        made.name, made.values = name, values
        return made

    def __getnewargs__(self) -> tuple[str, str, Mapping[str, object]]:  # type: ignore[override]  # of copies
        return str(self), self.name, self.values


def english(name: str, /, **values: object) -> Sentence:
    """The English sentence of that name, which a report in another language says in its own."""
    return Sentence(Texts("en")(name, **values), name, values)


class _Kept(msgspec.Struct):
    """All texts as they were read of files with these names, sizes and times."""

    stamp: list[tuple[str, int, int]]
    entries: dict[str, dict[str, str]]


@cache
def entries() -> Mapping[str, Mapping[str, str]]:
    """Name → language (with ``_one`` and such behind it) → text, of all files.

    What is read is kept where Python keeps compiled modules, if it may keep any, for as long as no file changes.
    """
    sources = sorted(Path(__file__).parent.glob("*.toml"))
    stamp = [(file.name, about.st_size, about.st_mtime_ns) for file in sources for about in (file.stat(),)]
    kept = Path(cache_from_source(str(Path(__file__).with_name("entries.py")))).with_suffix(".json")
    # It may be absent, or cut off.
    with suppress(OSError, msgspec.MsgspecError):
        found = msgspec.json.decode(kept.read_bytes(), type=_Kept)
        if found.stamp == stamp:
            return found.entries
    import tomllib

    read: dict[str, dict[str, str]] = {}
    for file in sources:
        read |= tomllib.loads(file.read_text(encoding="utf-8"))
    if not sys.dont_write_bytecode:
        with suppress(OSError):
            draft = kept.with_suffix(f".{os.getpid()}")
            draft.write_bytes(msgspec.json.encode(_Kept(stamp, read)))
            draft.replace(kept)
    return read


@cache
def texts_of(language: Language, room: Room = "usual") -> Mapping[str, str]:
    """Name → text of one language; English where it has none."""
    texts: dict[str, str] = {}
    for name, words in entries().items():
        own = language if language in words else "en"
        texts[name] = words.get(f"{own}_{room}", words[own])
        if f"{own}_one" in words:
            texts[f"{name}_one"] = words[f"{own}_one"]
    return texts


def recognised(text: str) -> str:
    """The warning that a text is, by its English words; the text itself where it is none of ours."""
    if len(text) > _LONGEST:
        return text
    for name, pattern in _patterns().items():
        if (found := pattern.fullmatch(text)) is not None:
            return Sentence(text, name, {key: recognised(value) for key, value in found.groupdict().items()})
    return text


@cache
def _patterns() -> Mapping[str, re.Pattern[str]]:
    """Name → how a text made of it looks, of what is stored as text: warnings and what stands in them."""
    return {
        name: re.compile(_pattern(words["en"]), re.DOTALL)
        for name, words in entries().items()
        if name.startswith(("warn_", "advice_", "cure_", "ended_", "reason_"))
    }


def _pattern(template: str) -> str:
    made, named = "", set()
    for literal, field, counted, _ in string.Formatter().parse(template):
        made += re.escape(literal)
        if field is not None:
            made += f"(?P={field})" if field in named else f"(?P<{field}>.+?)"
            made += f" (?:{'|'.join(map(re.escape, counted.split('|')))})" if counted else ""
            named.add(field)
    return made
