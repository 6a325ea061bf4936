"""The answers of the simulated model: a function of seed, question and persona, without a clock."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vendor_verifier.features.simulate.answer_key import AnswerKey, RightCalls, digest
from vendor_verifier.features.simulate.personas import Persona
from vendor_verifier.features.simulate.schema_values import value_for

_WORDS = "report north blue seven garden monday summary harbour".split()
_CHARACTERS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Question:
    """A request body with the number of times that it was asked; ``digest`` stands for all of the conversation."""

    body: Mapping[str, Any]
    seed: int
    digest: str
    asked: int = 1

    @property
    def tools(self) -> dict[str, Any]:
        """Parameters schema by tool name."""
        functions = [tool["function"] for tool in self.body.get("tools") or ()]
        return {function["name"]: function.get("parameters") or {} for function in functions}

    def chance(self, *words: object) -> float:
        """A number in [0, 1), the same for the same question and words."""
        return self.dice(*words).random()

    def dice(self, *words: object) -> random.Random:
        """A generator seeded by the question and the words."""
        named = "\x1f".join(map(str, (self.seed, self.digest, *words)))
        return random.Random(hashlib.blake2b(named.encode("utf-8", "replace")).digest())  # noqa: S311 no cryptography


@dataclass(frozen=True, slots=True)
class Answer:
    """Text and calls (name, arguments as JSON text), the finish reason, and the tokens said and billed."""

    text: str
    calls: list[tuple[str, str]]
    finish: str
    prompt_tokens: int
    output_tokens: int


def problem_of(body: Any) -> str | None:
    """The reason to refuse a request with 400, or None."""
    try:
        choice, names = body.get("tool_choice"), [tool["function"]["name"] for tool in body.get("tools") or ()]
        if not body["messages"] or not all(message["role"] for message in body["messages"]):
            return "messages is empty"
        if isinstance(choice, dict) and choice["function"]["name"] not in names:
            return "tool_choice names a tool that was not given"
        if min(body.get(key) or 1 for key in ("max_tokens", "max_completion_tokens", "n")) < 1 or body.get("n") == 0:
            return "max_tokens and n must be above 0"
        if not 0 <= (body.get("temperature") or 0) <= 2:
            return "temperature must be a number from 0 to 2"
    except (AttributeError, KeyError, TypeError):
        return "the body is no chat completion request"
    return None


def answer_to(question: Question, persona: Persona, key: AnswerKey) -> Answer:
    """The answer of the model as this vendor gives it."""
    body, tools = question.body, question.tools
    known = key.get(digest(body["messages"], body.get("tools") or ()))
    text, calls = "", _calls(question, persona, known)
    if calls and not tools:
        # The question lists the tools in its text and asks for calls there.
        text = json.dumps([{"name": name, "parameters": arguments} for name, arguments in calls], ensure_ascii=False)
        calls = []
    elif not calls:
        text = _text(question, persona.mind)
    written = [_dumped(question, index, call, persona.break_rate) for index, call in enumerate(calls)]
    if written and question.chance("leak") < persona.leak_rate:
        text = "\n".join(
            f'<tool_call>\n{{"name": "{name}", "arguments": {arguments}}}\n</tool_call>' for name, arguments in written
        )
        written = []
    return _limited(body, text, written, persona)


def _calls(question: Question, persona: Persona, known: bool | RightCalls | None) -> RightCalls:
    """The calls that the vendor's model makes; those of the key unless it decides otherwise or is another model."""
    body, tools = question.body, question.tools
    choice, messages = body.get("tool_choice"), body["messages"]
    after = messages[max((at for at, each in enumerate(messages) if each["role"] == "user"), default=0) :]
    made = sum(len(each.get("tool_calls") or ()) for each in after)
    right = known[made:] if isinstance(known, list) else []
    if not tools:
        return right
    likely = 0.75 if after[-1]["role"] == "user" else 0.2
    calling = bool(right) if isinstance(known, list) else (question.chance("call") < likely if known is None else known)
    if choice in (None, "auto"):
        wrong = persona.flip_rate or (persona.miss_rate if calling else persona.false_rate)
        calling ^= question.chance("decision", persona.mind) < wrong
    if not calling and choice in (None, "auto") or choice == "none":
        return []
    if right and not isinstance(choice, dict) and not (persona.mind and question.chance("recall") < persona.flip_rate):
        return right[:1] if body.get("parallel_tool_calls") is False else right
    dice = question.dice("arguments", persona.mind)
    name = choice["function"]["name"] if isinstance(choice, dict) else dice.choice(list(tools))
    return [(name, value_for({"type": "object", **tools[name]}, tools[name], dice, _words(question)))]


