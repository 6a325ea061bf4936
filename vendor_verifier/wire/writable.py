"""Makes an answer fit to be written down: no lone surrogates, no endless words. It changes nothing else.

JSON can spell half a surrogate pair, UTF-8 cannot write it, and one such answer must not stop a run. Halves that a
stream split over two pieces are joined again; single ones become U+FFFD.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from vendor_verifier.values.event import ToolCall
from vendor_verifier.values.record import Response
from vendor_verifier.wire.payload import is_well_formed, well_formed, well_formed_in_steps
from vendor_verifier.wire.steps import Steps

MAX_WORD = 500
_TEXTS = ("text", "reasoning")
_WORDS = ("finish_raw", "served_model", "served_provider", "native_finish_reason", "fingerprint", "request_id")


def writable_in_steps(response: Response) -> Steps[Response]:
    """The same answer with every text fit for UTF-8 and every identifying word at most ``MAX_WORD`` characters."""
    if _is_plain(response):
        return response
    changes: dict[str, Any] = {}
    for name in _TEXTS:
        changes[name] = yield from well_formed_in_steps(getattr(response, name))
    changes |= {name: well_formed(word[:MAX_WORD]) for name in _WORDS if (word := getattr(response, name))}
    calls: list[ToolCall] = []
    for call in response.tool_calls:
        calls.append((yield from _writable_call(call)))
    return replace(response, **changes, tool_calls=tuple(calls))


def _is_plain(response: Response) -> bool:
    """Nearly every answer: no half characters and no long word, so that there is nothing to change."""
    calls = [text for call in response.tool_calls for text in (call.name, call.arguments, call.id) if text]
    words = [word for name in _WORDS if (word := getattr(response, name))]
    return (
        all(is_well_formed(text) for text in (response.text, response.reasoning, *words, *calls))
        and max(map(len, words), default=0) <= MAX_WORD
        and all(call.id is None or len(call.id) <= MAX_WORD for call in response.tool_calls)
    )


def replacements(response: Response) -> int:
    """How many replacement characters (U+FFFD) the answer holds."""
    texts = [getattr(response, name) or "" for name in (*_TEXTS, *_WORDS)]
    texts += [text for call in response.tool_calls for text in (call.name, call.arguments, call.id or "")]
    return sum(text.count("\ufffd") for text in texts)


def _writable_call(call: ToolCall) -> Steps[ToolCall]:
    name = yield from well_formed_in_steps(call.name)
    arguments = yield from well_formed_in_steps(call.arguments)
    return replace(
        call,
        name=name,
        arguments=arguments,
        id=None if call.id is None else well_formed(call.id[:MAX_WORD]),
    )
