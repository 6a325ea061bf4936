"""Replaces what was asked and answered by digests, for runs on private questions; it keeps every number and verdict.

A text becomes one of the same length that begins with the first sixteen hex digits of its SHA-256: equal texts stay
recognisable as equal, and figures that count characters stay what they are. A digest of a text that can be guessed can
be confirmed by whoever guesses it; it is no encryption. What stays readable: sample ids (digests already), category and
difficulty, the vendor's names for model, provider and request, finish reasons, failure kinds, and all numbers.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from vendor_verifier.values.record import Attempt, Failure, Record, Response, TurnRecord
from vendor_verifier.values.request import Turn
from vendor_verifier.values.sample import Sample
from vendor_verifier.values.score import CallVerdict, Score

# What a machine calls something: nobody's sentence fits in, and reports group by it.
_MACHINE_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:/@+-]{0,79}")
_INLINE_REASONING = "<think>"
_KEPT_TAGS = ("category", "difficulty", "bfcl_tasks")
# Details in which a suite writes words of its own, never the sample's or the vendor's.
_KEPT_DETAILS = frozenset({"category", "outcome", "error_type", "check", "status", "resolved"})


def digest_text(text: str) -> str:
    """A text of the same length made of the digest of ``text``; white space alone stays."""
    if not text.strip():
        return text
    lead = _INLINE_REASONING if text.lstrip().startswith(_INLINE_REASONING) else ""
    digest = hashlib.sha256(text.encode("utf-8", errors="surrogatepass")).hexdigest()[:16]
    return f"{lead}sha256:{digest} ".ljust(len(text), ".")[: len(text)]


def redacted_record(record: Record, score: Score) -> Record:
    """The record without its texts, and with its score, which can no longer be found out from it."""
    turns = tuple(
        TurnRecord(tuple(map(_attempt, turn.attempts)), tuple(map(_note, turn.rewritten))) for turn in record.turns
    )
    return replace(record, turns=turns, score=redacted_score(score))


def redacted_score(score: Score) -> Score:
    """Verdicts and numbers as they are, words about them as digests."""
    return replace(
        score,
        calls=tuple(CallVerdict(digest_text(call.tool), call.verdict) for call in score.calls),
        details={key: value if _says_nothing(key, value) else _detail(value) for key, value in score.details.items()},
    )


def redacted_sample(sample: Sample) -> Sample:
    """Who spoke in which order, which tools there were and what is expected, as digests."""
    names = [tool.get("function", {}).get("name") for tool in sample.turn.tools if isinstance(tool, Mapping)]
    turn = Turn(
        messages=tuple({"role": _role(message), "content": _digest(message)} for message in sample.turn.messages),
        tools=tuple({"type": "function", "function": {"name": digest_text(str(name))}} for name in names),
    )
    tags = {key: sample.tags[key] for key in _KEPT_TAGS if key in sample.tags}
    return replace(sample, turn=turn, expected={}, tags=tags)


def redacted_words(words: str) -> str:
    """A sentence that may quote a sample or an answer."""
    return f"(left out) {_digest(words)}"


def _attempt(attempt: Attempt) -> Attempt:
    response, failure = attempt.response, attempt.failure
    return replace(
        attempt,
        response=None if response is None else _response(response),
        failure=None if failure is None else _failure(failure),
    )


def _response(response: Response) -> Response:
    return replace(
        response,
        text=digest_text(response.text),
        reasoning=digest_text(response.reasoning),
        tool_calls=tuple(
            replace(
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
    return replace(
        failure, message=redacted_words(failure.message), code=_name(failure.code), request_id=_name(failure.request_id)
    )


def _name(text: str | None) -> str | None:
    return text if text is None or _MACHINE_WORD.fullmatch(text) else _digest(text)


def _note(text: str) -> str:
    """What a wire put in other words: the kind of change stays, what it was about may be the sample's."""
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
    """A list stays one of as many digests: readers tell a list of sentences from a single one."""
    return [_digest(item) for item in value] if isinstance(value, (list, tuple)) else _digest(value)


def _digest(value: object) -> str:
    """A short digest of any JSON-able value."""
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)
    return "sha256:" + hashlib.sha256(text.encode("utf-8", errors="surrogatepass")).hexdigest()[:16]
