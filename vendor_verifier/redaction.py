"""Removes secrets, and on request the texts of samples and answers, from everything that leaves the process."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import urllib.parse
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from os.path import commonprefix
from typing import Any, TypeVar, cast

from msgspec import Struct, msgpack, structs

from vendor_verifier.records.record import CallVerdict, Record, Score
from vendor_verifier.records.request import Turn
from vendor_verifier.records.sample import Sample

# Fields of a turn's record that hold only our own words, not a vendor's or a tool's.
_OURS = frozenset({"timing", "usage", "kind", "phase", "outcome", "finish_reason", "anomalies"})
Part = TypeVar("Part")


def _changed(part: Part, change: Callable[[str, str], str], field: str = "") -> Part:
    """A part of a record in which every text that is not ours is what ``change`` makes of its field and of it."""
    new: Any = part
    if isinstance(part, str):
        new = change(field, part)
    elif isinstance(part, tuple):
        new = tuple([_changed(each, change, field) for each in part])
    elif isinstance(part, Struct):
        fields = [name for name in part.__struct_fields__ if name not in _OURS]
        new = structs.replace(part, **{name: _changed(getattr(part, name), change, name) for name in fields})
    return cast(Part, new)


# Identifiers made by machines: too short for a sentence, and needed by reports for grouping.
_MACHINE_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:/@+-]{0,79}")
_INLINE_REASONING = "<think>"
_MARK = "sha256:"
_KEPT_TAGS = "category difficulty call_type bfcl_tasks bfcl_data bfcl_custom bfcl_inferred prompt".split()
# Details that hold a suite's own words, never the sample's or the vendor's.
_KEPT_DETAILS = frozenset({"category", "outcome", "error_type", "format", "check", "status", "resolved"})
# Their length counts: that of an answer as its tokens, and no two different ones may look the same.
_KEEP_LENGTH = frozenset({"text", "reasoning", "name", "arguments", "id"})


def is_digest(text: str) -> bool:
    """Whether a text was replaced by :func:`digest_text`, which keeps its number of characters, not of bytes."""
    body = text.lstrip().removeprefix(_INLINE_REASONING)[: len(_MARK)]
    return bool(body) and _MARK.startswith(body)


def digest_text(text: str) -> str:
    """A text of the same length made of the digest of ``text``; white space alone stays."""
    if not text.strip():
        return text
    lead = _INLINE_REASONING if text.lstrip().startswith(_INLINE_REASONING) else ""
    return f"{lead}{_digest(text)} ".ljust(len(text), ".")[: len(text)]


def redacted_record(record: Record, score: Score) -> Record:
    """The record without its texts, but with its score, which can no longer be computed from it."""
    calls = tuple(CallVerdict(digest_text(call.tool), call.verdict) for call in score.calls)
    details = {key: _detail(key, value) for key, value in score.details.items()}
    kept = structs.replace(score, calls=calls, details=details)
    return structs.replace(record, turns=_changed(record.turns, _redacted), score=kept)


def redacted_sample(sample: Sample) -> Sample:
    """The sample with its roles, tools and kept tags, texts as digests and without the expected answer."""
    names = [tool.get("function", {}).get("name") for tool in sample.turn.tools if isinstance(tool, Mapping)]
    turn = Turn(
        messages=tuple({"role": _role(message), "content": _digest(message)} for message in sample.turn.messages),
        tools=tuple({"type": "function", "function": {"name": digest_text(str(name))}} for name in names),
    )
    tags = {key: sample.tags[key] for key in _KEPT_TAGS if key in sample.tags}
    return structs.replace(sample, turn=turn, expected={}, tags=tags)


def redacted_words(words: str) -> str:
    """A sentence with its quotations of a sample or an answer as digests."""
    return f"(left out) {_digest(words)}"


def _redacted(field: str, text: str) -> str:
    """The text of a field of an answer, a failure or a tool's result."""
    if field in _KEEP_LENGTH:
        return digest_text(text)
    if field == "message":
        return redacted_words(text)
    if field == "rewritten":
        # A wire's note of a change: its kind says nothing, the rest may quote the sample.
        kind, colon, _ = text.partition(":")
        return f"{kind}:{_digest(text)}" if colon and _MACHINE_WORD.fullmatch(kind) else _digest(text)
    return text if _MACHINE_WORD.fullmatch(text) else _digest(text)


def _role(message: Mapping[str, Any]) -> str:
    role = message.get("role")
    return role if role in ("system", "developer", "user", "assistant", "tool") else "other"


def _detail(key: str, value: object) -> object:
    """A number or a suite's own word as it is, else a digest; of a list one for each item, as readers count them."""
    is_word = isinstance(value, str) and key in _KEPT_DETAILS and _MACHINE_WORD.fullmatch(value)
    if value is None or isinstance(value, (bool, int, float)) or is_word:
        return value
    return [_digest(item) for item in value] if isinstance(value, (list, tuple)) else _digest(value)


def _digest(value: object) -> str:
    """A short digest of any JSON-able value."""
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)
    return _MARK + hashlib.sha256(text.encode("utf-8", errors="surrogatepass")).hexdigest()[:16]


MASK = "[secret]"
LEAST_SECRET = 6
_TAIL = 8
# The number of first characters that reveal a secret cut off behind them, as in capped messages.
_HEAD = 12
# A text to search for, and the whole text that begins or ends with it.
_Piece = tuple[str, str]


