"""Makes an answer fit to be written down: no lone surrogates, no endless words. It changes nothing else.

JSON can spell half a surrogate pair, UTF-8 cannot write it, and one such answer must not stop a run. Halves that a
stream split over two pieces are joined again; single ones become U+FFFD.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from vendor_verifier.values.event import ToolCall
from vendor_verifier.values.record import Response
from vendor_verifier.wire.payload import well_formed

MAX_WORD = 500
_TEXTS = ("text", "reasoning")
_WORDS = ("finish_raw", "served_model", "served_provider", "native_finish_reason", "fingerprint", "request_id")


def writable(response: Response) -> Response:
    """The same answer with every text fit for UTF-8 and every identifying word at most ``MAX_WORD`` characters."""
    if _is_plain(response):
        return response
    changes: dict[str, Any] = {name: well_formed(getattr(response, name)) for name in _TEXTS}
    changes |= {name: well_formed(word[:MAX_WORD]) for name in _WORDS if (word := getattr(response, name))}
    return replace(response, **changes, tool_calls=tuple(map(_writable_call, response.tool_calls)))


def _is_plain(response: Response) -> bool:
    """Nearly every answer: no half characters and no long word, so that there is nothing to change."""
    calls = [text for call in response.tool_calls for text in (call.name, call.arguments, call.id) if text]
    words = [word for name in _WORDS if (word := getattr(response, name))]
    return (
        all(text.isascii() or well_formed(text) is text for text in (response.text, response.reasoning, *words, *calls))
        and max(map(len, words), default=0) <= MAX_WORD
        and all(call.id is None or len(call.id) <= MAX_WORD for call in response.tool_calls)
    )


def replacements(response: Response) -> int:
    """How many replacement characters (U+FFFD) the answer holds."""
    texts = [getattr(response, name) or "" for name in (*_TEXTS, *_WORDS)]
    texts += [text for call in response.tool_calls for text in (call.name, call.arguments, call.id or "")]
    return sum(text.count("\ufffd") for text in texts)


def _writable_call(call: ToolCall) -> ToolCall:
    return replace(
        call,
        name=well_formed(call.name),
        arguments=well_formed(call.arguments),
        id=None if call.id is None else well_formed(call.id[:MAX_WORD]),
    )
