"""The tools that rows declare: a data set repeats a few sets of them thousands of times, each is read and checked once.

Theory of operation. A line is cut into the texts of its values. The tools' text is looked up among those that were read
before; only the rest is read and checked anew. What is not plainly in order is left to the reader of whole lines, which
says what is wrong: a property test holds both against each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from vendor_verifier.records.bounded_cache import BoundedCache
from vendor_verifier.records.sample import MOST_TOOLS_BYTES
from vendor_verifier.wire.payload import may_be_deep, parse_json

_KEY = b'"tools"'
_texts_of_line = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_NULL = msgspec.Raw(b"null")
_decode = msgspec.json.Decoder().decode
Usable = tuple[tuple[Mapping[str, Any], ...], tuple[str, ...]]


class DeclaredTools(list[Any]):
    """The tools of all rows that declare them in the same words; they must not be changed.

    ``quotes`` are the quotation marks around texts in them (:func:`quotes_in`); ``usable`` are those that can be sent
    and what is wrong with any, kept here once it is known.
    """

    def __init__(self, tools: Sequence[Any], quotes: int) -> None:
        super().__init__(tools)
        self.quotes = quotes
        self.usable: Usable | None = None


class QuickRows:
    """Reads lines that declare tools."""

    def __init__(self) -> None:
        self._known: BoundedCache[bytes, DeclaredTools] = BoundedCache(MOST_TOOLS_BYTES)

    def read(self, line: bytes) -> dict[str, Any] | None:
        """The object on a line; None where it declares no tools or anything in it may be wrong."""
        if _KEY not in line:
            return None
        try:
            fields: dict[str, Any] = _texts_of_line(line)
            tools = self._tools(bytes(fields["tools"])) if "tools" in fields else None
            if tools is None:
                return None
            fields["tools"] = _NULL
            for key, text in fields.items():
                fields[key] = _decode(text)
            written = msgspec.json.encode(fields)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return None
        # Where a key occurs twice in an object, fewer texts were read than written.
        if quotes_in(line) != quotes_in(written) + tools.quotes or may_be_deep(written):
            return None
        fields["tools"] = tools
        return fields

    def _tools(self, text: bytes) -> DeclaredTools | None:
        """The tools that a text declares; None where they are no array or may be wrong.

        Raises:
            PayloadError: not JSON.
            UnicodeEncodeError: half a character.
        """
        known = self._known.get(text)
        if known is None:
            # With the object around them, because it is a level of the depth that is read.
            tools = parse_json(b'{"tools":' + text + b"}")["tools"]
            quotes = quotes_in(text)
            if not isinstance(tools, list) or quotes != quotes_in(msgspec.json.encode(tools)):
                return None
            known = DeclaredTools(tools, quotes)
            self._known.keep(text, known, len(text))
        return known


def quotes_in(written: bytes) -> int:
    """Twice the number of keys and texts in JSON."""
    if b"\\" in written:
        written = written.replace(b"\\\\", b"").replace(b'\\"', b"")
    return written.count(b'"')
