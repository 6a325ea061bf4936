"""Removes secrets, and on request the texts of samples and answers, from everything that leaves the process."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import urllib.parse
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, AnyStr, TypeAlias, cast

from msgspec import structs

from vendor_verifier.records.record import Attempt, Failure, Record, Response, TurnRecord
from vendor_verifier.records.request import Turn
from vendor_verifier.records.sample import Sample
from vendor_verifier.records.score import CallVerdict, Score
from vendor_verifier.records.tool_use import ToolResult

# Identifiers made by machines: too short for a sentence, and needed by reports for grouping.
_MACHINE_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:/@+-]{0,79}")
_INLINE_REASONING = "<think>"
_MARK = "sha256:"
_KEPT_TAGS = (
    "category",
    "difficulty",
    "call_type",
    "bfcl_tasks",
    "bfcl_data",
    "bfcl_custom",
    "bfcl_inferred",
    "prompt",
)
# Details that hold a suite's own words, never the sample's or the vendor's.
_KEPT_DETAILS = frozenset({"category", "outcome", "error_type", "format", "check", "status", "resolved"})


def is_digest(text: str) -> bool:
    """Whether a text was replaced by :func:`digest_text`, which keeps its characters' number and not their bytes."""
    body = text.lstrip().removeprefix(_INLINE_REASONING)[: len(_MARK)]
    return bool(body) and _MARK.startswith(body)


def digest_text(text: str) -> str:
    """A text of the same length made of the digest of ``text``; white space alone stays."""
    if not text.strip():
        return text
    lead = _INLINE_REASONING if text.lstrip().startswith(_INLINE_REASONING) else ""
    digest = hashlib.sha256(text.encode("utf-8", errors="surrogatepass")).hexdigest()[:16]
    return f"{lead}{_MARK}{digest} ".ljust(len(text), ".")[: len(text)]


def redacted_record(record: Record, score: Score) -> Record:
    """The record without its texts, but with its score, which can no longer be computed from it."""
    turns = tuple(
        TurnRecord(
            tuple(map(_attempt, turn.attempts)),
            tuple(map(_note, turn.rewritten)),
            tuple(map(_tool_result, turn.tool_results)),
        )
        for turn in record.turns
    )
    return structs.replace(record, turns=turns, score=redacted_score(score))


def redacted_score(score: Score) -> Score:
    """The score with its verdicts and numbers, and with digests in place of words."""
    return structs.replace(
        score,
        calls=tuple(CallVerdict(digest_text(call.tool), call.verdict) for call in score.calls),
        details={key: value if _says_nothing(key, value) else _detail(value) for key, value in score.details.items()},
    )


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


def _attempt(attempt: Attempt) -> Attempt:
    response, failure = attempt.response, attempt.failure
    return structs.replace(
        attempt,
        response=None if response is None else _response(response),
        failure=None if failure is None else _failure(failure),
    )


def _tool_result(result: ToolResult) -> ToolResult:
    return structs.replace(result, name=digest_text(result.name), text=digest_text(result.text))


def _response(response: Response) -> Response:
    return structs.replace(
        response,
        text=digest_text(response.text),
        reasoning=digest_text(response.reasoning),
        tool_calls=tuple(
            structs.replace(
                call,
                name=digest_text(call.name),
                arguments=digest_text(call.arguments),
                id=None if call.id is None else digest_text(call.id),
            )
            for call in response.tool_calls
        ),
        finish_raw=_name(response.finish_raw),
        served_model=_name(response.served_model),
        served_provider=_name(response.served_provider),
        native_finish_reason=_name(response.native_finish_reason),
        fingerprint=_name(response.fingerprint),
        request_id=_name(response.request_id),
    )


def _failure(failure: Failure) -> Failure:
    return structs.replace(
        failure, message=redacted_words(failure.message), code=_name(failure.code), request_id=_name(failure.request_id)
    )


def _name(text: str | None) -> str | None:
    return text if text is None or _MACHINE_WORD.fullmatch(text) else _digest(text)


def _note(text: str) -> str:
    """A wire's note of a change with its kind kept and the rest, which may quote the sample, as a digest."""
    kind, colon, _ = text.partition(":")
    return f"{kind}:{_digest(text)}" if colon and _MACHINE_WORD.fullmatch(kind) else _digest(text)


def _role(message: Mapping[str, Any]) -> str:
    role = message.get("role")
    return role if role in ("system", "developer", "user", "assistant", "tool") else "other"


def _says_nothing(key: str, value: object) -> bool:
    """Whether a detail holds no text but a suite's own word."""
    is_word = isinstance(value, str) and key in _KEPT_DETAILS and _MACHINE_WORD.fullmatch(value) is not None
    return value is None or isinstance(value, (bool, int, float)) or is_word