class Scrubber:
    """Replaces every known secret, and its usual disguises, by ``[secret]`` in what vendors and tools sent.

    Disguises: URL-encoded (once or twice), escaped in JSON (once or twice, in any spelling) or in HTML, in hexadecimal,
    base64 alone or inside longer text (``user:secret``), each in any mixture of upper and lower case (of base64: of the
    secret as it is, all upper or all lower case). Of a secret of sixteen characters or more a piece is masked
    too, as far as it goes: from its beginning (a message that was cut) or to its end (vendors echo ``sk-…abcd1234``).
    Secrets shorter than ``LEAST_SECRET`` are too common to replace; the configuration warns of them.

    ``names`` are public (labels, vendors, models): what is a part of one is never masked, whatever the secrets are.
    """

    def __init__(self, secrets: Iterable[str] = (), names: Iterable[str] = ()) -> None:
        public = _folded("\n".join(names))
        found = {piece for secret in secrets if len(secret) >= LEAST_SECRET for piece in _pieces(secret, public)}
        self._pieces = sorted(found)
        self._holds = _holding([sought.encode() for sought, _ in self._pieces])

    def text(self, text: str) -> str:
        """The text without secrets; the same object where there are none."""
        is_found = self._holds(text.encode(errors="surrogatepass").lower())
        return _masked(text, self._pieces) if is_found else text

    def record(self, record: Record, tools: Sequence[Mapping[str, Any]] = ()) -> Record:
        """The record with every text of the vendor and of tools scrubbed; names of the sample's ``tools`` are public,
        too."""
        if not self._pieces:
            return record
        try:
            # It holds every text unescaped.
            said = msgpack.encode(record.turns).lower()
        except UnicodeEncodeError:
            said = None
        if said is not None and not self._holds(said):
            return record
        names = _folded("\n".join(str(tool.get("function", {}).get("name")) for tool in tools))
        pieces = [piece for piece in self._pieces if piece[0] not in names]
        return structs.replace(record, turns=_changed(record.turns, lambda _field, text: _masked(text, pieces)))

    def __repr__(self) -> str:
        return f"Scrubber({len(self._pieces)} patterns)"


def _holding(pieces: Sequence[bytes]) -> Callable[[bytes], object]:
    """A function that says whether any of ``pieces`` is in some bytes; with the extra ``fast`` in one pass.

    A key has a dozen pieces, and every record is searched for those of all keys.
    """
    if pieces and find_spec("ahocorasick_rs") is not None:
        sought = import_module("ahocorasick_rs").BytesAhoCorasick(pieces)
        return cast(Callable[[bytes], object], sought.find_matches_as_indexes)
    return lambda content: any(map(content.__contains__, pieces))


def _masked(text: str, pieces: Iterable[_Piece]) -> str:
    """``text`` with every stretch that any secret covers replaced once, also where secrets overlap.

    A piece found is extended as far as the whole that begins or ends with it.
    """
    folded, covered = _folded(text), bytearray(len(text))
    for sought, whole in pieces:
        at = folded.find(sought)
        while at >= 0:
            start, end = at, at + len(sought)
            if whole.startswith(sought):
                end = at + _common(folded[at : at + len(whole)], whole)
            else:
                start = end - _common(folded[max(0, end - len(whole)) : end][::-1], whole[::-1])
            covered[start:end] = b"\1" * (end - start)
            at = folded.find(sought, at + 1)
    kept: list[str] = []
    kept_to = 0
    for run in re.finditer(b"\1+", covered):
        kept += (text[kept_to : run.start()], MASK)
        kept_to = run.end()
    return "".join((*kept, text[kept_to:]))


def _common(one: str, other: str) -> int:
    """The length of the common beginning of two texts."""
    return len(commonprefix((one, other)))  # noqa: RUF071 they are no paths


def _folded(text: str) -> str:
    """The text with A to Z in lower case, place by place: no other letter of a key has a case that gets lost."""
    return text.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")


def _pieces(secret: str, names: str) -> Iterator[_Piece]:
    """The texts to search for to find a secret, folded, each with its whole; none is in ``names``."""
    is_long = len(secret) >= 2 * _TAIL
    wholes = [_folded(whole) for whole in _disguises(secret)]
    found = [(whole[:_HEAD] if is_long else whole, whole) for whole in wholes]
    # A beginning that is public does not hide the rest.
    found = [(whole, whole) if sought in names else (sought, whole) for sought, whole in found]
    if is_long:
        tail = secret[-_TAIL:]
        found += [
            (_folded(tail), _folded(secret)),
            *((_folded(each),) * 2 for each in _spellings(tail) if each != tail),
        ]
    return (piece for piece in found if piece[0] not in names)


def _disguises(secret: str) -> Iterator[str]:
    yield from _spellings(secret)
    # In base64 a change of case gives other characters altogether.
    for cased in (secret, secret.upper(), secret.lower()):
        yield cased.encode().hex()
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            # After 0, 1 or 2 other bytes, without the characters shared with neighbours.
            for before in range(3):
                whole = encode(bytes(before) + cased.encode()).decode()
                yield whole[-(-8 * before // 6) : 8 * (before + len(cased.encode())) // 6]


def _spellings(word: str) -> Iterator[str]:
    """The word as it is, and in the escapes of JSON, addresses and HTML."""
    yield word
    for ascii_only in (False, True):
        once = json.dumps(word, ensure_ascii=ascii_only)[1:-1]
        for escaped in (once, once.replace("/", "\\/")):
            yield escaped
            yield json.dumps(escaped, ensure_ascii=ascii_only)[1:-1]
    for form in ("\\u{:04x}", "&#{};", "&#x{:x};"):
        # Programs differ in the characters that they escape: none of those common in keys, or only the rarest.
        for plain in ("-_.~", "-_.~/=:", "-_.~/"):
            yield "".join(one if one.isalnum() or one in plain else form.format(ord(one)) for one in word)
    yield html.escape(word)
    for quoted in (urllib.parse.quote(word), urllib.parse.quote(word, safe=""), urllib.parse.quote_plus(word)):
        yield quoted
        yield quoted.replace("%", "%25")