def _dumped(question: Question, index: int, call: tuple[str, dict[str, Any]], break_rate: float) -> tuple[str, str]:
    """The call with its arguments as JSON text, broken at this rate: no JSON, an unknown tool or a wrong type."""
    name, arguments = call
    how = question.chance("break", index) / break_rate if break_rate else 1
    first = next(iter(arguments), None)
    if how < 0.5 and first is not None:
        arguments = {**arguments, first: {"unexpected": True}}
    text = json.dumps(arguments, ensure_ascii=False)
    if 0.5 <= how < 0.75:
        return name, text[:-1]
    return f"{name}_v2" if how < 1 and (how >= 0.75 or first is None) else name, text


def _words(question: Question) -> list[str]:
    """Words of the last message, so that arguments look as if they came from it."""
    said = [word.strip(".,;:!?\"'()[]") for word in str(question.body["messages"][-1].get("content")).split()[:200]]
    return [word for word in said if 1 < len(word) < 25 and word.isprintable()][:40] or _WORDS


def _text(question: Question, mind: str) -> str:
    """A text in the form that was asked for. Above temperature 0 it differs from one time of asking to the next."""
    form = question.body.get("response_format") or {}
    again = question.asked if question.body.get("temperature") else 0
    dice, words = question.dice("words", mind, again), _words(question)
    if form.get("type") == "json_schema":
        schema = form["json_schema"].get("schema")
        return json.dumps(value_for(schema, schema, dice, words), ensure_ascii=False)
    if form.get("type") == "json_object":
        return json.dumps({"answer": " ".join(dice.choices(words, k=6))}, ensure_ascii=False)
    # Another model begins otherwise, which probes of one token show.
    begins = question.dice("begin", mind).sample(sorted(set(words + _WORDS)), len(set(words + _WORDS)))
    first = begins[min(int(dice.expovariate(0.5)), len(begins) - 1)]
    sentences = [" ".join(dice.choices(words, k=dice.randint(4, 20))) for _ in range(dice.randint(1, 4))]
    return f"{first.capitalize()}: {'. '.join(sentences)}."


def _limited(body: Mapping[str, Any], text: str, calls: list[tuple[str, str]], persona: Persona) -> Answer:
    """The answer within ``stop`` and ``max_tokens``, with its bill."""
    stops = body.get("stop") or []
    for stop in [stops] if isinstance(stops, str) else stops:
        text = text.partition(stop)[0]
    finish = "tool_calls" if calls else "stop"
    said = sum(-(-len(part) // _CHARACTERS_PER_TOKEN) for part in (text, *(part for call in calls for part in call)))
    budget = body.get("max_tokens") or body.get("max_completion_tokens") or said
    if said > budget:
        room = budget * _CHARACTERS_PER_TOKEN
        text, finish = text[:room], "length"
        calls = [(name, arguments[: max(0, room - len(name))]) for name, arguments in calls[:1]]
    asked = len(json.dumps([body["messages"], body.get("tools") or []])) // _CHARACTERS_PER_TOKEN
    billed = round(asked * persona.prompt_factor) + persona.prompt_extra
    return Answer(text, calls, finish, billed, max(1, min(said, budget)))
