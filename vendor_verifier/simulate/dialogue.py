"""What of a conversation every protocol carries, so that a question is the same question over each; it judges nothing.

Protocols join system texts and move them to the front, merge messages of one role, drop empty ones, make ids unique,
bring the results of parallel calls into another order, turn results into objects and narrow tool names. All of that
is levelled here: two requests that ask the same thing have the same digest, whatever protocol brought them. Tool
schemas stay out of it, because Gemini's subset changes them.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Literal

from vendor_verifier.values.request import Turn
from vendor_verifier.wire.notes import Notes
from vendor_verifier.wire.parts import Part, TextPart
from vendor_verifier.wire.payload import PayloadError, parse_json
from vendor_verifier.wire.translate import Said, read_messages

_STEM_LENGTH = 56
_IMAGE_SIZE = 1024
_PIECE_SIZE = 16

Kind = Literal["system", "user", "assistant", "call", "result", "image"]


@dataclass(frozen=True, slots=True)
class Piece:
    """One thing said, asked of a tool, or answered by it; white space is single blanks."""

    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A conversation, levelled; the system's words are in front."""

    pieces: tuple[Piece, ...]

    @property
    def last_user_text(self) -> str:
        """What the user said last, without interruption."""
        return next((piece.text for piece in reversed(self.pieces) if piece.kind == "user"), "")

    @property
    def after_tool_result(self) -> bool:
        """It ends with a tool's answer rather than the user's words."""
        return bool(self.pieces) and self.pieces[-1].kind == "result"

    @property
    def size(self) -> int:
        """Characters, images and the markers between messages included, as a tokeniser would see them."""
        sizes = (_IMAGE_SIZE if piece.kind == "image" else len(piece.text) for piece in self.pieces)
        return sum(sizes) + _PIECE_SIZE * len(self.pieces)

    def digest(self, tools: Iterable[str], choice: Sequence[object]) -> str:
        """16 hexadecimal digits for the conversation, the tools' names and the tool choice."""
        said = [(piece.kind, piece.text.replace(" ", "")) for piece in self.pieces]
        content = json.dumps([said, [name_stem(name) for name in tools], list(choice)], separators=(",", ":"))
        return hashlib.sha256(content.encode()).hexdigest()[:16]


def dialogue_of(turn: Turn) -> Dialogue:
    """The levelled conversation of a turn."""
    history = read_messages(turn.messages, Notes())
    system = [Piece("system", said.text) for said in history if said.role == "system"]
    talk = (piece for said in history if said.role != "system" for piece in _pieces(said))
    return Dialogue(tuple(_levelled([*system, *talk])))


def name_stem(name: str) -> str:
    """What every protocol's alphabet and length leave of a tool's name, without the number that keeps two apart."""
    narrowed = re.sub(r"^[^a-zA-Z_]|[^a-zA-Z0-9]", "_", name)[:_STEM_LENGTH]
    return re.sub(r"(_\d*)+$", "", narrowed)


def _pieces(said: Said) -> Iterator[Piece]:
    if said.role == "tool":
        yield Piece("result", _result(" ".join(part.text for part in said.parts if isinstance(part, TextPart))))
        yield from (_piece("user", part) for part in said.parts if not isinstance(part, TextPart))
        return
    yield from (_piece("assistant" if said.role == "assistant" else "user", part) for part in said.parts)
    for call in said.calls:
        yield Piece("call", f"{name_stem(call.name)} {_canonical(call.arguments or '{}')}")


def _piece(kind: Kind, part: Part) -> Piece:
    return Piece(kind, part.text) if isinstance(part, TextPart) else Piece("image", part.data or part.url or "")


def _levelled(pieces: Iterable[Piece]) -> Iterator[Piece]:
    tidy = (Piece(piece.kind, " ".join(piece.text.split())) for piece in pieces)
    for kind, run in groupby((piece for piece in tidy if piece.text), key=lambda piece: piece.kind):
        texts = [piece.text for piece in run]
        if kind == "result":
            texts.sort()
        if kind in ("system", "user", "assistant"):
            texts = [" ".join(texts)]
        yield from (Piece(kind, text) for text in texts)


def _result(text: str) -> str:
    """A tool's result; Gemini wraps what is not an object in one."""
    value = _parsed(text)
    if isinstance(value, Mapping) and list(value) == ["output"] and isinstance(value["output"], str):
        return _result(value["output"])
    return _canonical(text) or "(nothing)"


def _canonical(text: str) -> str:
    """JSON objects with their keys in order, everything else as it is."""
    value = _parsed(text)
    return json.dumps(value, sort_keys=True) if isinstance(value, dict) else text


def _parsed(text: str) -> Any:
    try:
        return parse_json(text)
    except PayloadError:
        return None
