"""The behaviour of simulated vendors: spoilt calls, refusals, cuts, bills, timing; no protocol, no clock."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, Literal

import msgspec
from msgspec import structs

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
from vendor_verifier.features.simulate.draws import chance, generator, token
from vendor_verifier.features.simulate.personas import Persona
from vendor_verifier.features.simulate.question import Question, published, shortened
from vendor_verifier.features.simulate.sampling import NO_CHANCE, Sampling
from vendor_verifier.features.simulate.short_answer import is_for_one_token, with_drawn_token
from vendor_verifier.suites.bfcl.reference_calls import written_calls
from vendor_verifier.suites.bfcl.text_calls import Reading
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

# Short answers take as long as this many tokens: sent faster, a busy client could not tell them from buffered ones.
_MIN_PACED_TOKENS = 50
_MAX_REFUSALS = 2
_TOKENS_PER_PIECE = 4
_MIN_PIECES, _MAX_PIECES = 8, 25
# A retried first token comes at least so many times later.
_RETRIED_TIMES = 6
# Shares of the first refusals of a bursty vendor; the rest is 500 without a hint.
_RATE_LIMITED, _UNAVAILABLE = 0.6, 0.3
_REFUSALS = {
    401: ("invalid_api_key", "Incorrect API key provided."),
    429: ("rate_limit_exceeded", "Too many requests, please slow down."),
    500: ("internal_error", "The server had an error while processing your request."),
    503: ("overloaded", "The service is temporarily overloaded."),
}


class Refusal(msgspec.Struct, frozen=True):
    """An answer other than 200. ``retry_after_s`` is the hint, if one is given."""

    status: int
    code: str
    message: str
    retry_after_s: float | None = None
    parameter: str | None = None


class Performance(msgspec.Struct, frozen=True):
    """An answer with its timing and its faults.

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
    """A vendor's refusal with HTTP ``status``."""
    code, message = _REFUSALS[status]
    return Refusal(status, code, message, retry_after_s)


def first_refusals(question: Question, persona: Persona, seed: int) -> int:
    """The number of times in a row that this vendor refuses this question before it answers."""
    draw = chance(seed, question.digest, persona.name, "burst")
    if draw >= persona.burst_rate:
        return 0
    return _MAX_REFUSALS if draw < persona.burst_rate / 4 else 1


