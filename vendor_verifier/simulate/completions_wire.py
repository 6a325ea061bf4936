"""A simulated vendor's side of raw completions: a prompt in, text out, calls as their family's markup; decides nothing.

The prompt is read back into the question it was rendered from (``plain_template``, and whatever is close enough to
it); a host of raw completions knows nothing of tool choice or formats.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from vendor_verifier.simulate.answer import pieces
from vendor_verifier.simulate.body import (
    answer_id,
    encoded,
    event,
    is_streamed,
    model_of,
    openai_error,
    openai_usage,
    request_object,
)
from vendor_verifier.simulate.performance import Performance, Refusal
from vendor_verifier.simulate.plain_template import read_prompt
from vendor_verifier.simulate.question import BadQuestion, question_of
from vendor_verifier.simulate.text_calls import written
from vendor_verifier.simulate.wire import Asked, Told
from vendor_verifier.values.event import TextDelta
from vendor_verifier.wire.payload import as_dict

_PARAMETERS = ("max_tokens", "temperature", "top_p", "stop", "n")
DEFAULT_MAX_TOKENS = 16


class SimulatedCompletions:
    """``POST …/v1/completions``."""

    name = "openai_completions"

    def serves(self, path: str) -> bool:
        return path == "/v1/completions"

    def read(self, body: bytes, target: str = "") -> Asked:  # noqa: ARG002 the body says it all
        request = request_object(body)
        model, stream = model_of(request), is_streamed(request)
        prompt = request.get("prompt")
        if not isinstance(prompt, str) or not prompt:
            raise BadQuestion("prompt must be a text", "prompt")
        turn, family = read_prompt(prompt)
        given = {key: request[key] for key in _PARAMETERS if request.get(key) is not None}
        question = question_of(replace(turn, parameters={"max_tokens": DEFAULT_MAX_TOKENS, **given}))
        include_usage = as_dict(request.get("stream_options")).get("include_usage") is True
        return Asked(question, model, stream, include_usage, request, style=family)

    def stream(self, asked: Asked, performance: Performance, created: int) -> Told:
        head = _head(asked, performance, created)
        spare = {"usage": None} if asked.include_usage else {}
        text = replace(performance.answer, text=written(performance.answer, asked.style), calls=())
        parts = [piece.text for piece in pieces(text, performance.piece_count, ()) if isinstance(piece, TextDelta)]
        closing = event({**head, "choices": [_choice("", _finish(performance))], **spare})
        if asked.include_usage:
            closing += event({**head, "choices": [], "usage": openai_usage(performance)})
        told = [event({**head, "choices": [_choice(part)], **spare}) for part in parts]
        return Told(opening=b"", pieces=told, closing=closing + b"data: [DONE]\n\n")

    def whole(self, asked: Asked, performance: Performance, created: int) -> bytes:
        choice = _choice(written(performance.answer, asked.style), _finish(performance))
        head = _head(asked, performance, created)
        return encoded({**head, "choices": [choice], "usage": openai_usage(performance)})

    def refusal(self, refusal: Refusal) -> tuple[int, bytes]:
        return refusal.status, openai_error(refusal)


def _head(asked: Asked, performance: Performance, created: int) -> dict[str, Any]:
    return {
        "id": answer_id(performance, "cmpl-"),
        "object": "text_completion",
        "created": created,
        "model": performance.served_model or asked.model,
        "system_fingerprint": performance.fingerprint,
    }


def _choice(text: str, finish: str | None = None) -> dict[str, Any]:
    return {"index": 0, "text": text, "logprobs": None, "finish_reason": finish}


def _finish(performance: Performance) -> str:
    """No parser looks at the text, so a call is a stop like any other."""
    return "length" if performance.answer.finish == "length" else "stop"
