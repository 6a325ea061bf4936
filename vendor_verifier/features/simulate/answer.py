"""The answers of the simulated model: a pure function of seed, question and the key of known right answers.

The trigger decision is drawn from the question's digest: a call in ``CALL_RATE`` of the questions that end with the
user and in ``CALL_AGAIN_RATE`` of those that end with a tool result, unless ``tool_choice`` says otherwise. Arguments
come out of the called tool's own schema.

A question is recognised by its digest, so the key holds over every protocol. Tools are kept by their place in the
question, because protocols narrow names. A question that is not in the key is answered by chance and schema. Every draw
is a function of the words it is named by, never of what was drawn before.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal

import msgspec
from msgspec import structs

from vendor_verifier.features.simulate.draws import chance, generator
from vendor_verifier.features.simulate.question import CHARACTERS_PER_TOKEN, Question
from vendor_verifier.features.simulate.sampling import NO_CHANCE, Sampling
from vendor_verifier.features.simulate.schema_values import satisfying_value
from vendor_verifier.suites.bfcl.text_calls import Reading
from vendor_verifier.values.event import TextDelta, ToolCallDelta
from vendor_verifier.wire.payload import as_dict, as_list

CALL_RATE = 0.75
CALL_AGAIN_RATE = 0.2
TWO_CALLS_RATE = 0.18
REMARK_RATE = 0.2
MAX_WORDS = 40
_OPENINGS = ("Here is what I found about", "In short, about", "Happy to help with", "A few thoughts on", "As for")
_MIDDLES = ("it depends mostly on", "the main point is", "you could start with", "the usual answer involves")
_CLOSINGS = ("Tell me if you need more detail.", "Shall I go on?", "I can look further if that helps.")
_REMARKS = ("Let me check that.", "One moment, I'll look it up.", "I'll take care of it.")
_FALLBACK_WORDS = ("report", "north", "blue", "seven", "garden", "monday", "summary", "harbour")

Piece = TextDelta | ToolCallDelta


class Call(msgspec.Struct, frozen=True):
    """One tool call; ``arguments`` is JSON text."""

    name: str
    arguments: str


class Answer(msgspec.Struct, frozen=True):
    """A whole answer in no protocol. Tokens are estimates: four characters each.

    ``stopped_by`` is the ``stop`` text that ended it. ``logprobs`` are those of the tokens that could have come first,
    the likeliest first, where they are known.
    """

    text: str
    calls: tuple[Call, ...]
    finish: Literal["tool_calls", "stop", "length"]
    prompt_tokens: int
    output_tokens: int
    stopped_by: str | None = None
    logprobs: tuple[tuple[str, float], ...] = ()


def wants_call(question: Question, seed: int) -> bool:
    """The trigger decision of the model that the vendors claim to sell."""
    if not question.tools or question.choice == "none":
        return False
    if question.choice != "auto":
        return True
    rate = CALL_AGAIN_RATE if question.after_tool_result else CALL_RATE
    return chance(seed, question.digest, "trigger") < rate


def compose(question: Question, seed: int, *, calling: bool, mind: str = "", sampling: Sampling = NO_CHANCE) -> Answer:
    """The answer once it is decided whether tools are called.

    Args:
        question: what was asked.
        seed: of the whole simulation.
        calling: make tool calls (the question has tools), or answer in text.
        mind: another model's name makes other arguments and another wording out of the same seed.
        sampling: the chance in it.
    """
    dice = generator(seed, question.digest, "words", mind)
    words = _words(question)
    if not calling:
        text = _text(question, dice, words)
        is_free = "response_format" not in question.turn.parameters
        return finished(question, sampling.varied(text, (*words, *_FALLBACK_WORDS)) if is_free else text, ())
    remark = dice.choice(_REMARKS) if dice.random() < REMARK_RATE else ""
    return finished(question, remark, _calls(question, dice, words, (seed, mind), sampling))


def finished(question: Question, text: str, calls: tuple[Call, ...]) -> Answer:
    """Text and calls as an answer with its finish and token counts, before any limit."""
    tokens = _tokens(text) + sum(_tokens(call.name) + _tokens(call.arguments) for call in calls)
    return Answer(text, calls, "tool_calls" if calls else "stop", question.prompt_tokens, max(tokens, 1))


def limited(question: Question, answer: Answer) -> Answer:
    """The answer within ``stop`` and ``max_tokens``: cut in the middle of its text, finish ``length``."""
    stop = question.turn.parameters.get("stop")
    for mark in [stop] if isinstance(stop, str) else as_list(stop):
        if isinstance(mark, str) and mark and mark in answer.text:
            answer = structs.replace(finished(question, answer.text.partition(mark)[0], ()), stopped_by=mark)
    budget = question.max_tokens
    if budget is None or answer.output_tokens <= budget:
        return answer
    room = budget * CHARACTERS_PER_TOKEN
    text = answer.text[:room]
    room -= len(text)
    calls: list[Call] = []
    for call in answer.calls:
        if room < len(call.name):
            break
        calls.append(Call(call.name, call.arguments[: room - len(call.name)]))
        room -= len(call.name) + len(calls[-1].arguments)
    return structs.replace(
        answer, text=text, calls=tuple(calls), finish="length", output_tokens=budget, stopped_by=None
    )


def pieces(answer: Answer, count: int, call_ids: Sequence[str]) -> list[Piece]:
    """The answer as about ``count`` deltas: text first, then each call's name followed by its arguments."""
    size = len(answer.text) + sum(len(call.arguments) for call in answer.calls)
    step = max(1, -(-size // max(count - len(answer.calls), 1)))
    found: list[Piece] = [TextDelta(part) for part in _split(answer.text, step)]
    for index, call in enumerate(answer.calls):
        found.append(ToolCallDelta(index, call_ids[index], call.name, ""))
        found += [ToolCallDelta(index, None, None, part) for part in _split(call.arguments, step)]
    return found


def _split(text: str, step: int) -> list[str]:
    return [text[start : start + step] for start in range(0, len(text), step)]


def _tokens(text: str) -> int:
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def _words(question: Question) -> list[str]:
    """Words of the user's last message, so that arguments look as if they came from it."""
    found = [word.strip(".,;:!?\"'()[]") for word in question.last_user_text[:2000].split()]
    return [word for word in found if 1 < len(word) <= 24 and word.isprintable()][:MAX_WORDS] or list(_FALLBACK_WORDS)


def _calls(
    question: Question, dice: random.Random, words: list[str], model: tuple[int, str], sampling: Sampling
) -> tuple[Call, ...]:
    allowed, tools = question.allowed_tools, question.tools
    several = dice.random() < TWO_CALLS_RATE and question.parallel and question.choice != "named"
    chosen = [dice.choice(range(len(allowed))) for _ in range(2)][: 2 if several else 1]
    calls = []
    seed, mind = model
    for index, place in enumerate(chosen):
        # Each call has a generator of its own, so that a schema which changes one call leaves the others the same.
        own = generator(seed, question.digest, "arguments", index, mind, *sampling.way(index))
        calls.append(Call(allowed[place], arguments_for(tools[allowed[place]], own, words)))
    return tuple(calls)


def arguments_for(schema: Any, dice: random.Random, words: Sequence[str]) -> str:
    """Arguments as JSON text, valid against the tool's ``parameters`` where they can be met; always an object."""
    rules = {"type": "object", **schema} if isinstance(schema, dict) else {}
    value = satisfying_value(rules, dice, words) if rules else {}
    return json.dumps(as_dict(value), ensure_ascii=False)


def _text(question: Question, dice: random.Random, words: list[str]) -> str:
    form = as_dict(question.turn.parameters.get("response_format"))
    if form.get("type") == "json_schema":
        value = satisfying_value(as_dict(form.get("json_schema")).get("schema"), dice, words)
        return json.dumps(value, ensure_ascii=False)
    if form.get("type") == "json_object":
        return json.dumps({"answer": " ".join(dice.choice(words) for _ in range(6))}, ensure_ascii=False)
    sentences = [f"{dice.choice(_OPENINGS)} {_phrase(dice, words)}: {dice.choice(_MIDDLES)} {_phrase(dice, words)}."]
    for _ in range(dice.randint(0, 3)):
        sentences.append(f"{dice.choice(_MIDDLES).capitalize()} {_phrase(dice, words)}.")
    return " ".join([*sentences, dice.choice(_CLOSINGS)])


def _phrase(dice: random.Random, words: list[str]) -> str:
    return " ".join(dice.choice(words) for _ in range(dice.randint(2, 5)))


class Known(msgspec.Struct, frozen=True):
    """The right answer to one question.

    ``calls`` are (place of the tool in the question, call), or None where it is only known whether to call. With
    ``in_text`` no tools were declared and the calls are to be written: as a JSON array, or in the form of ``reading``.
    """

    calling: bool
    calls: tuple[tuple[int, Call], ...] | None = None
    in_text: bool = False
    reading: Reading | None = None

    def calls_for(self, question: Question) -> tuple[Call, ...] | None:
        """The calls under the names this question's tools go by, as many as it allows."""
        if self.calls is None or not self.calling:
            return None
        if self.in_text:
            return tuple(call for _, call in self.calls)
        names = list(question.tools)
        made = tuple(Call(names[place], call.arguments) for place, call in self.calls)
        return made if question.parallel else made[:1]


AnswerKey = Mapping[str, Known]
NOTHING_KNOWN: AnswerKey = MappingProxyType({})
