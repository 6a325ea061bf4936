"""Every title and sentence that people read, by name, from the ``*.toml`` files here.

It lies below scoring and audits, because their warnings and findings are made of it. What vendors and data sets wrote
is not changed. ``NAME_one`` is a text for ``n`` = 1, ``NAME_wide`` one for places with much room, ``NAME_narrow`` one
for those with little. ``{rows:row is|rows are}`` is a count with the words that follow it, for one and for others.
"""

from __future__ import annotations

import string
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

Room = Literal["usual", "wide", "narrow"]


class Texts:
    """All texts; ``wide`` for places with much room, ``narrow`` for those with little."""

    def __init__(self, room: Room = "usual") -> None:
        self.room = room
        self._texts = entries()

    def __call__(self, name: str, /, **values: object) -> str:
        """The text of that name with ``values`` filled in; plain text, not yet escaped.

        The parts of a tuple are joined with semicolons.
        """
        text = self._texts.get(f"{name}_one") if values.get("n") == 1 else None
        if text is None:
            text = self.known(name)
        if not values:
            return text
        shown = {
            key: self.joined(value, "semicolon") if isinstance(value, tuple) else value for key, value in values.items()
        }
        return _FORMATTER.vformat(text, (), shown)

    def known(self, name: str, otherwise: str | None = None) -> str:
        """The text of a name; ``otherwise`` for a name from elsewhere, such as a code for programs, that has none."""
        text = self._texts.get(f"{name}_{self.room}", self._texts.get(name, otherwise))
        if text is None:
            raise KeyError(name)
        return text

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
    """A sentence that knows by which name it was made, so that sentences can be put in order."""

    name: str

    def __new__(cls, text: str, name: str) -> Sentence:
        made = super().__new__(cls, text)
        made.name = name
        return made

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]  # of copies
        return str(self), self.name


def english(name: str, /, **values: object) -> Sentence:
    """The sentence of that name."""
    return Sentence(Texts()(name, **values), name)


@cache
def entries() -> Mapping[str, str]:
    """Name (with ``_one`` and such behind it) → text, of all files."""
    read: dict[str, str] = {}
    for file in sorted(Path(__file__).parent.glob("*.toml")):
        read |= tomllib.loads(file.read_text(encoding="utf-8"))
    return read