def _detail(value: object) -> object:
    """A detail as a digest, a list as a list of as many, because readers treat lists differently."""
    return [_digest(item) for item in value] if isinstance(value, (list, tuple)) else _digest(value)


def _digest(value: object) -> str:
    """A short digest of any JSON-able value."""
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)
    return "sha256:" + hashlib.sha256(text.encode("utf-8", errors="surrogatepass")).hexdigest()[:16]


MASK = "[secret]"
_MIN_LENGTH = 6
_TAIL = 8
# The number of first characters that reveal a secret cut off behind them, as in capped messages.
_HEAD = 12
# A JSON escape such as \u000a.
_ESCAPE = 6
# (text to search for, the whole text of which it is the beginning or the end).
_Piece: TypeAlias = tuple[AnyStr, AnyStr]
# Bytes masked in one go, where a key may begin at every place.
_WINDOW = 2 * 1024


class Scrubber:
    """Replaces every known secret, and its usual disguises, by ``[secret]``.

    Disguises: URL-encoded (once or twice), escaped in JSON (once or twice, in any spelling) or in HTML, in hexadecimal,
    base64 alone or inside longer text (``user:secret``), each in any mixture of upper and lower case (of base64: of the
    secret as it is, all upper or all lower case). Of a secret of sixteen characters or more a piece is masked
    too, as far as it goes: from its beginning (a message that was cut) or to its end (vendors echo ``sk-…abcd1234``).
    Secrets shorter than six characters are too common to replace and are refused by the configuration instead.
    """

    __slots__ = ("_bytes", "_holds", "_texts")

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self.__setstate__(())
        self.add(*secrets)

    def add(self, *secrets: str) -> None:
        """Add further secrets, such as a key fetched during the run."""
        long_enough = [secret for secret in secrets if len(secret) >= _MIN_LENGTH]
        found = {(_folded(a), _folded(b)) for secret in long_enough for a, b in _pieces(secret)}
        self.__setstate__(tuple(sorted(found.union(self._texts))))

    def text(self, text: str) -> str:
        is_found = self._holds(text.encode(errors="surrogatepass").lower())
        return _masked(text, self._texts, MASK) if is_found else text

    def bytes(self, data: bytes) -> bytes:
        return _masked(data, self._bytes, MASK.encode()) if self._holds(data.lower()) else data

    def __getstate__(self) -> tuple[_Piece[str], ...]:
        return self._texts

    def __setstate__(self, texts: tuple[_Piece[str], ...]) -> None:
        self._texts = texts
        self._bytes = tuple((sought.encode(), whole.encode()) for sought, whole in texts)
        self._holds = _holding([sought for sought, _ in self._bytes])

    def __repr__(self) -> str:
        return f"Scrubber({len(self._texts)} patterns)"


def _holding(pieces: Sequence[bytes]) -> Callable[[bytes], object]:
    """A function that says whether any of ``pieces`` stands in some bytes.

    A key has a dozen pieces, and a record is searched for those of all keys. With the extra ``fast`` that is one pass,
    however many there are.
    """
    if pieces and find_spec("ahocorasick_rs") is not None:
        sought = import_module("ahocorasick_rs").BytesAhoCorasick(pieces)
        return cast(Callable[[bytes], object], sought.find_matches_as_indexes)
    return lambda content: any(map(content.__contains__, pieces))


def _pieces(secret: str) -> Iterator[_Piece[str]]:
    """The texts to search for to find a secret, each with the whole that it is a piece of."""
    # Characters that JSON escapes cannot be searched for in pieces of JSON; no key has them.
    is_long = len(secret) >= 2 * _TAIL and '"' not in secret and "\\" not in secret
    for whole in _disguises(secret):
        yield whole[:_HEAD] if is_long else whole, whole
    if is_long:
        tail = secret[-_TAIL:]
        yield tail, secret
        yield from ((spelling, spelling) for spelling in set(_spellings(tail)) - {tail})


def _disguises(secret: str) -> Iterator[str]:
    yield from _spellings(secret)
    # In base64 a change of case gives other characters altogether.
    for cased in dict.fromkeys((secret, secret.upper(), secret.lower())):
        yield cased.encode().hex()
        yield from _base64_disguises(cased.encode())


