"""Reads a whole chat-completions stream in one pass once it has ended; it gives up on anything out of the ordinary.

What it hears is what the general reader hears, moments included, at a tenth of the cost: no event object a chunk, and a
text chunk that differs from the one before in nothing but its text is not even parsed again. Comments, named events,
carriage returns, unknown fields, errors, an unterminated end: all of these are refused, and the general reader has the
whole answer.

Theory of the envelope: in a chunk that was parsed and holds ``"content":"X"`` once and no backslash, everything before
and after X is its envelope. Another chunk in the same envelope with neither quotation mark, backslash nor control
character in X's place is the same JSON with another text (RFC 8259, section 7).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat

from vendor_verifier.values.event import Finish, Identity, StreamEnd, TextDelta
from vendor_verifier.wire.assemble import Assembler
from vendor_verifier.wire.chat_chunk import FINISH_REASONS, ChatChunk, deltas, ordinary_chunk, usage_of
from vendor_verifier.wire.sse import MAX_LINE_BYTES

_START = b"data: "
_BETWEEN = b"\n\n" + _START
_END = b"\n\n"
_DONE = b"[DONE]"
_PLAIN = re.compile(rb'[^"\\\x00-\x1f]*')
_KEY = b'"content":"'

_Envelope = tuple[bytes, bytes]


def read_chat_stream(chunks: Sequence[tuple[int, bytes]], assembler: Assembler) -> bool:
    """Put the stream in ``chunks`` together in ``assembler``, which must be fresh; False: it is not an ordinary one.

    After False ``assembler`` is half filled and worth nothing.
    """
    events = _events(chunks)
    if events is None:
        return False
    folding = _Folding(assembler)
    try:
        folding.take(events)
    except _Unusual:
        return False
    return True


class _Unusual(Exception):
    """Not an ordinary chunk."""


def _events(chunks: Sequence[tuple[int, bytes]]) -> Iterable[tuple[int, bytes]] | None:
    """The data of every event with its moment, or None if they are not all of one ``data`` line, ended by LF LF."""
    if not chunks:
        return None
    whole = chunks[0][1] if len(chunks) == 1 else b"".join([chunk for _, chunk in chunks])
    if not (whole.startswith(_START) and whole.endswith(_END)) or len(whole) > MAX_LINE_BYTES or b"\r" in whole:
        return None
    events = whole[len(_START) : -len(_END)].split(_BETWEEN)
    if whole.count(b"\n") != len(_END) * len(events):
        return None
    return zip(repeat(chunks[0][0]) if len(chunks) == 1 else _moments(chunks, events), events, strict=False)


def _moments(chunks: Sequence[tuple[int, bytes]], events: Sequence[bytes]) -> Iterator[int]:
    """When the last byte of each event arrived."""
    arriving = iter(chunks)
    at_ns = arrived = end = 0
    for event in events:
        end += len(_BETWEEN) + len(event)
        while arrived < end:
            at_ns, chunk = next(arriving)
            arrived += len(chunk)
        yield at_ns


class _Folding:
    """Adds events to an assembler; texts that arrived at one moment are added at once."""

    def __init__(self, assembler: Assembler) -> None:
        self._assembler = assembler
        self._known: tuple[str | None, ...] = (None, None, None, None)

    def take(self, events: Iterable[tuple[int, bytes]]) -> None:
        """Add all events in their order.

        Raises:
            _Unusual: one of them is not ordinary.
        """
        texts: list[bytes] = []
        texts_ns = start = end = 0
        before = after = b""
        for at_ns, data in events:
            if start and data.startswith(before) and data.endswith(after):
                stop = len(data) - end
                if stop >= start and _PLAIN.fullmatch(data, start, stop):
                    if at_ns != texts_ns:
                        self._add_texts(texts, texts_ns)
                        texts = []
                        texts_ns = at_ns
                    texts.append(data[start:stop])
                    continue
            self._add_texts(texts, texts_ns)
            texts = []
            known = self._known
            found = self._event(data, at_ns)
            if found is not None or known != self._known:
                # Chunks of another envelope may follow, and those of the old one may be news again.
                before, after = found or (b"", b"")
                start, end = len(before), len(after)
        self._add_texts(texts, texts_ns)

    def _add_texts(self, texts: Sequence[bytes], at_ns: int) -> None:
        if not texts:
            return
        joined, pieces = b"".join(texts), len(texts) - texts.count(b"")
        if joined.isascii():
            self._assembler.add_text(joined.decode(), at_ns, pieces)
            return
        # Whole only in sum, a character is a host's fault that must be seen: piece by piece.
        try:
            self._assembler.add_text("".join([text.decode() for text in texts]), at_ns, pieces)
        except UnicodeDecodeError:
            raise _Unusual from None

    def _event(self, data: bytes, at_ns: int) -> _Envelope | None:
        """Take one event apart; its envelope, if it is a text chunk that has one."""
        add = self._assembler.add
        if data == _DONE:
            add(StreamEnd(), at_ns)
            return None
        chunk = ordinary_chunk(data)
        if chunk is None:
            raise _Unusual
        told = chunk.identity
        if told != self._known and any(told):
            self._known = told
            add(Identity(*told), at_ns)
        choice = chunk.choice
        heard = [] if choice is None else deltas(choice)
        for one in heard:
            add(one, at_ns)
        if chunk.usage is not None:
            add(usage_of(chunk.usage), at_ns)
        raw = None if choice is None else choice.finish_reason
        if raw:
            add(Finish(FINISH_REASONS.get(raw.lower(), "unknown"), raw), at_ns)
            return None
        return _envelope(data, chunk, heard)


def _envelope(data: bytes, chunk: ChatChunk, heard: Sequence[object]) -> _Envelope | None:
    """What stands around the text of a chunk that brings nothing but text."""
    if len(heard) != 1 or len(chunk.choices) != 1 or chunk.usage is not None or b"\\" in data:
        return None
    if type(heard[0]) is not TextDelta or data.count(b'"content"') != 1:
        return None
    before, key, rest = data.partition(_KEY)
    text, quote, after = rest.partition(b'"')
    return (before + key, quote + after) if key and text.decode(errors="replace") == heard[0].text else None
