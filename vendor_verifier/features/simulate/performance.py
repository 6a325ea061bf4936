"""The simulated vendors' personas, and their behaviour: spoilt calls, refusals, cuts, timing; no protocol, no clock.

Rates are shares of 0..1 of the questions (or calls, where stated) that show the trait.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from vendor_verifier.features.simulate.answer import (
    NOTHING_KNOWN,
    Answer,
    AnswerKey,
    Call,
    Known,
    chance,
    compose,
    finished,
    generator,
    limited,
    token,
    wants_call,
)
from vendor_verifier.features.simulate.question import Question
from vendor_verifier.wire.payload import as_dict, as_list


@dataclass(frozen=True, slots=True)
class Persona:
    """The traits of one simulated vendor; the defaults are those of an honest one.

    ``miss_rate``: calls not made; ``false_rate``: calls made where none was due; ``flip_rate``: decision reversed;
    ``break_rate``: of calls, arguments or name spoilt; ``leak_rate``: of calling answers, markup in text instead of
    calls; ``cut_rate``: answers cut off; ``burst_rate``: questions refused at first; ``refusal``: status given to
    everything. ``mind`` and ``served_model`` name the model that really answers, where it is not the one asked for.
    Times are drawn per question: first token within ``first_token_s``, then ``tokens_per_s``. ``room`` is how many
    requests in flight it serves like that; a request beyond is answered with the ``crowd`` traits: another miss rate, a
    refusal, or a first token later by ``crowd_wait_s`` for each request too many.
    """

    name: str
    description: str
    first_token_s: tuple[float, float] = (0.015, 0.030)
    tokens_per_s: float = 600.0
    miss_rate: float = 0.0
    false_rate: float = 0.0
    flip_rate: float = 0.0
    break_rate: float = 0.0
    leak_rate: float = 0.0
    cut_rate: float = 0.0
    burst_rate: float = 0.0
    refusal: int | None = None
    buffers: bool = False
    prompt_factor: float = 1.0
    prompt_extra: int = 0
    mind: str = ""
    served_model: str | None = None
    fingerprint: str | None = "fp_5a11e7c0de"
    answer_prefix: str = "chatcmpl-"
    call_prefix: str = "call_"
    room: int | None = None
    crowd_miss_rate: float | None = None
    crowd_refusal: int | None = None
    crowd_wait_s: float = 0.0

    def among(self, in_flight: int) -> Persona:
        """The persona for a request that is one of ``in_flight``, itself included."""
        if self.room is None or in_flight <= self.room:
            return self
        late_s = self.crowd_wait_s * (in_flight - self.room)
        return replace(
            self,
            miss_rate=self.miss_rate if self.crowd_miss_rate is None else self.crowd_miss_rate,
            refusal=self.crowd_refusal,
            first_token_s=(self.first_token_s[0] + late_s, self.first_token_s[1] + late_s),
        )


_ALL = (
    Persona("faithful", "serves the model it sells, quickly and in full"),
    Persona(
        "quantised",
        "misses about 12 % of the calls, makes a few that are not due, spoils about 8 % of them",
        tokens_per_s=650.0,
        miss_rate=0.12,
        false_rate=0.06,
        break_rate=0.08,
    ),
    Persona(
        "padded",
        "bills 35 % more prompt tokens than were sent, and 120 on top of each request",
        prompt_factor=1.35,
        prompt_extra=120,
    ),
    Persona("slow", "the right answers, late and slowly", first_token_s=(0.060, 0.090), tokens_per_s=250.0),
    Persona("bursty", "refuses a fifth of the requests at first: 429 with a retry hint, 503, 500", burst_rate=0.20),
    Persona("cutter", "cuts about 10 % of its answers off in the middle: ended early, closed or reset", cut_rate=0.10),
    Persona("buffering", "waits until all is generated, then sends the whole stream at once", buffers=True),
    Persona("text-leaker", "writes half of its tool calls into the text, as raw markup", leak_rate=0.5),
    Persona(
        "substitute",
        "answers with another model under another name: 15 % of the trigger decisions differ",
        first_token_s=(0.012, 0.022),
        tokens_per_s=750.0,
        flip_rate=0.15,
        mind="mini",
        served_model="simulated-mini-8b",
        fingerprint="fp_0ddba11b0b",
        answer_prefix="gen-",
        call_prefix="chatcmpl-tool-",
    ),
    Persona("down", "answers 500 to everything", refusal=500),
    Persona("locked", "answers 401 to everything: no key is good enough", refusal=401),
    Persona("crowded", "misses 60 % of the calls once more than 6 are in flight", room=6, crowd_miss_rate=0.6),
    Persona("queueing", "0.4 s later for each request beyond 6 in flight", room=6, crowd_wait_s=0.4),
    Persona("throttled", "answers 429 to every request beyond 6 in flight", room=6, crowd_refusal=429),
)

PERSONAS: Mapping[str, Persona] = {persona.name: persona for persona in _ALL}


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
    # Another model does not only decide otherwise, it also makes other calls.
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