def _spellings(word: str) -> Iterator[str]:
    """The word as it is, and in the escapes of JSON, addresses and HTML."""
    yield word
    for ascii_only in (False, True):
        once = json.dumps(word, ensure_ascii=ascii_only)[1:-1]
        for escaped in (once, once.replace("/", "\\/")):
            yield escaped
            yield json.dumps(escaped, ensure_ascii=ascii_only)[1:-1]
    for form in ("\\u{:04x}", "\\u{:04X}", "&#{};", "&#x{:x};", "&#x{:X};"):
        # Programs differ in the characters that they escape: none of those common in keys, or only the rarest.
        for plain in ("-_.~", "-_.~/=:", "-_.~/"):
            yield "".join(one if one.isalnum() or one in plain else form.format(ord(one)) for one in word)
    yield html.escape(word)
    for quoted in (urllib.parse.quote(word), urllib.parse.quote(word, safe=""), urllib.parse.quote_plus(word)):
        for once in (quoted, _lower_hex(quoted)):
            yield once
            yield once.replace("%", "%25")


def _lower_hex(quoted: str) -> str:
    first, *rest = quoted.split("%")
    return "%".join([first, *(part[:2].lower() + part[2:] for part in rest)])


def _base64_disguises(secret: bytes) -> Iterator[str]:
    """The secret in base64 after 0, 1 or 2 other bytes, without the characters shared with neighbours."""
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        yield encode(secret).decode().rstrip("=")
        for before in range(3):
            whole = encode(bytes(before) + secret).decode()
            yield whole[-(-8 * before // 6) : 8 * (before + len(secret)) // 6]


def _masked(content: AnyStr, pieces: Sequence[_Piece[AnyStr]], mask: AnyStr) -> AnyStr:
    """``content`` with every stretch that any secret covers replaced once, also where secrets overlap.

    ``pieces`` are folded, and searched for in the content folded likewise, window by window.
    """
    folded = _folded(content)
    # A span may begin so far before the place where it was found.
    reach = max(len(whole) for _, whole in pieces)
    kept: list[AnyStr] = []
    kept_to = 0
    masked_to = -1
    spans: list[tuple[int, int]] = []
    for first in range(0, len(folded), _WINDOW):
        last = first + _WINDOW
        for sought, whole in pieces:
            for span in _spans(folded, sought, whole, first, last):
                spans.append(span)
        spans.sort()
        settled = bisect_left(spans, (last - reach,)) if last < len(folded) else len(spans)
        for start, end in spans[:settled]:
            if start > masked_to:
                kept += [content[kept_to:start], mask]
            kept_to = masked_to = max(masked_to, end)
        del spans[:settled]
    kept.append(content[kept_to:])
    return content[:0].join(kept)


def _folded(content: AnyStr) -> AnyStr:
    """The content with A to Z in lower case, place by place: no other letter of a key has a case that gets lost."""
    if isinstance(content, bytes) or content.isascii():
        return content.lower()
    return content.encode(errors="surrogatepass").lower().decode(errors="surrogatepass")


def _spans(content: AnyStr, sought: AnyStr, whole: AnyStr, first: int, last: int) -> Iterator[tuple[int, int]]:
    """The spans of ``sought``, the beginning or the end of ``whole``, each extended as far as ``whole`` matches.

    Only those found at a place from ``first`` on and before ``last``.

    The content may be JSON: no escape in it is cut in two.
    """
    is_beginning = whole.startswith(sought)
    to = last + len(sought) - 1
    at = content.find(sought, first, to)
    while at >= 0:
        start, end = at, at + len(sought)
        # A whole one is known at a glance, of which a vendor may send very many.
        if is_beginning and content.startswith(whole, at):
            end = at + len(whole)
        elif is_beginning:
            length = _common(content[at : at + len(whole)], whole)
            end = max(end, _escape(content, at + length)[0])
        elif content.endswith(whole, 0, end):
            start = end - len(whole)
        else:
            before = content[max(0, end - len(whole)) : end]
            start = end - _common(before[::-1], whole[::-1])
        yield _escape(content, start)[1], end
        at = content.find(sought, at + 1, to)


def _escape(content: AnyStr, place: int) -> tuple[int, int]:
    """Begin and end of the escape in which ``place`` lies; the place itself, twice, when it lies in none."""
    backslash, u = ("\\", "u") if isinstance(content, str) else (b"\\", b"u")
    begin = content.rfind(backslash, max(0, place - _ESCAPE + 1), place)
    if begin < 0:
        return place, place
    is_first = _ending(content, begin + 1, backslash) % 2 == 1
    length = _ESCAPE if content[begin + 1 : begin + 2] == u else 2
    return (begin, begin + length) if is_first and begin + length > place else (place, place)


def _ending(content: AnyStr, end: int, mark: AnyStr) -> int:
    """The number of ``mark`` in a row that end at ``end``; what stands far before them is not looked at."""
    looked_at = 8
    while True:
        last = content[max(0, end - looked_at) : end]
        count = len(last) - len(last.rstrip(mark))
        if count < len(last) or count == end:
            return count
        looked_at *= 8


def _common(one: AnyStr, other: AnyStr) -> int:
    """The length of the common beginning of two texts."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))