def perform(
    question: Question, persona: Persona, seed: int, *, refused: int, asked: int, key: AnswerKey = NOTHING_KNOWN
) -> Performance | Refusal:
    """The vendor's timed answer to a question, or its refusal.

    Args:
        question: what was asked.
        persona: who answers.
        seed: of the whole simulation.
        refused: how often it has refused this question since it last answered it.
        asked: how often it was asked this question at all: the answer's id and, above temperature 0, words follow it.
        key: what the model knows.
    """
    if persona.refusal is not None:
        return refusal_of(persona.refusal)
    if persona.logprobs == "refused" and question.turn.parameters.get("logprobs") is True:
        return Refusal(400, "unsupported_parameter", "logprobs is not supported.", parameter="logprobs")
    if refused < first_refusals(question, persona, seed):
        return _burst(question, persona, seed, refused)
    said = _said(question, persona, seed, asked, key)
    answer = _billed(said, question, persona)
    ending, kept = _ending(question, persona, seed)
    words = (seed, question.digest, persona.name, asked)
    piece_count = min(max(said.output_tokens // _TOKENS_PER_PIECE, _MIN_PIECES), _MAX_PIECES)
    first_token_s, decode_s = _times(question, persona, seed, said.output_tokens, asked, piece_count)
    return Performance(
        answer=answer,
        answer_id=persona.answer_prefix + token(24, *words, "id"),
        call_ids=tuple(persona.call_prefix + token(24, *words, "call", index) for index in range(len(answer.calls))),
        served_model=persona.served_model,
        fingerprint=persona.fingerprint,
        first_token_s=first_token_s,
        decode_s=decode_s,
        piece_count=piece_count,
        buffers=persona.buffers,
        ending=ending,
        kept=kept,
    )


def _times(
    question: Question, persona: Persona, seed: int, tokens: int, asked: int, piece_count: int
) -> tuple[float, float]:
    """Seconds until the first token, and from it to the last."""
    low, high = persona.first_token_s
    first_token_s = low + (high - low) * chance(seed, question.digest, persona.name, "first token")
    if chance(seed, question.digest, persona.name, asked, "retry") < persona.retry_rate:
        first_token_s *= _RETRIED_TIMES + 6 * chance(seed, question.digest, persona.name, asked, "retried")
    pace = 0.8 + 0.4 * chance(seed, question.digest, persona.name, "pace")
    if persona.piece_gap_s is None:
        return first_token_s, pace * max(tokens, _MIN_PACED_TOKENS) / persona.tokens_per_s
    shortest, longest = persona.piece_gap_s
    gap_s = shortest + (longest - shortest) * chance(seed, question.digest, persona.name, "gap")
    return first_token_s + pace * tokens / persona.tokens_per_s, gap_s * (piece_count - 1)


def persona_answer(
    question: Question, persona: Persona, seed: int, key: AnswerKey = NOTHING_KNOWN, asked: int = 1
) -> Answer:
    """The model's answer as this vendor gives it: decision bent, calls spoilt or leaked, limits and bill applied."""
    return _billed(_said(question, persona, seed, asked, key), question, persona)


def _billed(said: Answer, question: Question, persona: Persona) -> Answer:
    """The answer with the tokens that are billed for it and its question; never more than were allowed."""
    output_tokens = said.output_tokens
    if persona.output_factor != 1.0:
        billed = round(output_tokens * persona.output_factor)
        output_tokens = billed if question.max_tokens is None else min(billed, question.max_tokens)
    prompt_tokens = round(question.prompt_tokens * persona.prompt_factor) + persona.prompt_extra
    return structs.replace(said, prompt_tokens=prompt_tokens, output_tokens=output_tokens)


def _said(question: Question, persona: Persona, seed: int, asked: int, key: AnswerKey) -> Answer:
    """The answer before its bill, as to the part of the question that the vendor passes on."""
    if persona.prompt_room is not None:
        question = shortened(question, persona.prompt_room)
    if persona.is_honest_to_probes and is_for_one_token(question):
        persona = structs.replace(persona, mind="", flip_rate=0.0)
    if chance(seed, question.digest, persona.name, "mix") < persona.mix_rate:
        persona = persona.with_another_model()
    if persona.recognises and question.digest not in published():
        persona = persona.with_another_model()
    known = key.get(question.digest)
    if known is None and (known := key.get(question.digest_but_results)) is not None:
        question = structs.replace(question, digest=question.digest_but_results)
    answer = _model_answer(question, persona, seed, known, _sampling(question, persona, seed, asked, known))
    if persona.break_rate:
        calls = tuple(
            spoilt(question, call, seed, index)
            if chance(seed, question.digest, persona.name, "break", index) < persona.break_rate
            else call
            for index, call in enumerate(answer.calls)
        )
        answer = finished(question, answer.text, calls)
    if known is not None and known.in_text:
        answer = finished(question, _written(answer.calls, known.reading), ())
    if answer.calls and chance(seed, question.digest, persona.name, "leak") < persona.leak_rate:
        style = chance(seed, question.digest, persona.name, "leak style")
        answer = finished(question, answer.text + markup(answer.calls, sections=style < 0.5), ())
    turn = 1 if persona.caches else asked
    return with_drawn_token(question, limited(question, answer), persona, seed=seed, asked=turn)


def _sampling(question: Question, persona: Persona, seed: int, asked: int, known: Known | None) -> Sampling:
    """The chance in this answer; none where right calls are known, because a conversation is recognised by its text."""
    if known is not None and known.calls is not None:
        return NO_CHANCE
    turn = 1 if persona.caches else asked
    words = (seed, question.digest, persona.name, turn)
    return Sampling(question.temperature * persona.temperature_factor, words, persona.divergence)


def _model_answer(question: Question, persona: Persona, seed: int, known: Known | None, sampling: Sampling) -> Answer:
    """The known calls where the question is known and the vendor's model does not get it wrong; else made up."""
    calling = _decision(question, persona, seed, known)
    right = known.calls_for(question) if known is not None and calling else None
    # Another model does not only decide otherwise, it also makes other calls.
    if persona.mind and chance(seed, question.digest, persona.name, "recall") < persona.flip_rate:
        right = None
    if known is not None and known.in_text:
        return finished(question, "", right or ())
    answer = compose(question, seed, calling=calling, mind=persona.mind, sampling=sampling)
    return answer if right is None else finished(question, answer.text, right)


def _written(calls: tuple[Call, ...], reading: Reading | None) -> str:
    """Calls as the text answer that was asked for; spoilt arguments stay spoilt."""
    if reading is None:
        items = (f'{{"name": {json.dumps(call.name)}, "parameters": {call.arguments}}}' for call in calls)
        return f"[{', '.join(items)}]"
    try:
        return written_calls([(call.name, json.loads(call.arguments)) for call in calls], reading)
    except ValueError:
        return f"[{', '.join(f'{call.name}({call.arguments})' for call in calls)}"


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
