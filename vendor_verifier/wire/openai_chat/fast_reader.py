"""Reads a whole chat-completions stream in one pass once it has ended; refuses anything out of the ordinary.

Theory of operation. Nearly all answers are chat-completions streams of hundreds of chunks that differ in a few
characters; read one by one they cost more than all else in a request. Reading is not urgent, since the bytes' moments
are stamped already: so the whole stream is read at once and gives the same events and moments as the general reader, at
a tenth of the cost.

Parsing is saved by envelopes. In a chunk that was parsed and holds ``"content":"X"`` once, everything before and after
X is its envelope, if there is no backslash in it. Another chunk in the same envelope with the inside of any JSON string
in X's place is the same JSON with another text (RFC 8259, section 7), so it need not be parsed to be known. Chunks of
one envelope mostly stand in a row, and a row's texts are checked by one regular expression and decoded by one call. The
same holds of reasoning, and of the arguments of a call whose id and name came before.

Correctness rests on refusal: comments, named events, carriage returns, unknown fields, errors, an unterminated end, a
character split over two chunks all raise, and the general reader reads the whole answer anew. So this module needs no
rule for departures, and the general one stays the only judge of them. Work is done in blocks of some 32 KiB, between
which the caller may pause: however long the answer, no step takes more than a millisecond or two.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate, takewhile
from operator import eq
from typing import TypeAlias

import msgspec

from vendor_verifier.records.event import ReasoningDelta, StreamEnd, StreamEvent, TextDelta, ToolCallDelta
from vendor_verifier.records.steps import Steps
from vendor_verifier.wire.assembler import MAX_CHARACTERS, Assembler
from vendor_verifier.wire.openai_chat.chat_chunk import ChatChunk, Names, events_of, identity_said, ordinary_chunk
from vendor_verifier.wire.sse import in_small_pieces

_START = b"data: "
_END = b"\n\n"
_BETWEEN = _END + _START
_DONE = b"[DONE]"
# Events looked at together, so that chunks of two kinds in turns are not all looked at for each of them.
_BLOCK = 64
# Read without a pause: a millisecond or two.
_BLOCK_BYTES = 32 * 1024
_LONG_EVENT = 2 * _BLOCK_BYTES
_Chunks: TypeAlias = list[tuple[int, bytes]]
# The inside of a JSON string, and of several with a line feed between two.
_INSIDE = re.compile(rb'[^"\\\x00-\x1f]*(?:\\.[^"\\\x00-\x1f]*)*')
# What follows its key, as writers put it: without a blank, or with one.
_VALUE = re.compile(rb': ?"(' + _INSIDE.pattern + rb')"')
_INSIDES = re.compile(rb'[^"\\\x00-\x1f]*(?:(?:\\.|\n)[^"\\\x00-\x1f]*)*')

# The keys that may hold the one text of a chunk.
_KEYS: Mapping[type[StreamEvent], Sequence[bytes]] = {
    TextDelta: (b'"content"',),
    ReasoningDelta: (b'"reasoning_content"', b'"reasoning"'),
    ToolCallDelta: (b'"arguments"',),
}

_strings = msgspec.json.Decoder(list[str]).decode


def read_chat_stream(chunks: Sequence[tuple[int, bytes]], assembler: Assembler) -> Steps[bool]:
    """Put the stream in ``chunks`` together in ``assembler``, which must be fresh; False: it is not an ordinary one.

    A step is a block of whole events. After False ``assembler`` is half filled and worth nothing.
    """
    if not chunks:
        return False
    folding = _Folding(assembler)
    try:
        for number, block in enumerate(_blocks(chunks)):
            if number:
                yield
            whole = block[0][1] if len(block) == 1 else b"".join([chunk for _, chunk in block])
            if not (whole.startswith(_START) and whole.endswith(_END)) or b"\r" in whole:
                return False
            if assembler.characters > MAX_CHARACTERS:
                return False
            events = whole.split(_BETWEEN)
            events[0] = events[0][len(_START) :]
            events[-1] = events[-1][: -len(_END)]
            folding.take(events, _moments(block, events))
    except _Unusual:
        return False
    return True


def _blocks(chunks: Sequence[tuple[int, bytes]]) -> Iterator[Sequence[tuple[int, bytes]]]:
    """The chunks in blocks of about ``_BLOCK_BYTES``, cut between two events; the rest comes last.

    Raises:
        _Unusual: an event is too long to be read at one go with others.
    """
    if sum([len(chunk) for _, chunk in chunks]) <= _BLOCK_BYTES:
        # Nearly every answer.
        yield chunks
        return
    held: _Chunks = []
    size, wanted = 0, _BLOCK_BYTES
    for at_ns, chunk in in_small_pieces(chunks):
        held.append((at_ns, chunk))
        size += len(chunk)
        if size >= wanted:
            cut = b"".join([chunk for _, chunk in held]).rfind(_BETWEEN) + len(_END)
            if cut >= len(_END):
                block, held = _parted(held, cut)
                size -= cut
                yield block
            elif size > _LONG_EVENT:
                raise _Unusual
            # A long event is not sought through again for each piece of it.
            wanted = max(_BLOCK_BYTES, 2 * size)
    if held:
        yield held


def _parted(chunks: _Chunks, cut: int) -> tuple[_Chunks, _Chunks]:
    """The first ``cut`` bytes of ``chunks``, and the rest."""
    for place, (at_ns, chunk) in enumerate(chunks):
        if len(chunk) >= cut:
            rest = [(at_ns, chunk[cut:])] if len(chunk) > cut else []
            return [*chunks[:place], (at_ns, chunk[:cut])], [*rest, *chunks[place + 1 :]]
        cut -= len(chunk)
    return chunks, []


def _moments(chunks: Sequence[tuple[int, bytes]], events: Sequence[bytes]) -> Sequence[int]:
    """The moment at which the last byte of each event arrived."""
    if len(chunks) == 1:
        return [chunks[0][0]] * len(events)
    arrived = list(accumulate(len(chunk) for _, chunk in chunks))
    ends = accumulate(len(event) + len(_BETWEEN) for event in events)
    return [chunks[bisect_left(arrived, end)][0] for end in ends]


class _Unusual(Exception):
    """Raised when the stream is not an ordinary one."""


class _Envelope:
    """The bytes around the text of chunks that carry nothing but text, and the event to make of a text."""

    __slots__ = ("after", "before", "event")

    def __init__(self, before: bytes, after: bytes, event: Callable[[str], StreamEvent]) -> None:
        self.before = before
        self.after = after
        self.event = event

    def is_around(self, data: bytes) -> bool:
        """Whether a chunk begins and ends so."""
        return data.startswith(self.before) and data.endswith(self.after)


class _Folding:
    """Adds a stream's events to an assembler, the texts of a row at once."""

    def __init__(self, assembler: Assembler) -> None:
        self._assembler = assembler
        self._known: Names = (None, None, None, None)

    def take(self, events: Sequence[bytes], moments: Sequence[int]) -> None:
        """Add the next events in their order, each with its moment.

        Raises:
            _Unusual: one of them is not ordinary.
        """
        place, count = 0, len(events)
        while place < count:
            envelope = self._event(events[place], moments[place])
            place += 1
            # Where every chunk counts its tokens no two stand in one envelope, and no row is sought.
            if envelope is not None and place < count and envelope.is_around(events[place]):
                place += self._row(events, place, moments, envelope)

    def _row(self, events: Sequence[bytes], place: int, moments: Sequence[int], envelope: _Envelope) -> int:
        """Take the events from ``place`` on that stand in ``envelope``; their number."""
        texts = _texts(events, place, envelope)
        if texts:
            decoded = _decoded(texts)
            joined = envelope.event("".join(decoded))
            self._assembler.add_row(joined, moments[place : place + len(texts)], list(map(len, decoded)))
        return len(texts)

    def _event(self, data: bytes, at_ns: int) -> _Envelope | None:
        """Take one event by itself; its envelope, if it is a text chunk that has one."""
        if data == _DONE:
            self._assembler.add(StreamEnd(), at_ns)
            return None
        chunk = None if b"\n" in data else ordinary_chunk(data)
        if chunk is None:
            raise _Unusual
        if chunk.names != self._known:
            self._identify(chunk.names, at_ns)
        found = events_of(chunk)
        for one in found:
            self._assembler.add(one, at_ns)
        is_single = len(found) == 1 == len(chunk.choices) and found[0].__class__ in _KEYS
        return _envelope(data, chunk, found[0]) if is_single else None

    def _identify(self, names: Names, at_ns: int) -> None:
        """Take who a chunk says is answering, unless it says nothing."""
        if any(names):
            self._known = names
            self._assembler.add(identity_said(names), at_ns)


