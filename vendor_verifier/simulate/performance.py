"""A persona's way with an answer: what is spoilt, refused or cut, and when it is said; no protocol, no clock."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Literal

from vendor_verifier.simulate.answer import Answer, Call, compose, finished, limited, wants_call
from vendor_verifier.simulate.answer_key import NOTHING_KNOWN, AnswerKey, Known
from vendor_verifier.simulate.dice import chance, token
from vendor_verifier.simulate.faults import markup, spoilt
from vendor_verifier.simulate.personas import Persona
from vendor_verifier.simulate.question import Question

Ending = Literal["complete", "early_end", "closed", "reset"]

# Short answers take as long as this many tokens: told faster, a busy listener could not tell them from buffered ones.
_MIN_PACED_TOKENS = 50
_MAX_REFUSALS = 2
_TOKENS_PER_PIECE = 4
_MIN_PIECES, _MAX_PIECES = 8, 25
# Shares of the first refusals of a bursty vendor; the rest is 500 without a hint.
_RATE_LIMITED, _UNAVAILABLE = 0.6, 0.3
_REFUSALS = {
    401: ("invalid_api_key", "Incorrect API key provided."),
    429: ("rate_limit_exceeded", "Too many requests, please slow down."),
    500: ("internal_error", "The server had an error while processing your request."),
    503: ("overloaded", "The service is temporarily overloaded."),
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer other than 200. ``retry_after_s`` is the hint, if one is given."""

    status: int
    code: str
    message: str
    retry_after_s: float | None = None
    parameter: str | None = None


@dataclass(frozen=True, slots=True)
class Performance:
    """An answer with the circumstances of its giving.

    ``piece_count`` is about how many deltas it is streamed in; with ``ending`` other than complete, ``kept`` is the
    share of what would have been sent that still is. ``first_token_s`` and ``decode_s`` are at normal speed.
    """

    answer: Answer
    answer_id: str
    call_ids: tuple[str, ...]
    served_model: str | None
    fingerprint: str | None
    first_token_s: float
    decode_s: float
    piece_count: int
    buffers: bool = False
    ending: Ending = "complete"
    kept: float = 1.0


def refusal_of(status: int, retry_after_s: float | None = None) -> Refusal:
    """The refusal a vendor words for ``status``."""
    code, message = _REFUSALS[status]
    return Refusal(status, code, message, retry_after_s)


def first_refusals(question: Question, persona: Persona, seed: int) -> int:
    """How many times in a row this vendor refuses this question before it answers."""
    draw = chance(seed, question.digest, persona.name, "burst")
    if draw >= persona.burst_rate:
        return 0
    return _MAX_REFUSALS if draw < persona.burst_rate / 4 else 1


