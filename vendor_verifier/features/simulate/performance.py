"""How a persona answers: tool calls spoilt, refusals, cuts and timing of pieces; no protocol, no clock."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

from vendor_verifier.features.simulate.answer import (
    NOTHING_KNOWN,
    Answer,
    AnswerKey,
    Call,
    Known,
    compose,
    finished,
    limited,
    wants_call,
)
from vendor_verifier.features.simulate.chance import chance, generator, token
from vendor_verifier.features.simulate.personas import Persona
from vendor_verifier.features.simulate.question import Question
from vendor_verifier.wire.payload import as_dict, as_list

_WRONG_VALUES: dict[str, Any] = {
    "string": {"unexpected": True},
    "integer": "many",
    "number": "many",
    "boolean": "maybe",
    "array": "one, two",
    "object": "none",
}


def spoilt(question: Question, call: Call, seed: int, index: int) -> Call:
    """The call with one fault that a validator must notice: wrong type, missing key, invalid JSON or unknown tool."""
    dice = generator(seed, question.digest, "spoil", index)
    faults: list[Callable[[Question, Call], Call | None]] = [_wrong_type, _without_required, _invalid_json, _unknown]
    dice.shuffle(faults)
    return next(found for fault in faults if (found := fault(question, call)) is not None)


def markup(calls: Iterable[Call], *, sections: bool) -> str:
    """Calls as a server with the wrong parser leaks them: section markers, or one ``<tool_call>`` element each."""
    if not sections:
        return "".join(
            f'\n<tool_call>\n{{"name": {json.dumps(call.name)}, "arguments": {call.arguments}}}\n</tool_call>'
            for call in calls
        )
    inner = "".join(
        f"<|tool_call_begin|>functions.{call.name}:{index}<|tool_call_argument_begin|>{call.arguments}<|tool_call_end|>"
        for index, call in enumerate(calls)
    )
    return f"<|tool_calls_section_begin|>{inner}<|tool_calls_section_end|>"


def _wrong_type(question: Question, call: Call) -> Call | None:
    properties = as_dict(as_dict(question.tools.get(call.name)).get("properties"))
    arguments = json.loads(call.arguments)
    for key in arguments:
        kind = as_dict(properties.get(key)).get("type")
        if isinstance(kind, str) and kind in _WRONG_VALUES:
            return Call(call.name, json.dumps({**arguments, key: _WRONG_VALUES[kind]}, ensure_ascii=False))
    return None


def _without_required(question: Question, call: Call) -> Call | None:
    arguments = json.loads(call.arguments)
    required = [key for key in as_list(as_dict(question.tools.get(call.name)).get("required")) if isinstance(key, str)]
    present = [key for key in required if key in arguments]
    if not present:
        return None
    del arguments[present[-1]]
    return Call(call.name, json.dumps(arguments, ensure_ascii=False))


def _invalid_json(question: Question, call: Call) -> Call:  # noqa: ARG001 the faults share one shape
    return Call(call.name, call.arguments[:-1])


def _unknown(question: Question, call: Call) -> Call | None:
    name = f"{call.name}_v2"
    return None if name in question.tools else Call(name, call.arguments)


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