def _texts(events: Sequence[bytes], place: int, envelope: _Envelope) -> list[bytes]:
    """The insides of JSON strings in ``envelope`` of the events from ``place`` on, up to the first that has another."""
    before, after = envelope.before, envelope.after
    begin, end, around = len(before), -len(after), after + before
    found: list[bytes] = []
    while True:
        some = events[place : place + _BLOCK]
        # The row's end is sought by halves, because mostly there is one. Were there another before it, it would show.
        alike = some[: bisect_left(some, True, key=lambda event: not event.startswith(before))]
        texts = [event[begin:end] for event in alike]
        # Of the same length, and the same bytes: so each of them ends as it should.
        if b"%b%b%b" % (before, around.join(texts), after) != b"".join(alike):
            again = [before + text + after for text in texts]
            texts = texts[: [*map(eq, again, alike), False].index(False)]
        found += texts
        if len(texts) < _BLOCK:
            break
        place += _BLOCK
    lines = b"\n".join(found)
    if lines.count(b"\n") < len(found) and _INSIDES.fullmatch(lines):
        return found
    return list(takewhile(_INSIDE.fullmatch, found))


def _decoded(texts: Sequence[bytes]) -> list[str]:
    """The texts that the insides of JSON strings spell.

    Raises:
        _Unusual: one of them is no text; a character split over two chunks is a host's fault that must be seen.
    """
    try:
        return _strings(b'["' + b'","'.join(texts) + b'"]')
    except (msgspec.MsgspecError, UnicodeError):
        raise _Unusual from None


def _envelope(data: bytes, chunk: ChatChunk, single: StreamEvent) -> _Envelope | None:
    """The envelope of a chunk that carries nothing but the one text of ``single``; None for any other."""
    event: Callable[[str], StreamEvent] = single.__class__
    if isinstance(single, ToolCallDelta):
        index = single.index
        if index is None or single.id is not None or single.name is not None or not single.arguments:
            return None
        event = partial(_more_arguments, index)
    delta = chunk.choices[0].delta
    if delta.reasoning and delta.reasoning_content:
        # Where one of them is empty the other is found.
        return None
    for name in _KEYS[single.__class__]:
        # Once and without escapes around it: so it is the key, and what follows is the text.
        before, key, rest = data.partition(name)
        value = _VALUE.match(rest)
        if not value or not value[1] or data.count(name) != 1 or b"\\" in before:
            continue
        begin, end = value.span(1)
        after = rest[end:]
        if b"\\" not in after:
            return _Envelope(before + key + rest[:begin], after, event)
    return None


def _more_arguments(index: int, arguments: str) -> ToolCallDelta:
    return ToolCallDelta(index, None, None, arguments)