def perform(
    question: Question, persona: Persona, seed: int, *, refused: int, asked: int, key: AnswerKey = NOTHING_KNOWN
) -> Performance | Refusal:
    """What the vendor does with a question.

    Args:
        question: what was asked.
        persona: who answers.
        seed: of the whole simulation.
        refused: how often it has refused this question since it last answered it.
        asked: how often it was asked this question at all, which only makes the answer's id unique.
        key: what the model knows.
    """
    if persona.refusal is not None:
        return refusal_of(persona.refusal)
    if refused < first_refusals(question, persona, seed):
        return _burst(question, persona, seed, refused)
    answer = persona_answer(question, persona, seed, key)
    low, high = persona.first_token_s
    pace = 0.8 + 0.4 * chance(seed, question.digest, persona.name, "pace")
    ending, kept = _ending(question, persona, seed)
    words = (seed, question.digest, persona.name, asked)
    return Performance(
        answer=answer,
        answer_id=persona.answer_prefix + token(24, *words, "id"),
        call_ids=tuple(persona.call_prefix + token(24, *words, "call", index) for index in range(len(answer.calls))),
        served_model=persona.served_model,
        fingerprint=persona.fingerprint,
        first_token_s=low + (high - low) * chance(seed, question.digest, persona.name, "first token"),
        decode_s=pace * max(answer.output_tokens, _MIN_PACED_TOKENS) / persona.tokens_per_s,
        piece_count=min(max(answer.output_tokens // _TOKENS_PER_PIECE, _MIN_PIECES), _MAX_PIECES),
        buffers=persona.buffers,
        ending=ending,
        kept=kept,
    )


def persona_answer(question: Question, persona: Persona, seed: int, key: AnswerKey = NOTHING_KNOWN) -> Answer:
    """The model's answer as this vendor gives it: decision bent, calls spoilt or leaked, limits and bill applied."""
    known = key.get(question.digest)
    answer = _model_answer(question, persona, seed, known)
    if persona.break_rate:
        calls = tuple(
            spoilt(question, call, seed, index)
            if chance(seed, question.digest, persona.name, "break", index) < persona.break_rate
            else call
            for index, call in enumerate(answer.calls)
        )
        answer = finished(question, answer.text, calls)
    if known is not None and known.in_text:
        answer = finished(question, _written(answer.calls), ())
    if answer.calls and chance(seed, question.digest, persona.name, "leak") < persona.leak_rate:
        style = chance(seed, question.digest, persona.name, "leak style")
        answer = finished(question, answer.text + markup(answer.calls, sections=style < 0.5), ())
    answer = limited(question, answer)
    prompt_tokens = round(answer.prompt_tokens * persona.prompt_factor) + persona.prompt_extra
    return replace(answer, prompt_tokens=prompt_tokens)


def _model_answer(question: Question, persona: Persona, seed: int, known: Known | None) -> Answer:
    """The known calls where the question is known and the vendor's model does not get it wrong; else made up."""
    calling = _decision(question, persona, seed, known)
    right = known.calls_for(question) if known is not None and calling else None
    # Another model does not only decide otherwise: it also has other calls in mind.
    if persona.mind and chance(seed, question.digest, persona.name, "recall") < persona.flip_rate:
        right = None
    if known is not None and known.in_text:
        return finished(question, "", right or ())
    answer = compose(question, seed, calling=calling, mind=persona.mind)
    return answer if right is None else finished(question, answer.text, right)


def _written(calls: tuple[Call, ...]) -> str:
    """Calls as the text answer that was asked for; spoilt arguments stay spoilt."""
    items = (f'{{"name": {json.dumps(call.name)}, "parameters": {call.arguments}}}' for call in calls)
    return f"[{', '.join(items)}]"


def _decision(question: Question, persona: Persona, seed: int, known: Known | None) -> bool:
    calling = wants_call(question, seed)
    in_text = known is not None and known.in_text
    if question.choice != "auto" or not (question.tools or in_text):
        return calling
    if known is not None:
        calling = known.calling
    wrong_rate = persona.flip_rate or (persona.miss_rate if calling else persona.false_rate)
    return calling != (chance(seed, question.digest, persona.name, "decision") < wrong_rate)


def _burst(question: Question, persona: Persona, seed: int, refused: int) -> Refusal:
    draw = chance(seed, question.digest, persona.name, "refusal", refused)
    hint = 0.05 + 0.15 * chance(seed, question.digest, persona.name, "hint", refused)
    if draw < _RATE_LIMITED:
        return refusal_of(429, hint)
    return refusal_of(503, hint) if draw < _RATE_LIMITED + _UNAVAILABLE else refusal_of(500)


def _ending(question: Question, persona: Persona, seed: int) -> tuple[Ending, float]:
    if chance(seed, question.digest, persona.name, "cut") >= persona.cut_rate:
        return "complete", 1.0
    draw = chance(seed, question.digest, persona.name, "cut how")
    ending: Ending = "early_end" if draw < 0.5 else "closed" if draw < 0.75 else "reset"
    return ending, 0.4 + 0.4 * chance(seed, question.digest, persona.name, "cut where")
