"""What the simulated model answers: a pure function of seed, question and the key of known right answers.

The trigger decision is drawn from the question's digest: a call in ``CALL_RATE`` of the questions that end with the
user and in ``CALL_AGAIN_RATE`` of those that end with a tool result, unless ``tool_choice`` says otherwise. Arguments
come out of the called tool's own schema.

A question is recognised by its digest, so the key holds over every protocol. Tools are kept by their place in the
question, because protocols narrow names. A question that is not in the key is answered by chance and schema.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType
from typing import Any, Literal

from vendor_verifier.errors import DataError
from vendor_verifier.features.simulate.chance import chance, generator
from vendor_verifier.features.simulate.question import CHARACTERS_PER_TOKEN, BadQuestion, Question, question_of
from vendor_verifier.features.simulate.schema_values import satisfying_value
from vendor_verifier.lazy_import import late
from vendor_verifier.values.event import TextDelta, ToolCallDelta
from vendor_verifier.values.request import Turn
from vendor_verifier.values.sample import Sample
from vendor_verifier.wire.payload import as_dict, as_list, parse_json

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


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call; ``arguments`` is JSON text."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer in no protocol. Tokens are estimates: four characters each.

    ``stopped_by`` is the ``stop`` text that ended it.
    """

    text: str
    calls: tuple[Call, ...]
    finish: Literal["tool_calls", "stop", "length"]
    prompt_tokens: int
    output_tokens: int
    stopped_by: str | None = None


def wants_call(question: Question, seed: int) -> bool:
    """The trigger decision of the model that the vendors claim to sell."""
    if not question.tools or question.choice == "none":
        return False
    if question.choice != "auto":
        return True
    rate = CALL_AGAIN_RATE if question.after_tool_result else CALL_RATE
    return chance(seed, question.digest, "trigger") < rate


def compose(question: Question, seed: int, *, calling: bool, mind: str = "") -> Answer:
    """The answer once it is decided whether tools are called.

    Args:
        question: what was asked.
        seed: of the whole simulation.
        calling: make tool calls (the question has tools), or answer in text.
        mind: another model's name makes other arguments and another wording out of the same seed.
    """
    dice = generator(seed, question.digest, "words", mind)
    words = _words(question)
    if not calling:
        return finished(question, _text(question, dice, words), ())
    remark = dice.choice(_REMARKS) if dice.random() < REMARK_RATE else ""
    return finished(question, remark, _calls(question, dice, words, seed, mind))


def finished(question: Question, text: str, calls: tuple[Call, ...]) -> Answer:
    """Text and calls as an answer with its finish and token counts, before any limit."""
    tokens = _tokens(text) + sum(_tokens(call.name) + _tokens(call.arguments) for call in calls)
    return Answer(text, calls, "tool_calls" if calls else "stop", question.prompt_tokens, max(tokens, 1))


def limited(question: Question, answer: Answer) -> Answer:
    """The answer within ``stop`` and ``max_tokens``: cut in the middle of what was being said, finish ``length``."""
    stop = question.turn.parameters.get("stop")
    for mark in [stop] if isinstance(stop, str) else as_list(stop):
        if isinstance(mark, str) and mark and mark in answer.text:
            answer = replace(finished(question, answer.text.partition(mark)[0], ()), stopped_by=mark)
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
    return replace(answer, text=text, calls=tuple(calls), finish="length", output_tokens=budget, stopped_by=None)


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


def _calls(question: Question, dice: random.Random, words: list[str], seed: int, mind: str) -> tuple[Call, ...]:
    allowed, tools = question.allowed_tools, question.tools
    several = dice.random() < TWO_CALLS_RATE and question.parallel and question.choice != "named"
    chosen = [dice.choice(range(len(allowed))) for _ in range(2)][: 2 if several else 1]
    calls = []
    for index, place in enumerate(chosen):
        # Each call has dice of its own: where a protocol's schema makes one call differ, the others stay the same.
        own = generator(seed, question.digest, "arguments", index, mind)
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


_FILES = ("samples", "toolbench", "mcp_toolbench", "tool_correctness")

RightCall = tuple[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Known:
    """The right answer to one question.

    ``calls`` are (place of the tool in the question, call), or None where it is only known whether to call. With
    ``in_text`` no tools were declared and the calls are to be written as a JSON array.
    """

    calling: bool
    calls: tuple[tuple[int, Call], ...] | None = None
    in_text: bool = False

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


class UnknownAnswer(Exception):
    """The right answer to a sample is not known; the message says why."""


def answer_key(samples: Iterable[Sample]) -> dict[str, Known]:
    """Question digest → right answer, of the samples that say one; of two with one digest the first counts."""
    key: dict[str, Known] = {}
    for sample in samples:
        try:
            found = known_answers(sample)
        except UnknownAnswer:
            continue
        for digest, known in found:
            key.setdefault(digest, known)
    return key


def written_key(key: AnswerKey) -> str:
    """The key as one line of JSON, for the process that serves the vendors."""
    return json.dumps(
        {
            digest: [
                known.calling,
                None if known.calls is None else [[place, call.name, call.arguments] for place, call in known.calls],
                known.in_text,
            ]
            for digest, known in key.items()
        }
    )


def read_key(text: bytes) -> dict[str, Known]:
    """What :func:`written_key` wrote.

    Raises:
        PayloadError: the text is not JSON.
    """
    return {
        digest: Known(
            calling,
            None if calls is None else tuple((place, Call(name, arguments)) for place, name, arguments in calls),
            in_text,
        )
        for digest, (calling, calls, in_text) in as_dict(parse_json(text)).items()
    }


@cache
def shipped_answers() -> AnswerKey:
    """The key to everything that ships, read from disk once.

    Raises:
        DataError: the shipped rows are damaged.
    """
    from vendor_verifier.loaders.detect import read_dataset_file
    from vendor_verifier.resources import shipped
    from vendor_verifier.samples_file import open_lines

    samples: list[Sample] = []
    for name in _FILES:
        path = shipped(f"datasets/{name}.jsonl")
        samples += read_dataset_file(open_lines(path), dataset=path.name, file=path).samples
    samples += leaderboard_rows("shipped")
    return MappingProxyType(answer_key(samples))


def leaderboard_rows(where: str) -> Sequence[Sample]:
    """The leaderboard's rows that state their calls, of the data that ships or of a folder.

    Raises:
        UsageError: there is no such data.
    """
    found: Sequence[Sample] = late("vendor_verifier.features.bfcl.source:stated_rows")(where)
    return found


def known_answers(sample: Sample) -> list[tuple[str, Known]]:
    """The digest of the sample's question, natively and as text, with its right answer.

    Raises:
        UnknownAnswer: the sample does not say it, or it cannot be given.
    """
    calls = right_calls(sample)
    if calls is None:
        wanted = sample.expected.get("expected_tool_call")
        if not isinstance(wanted, bool):
            raise UnknownAnswer("it does not say which calls are expected")
        return [(_question(sample.turn).digest, Known(wanted))]
    found = [known_answer(sample.turn, calls)]
    if "calls" in sample.expected and "category" not in sample.expected:
        found.append(known_answer(_as_text(sample), calls, in_text=True))
    return found


def known_answer(turn: Turn, calls: Sequence[RightCall], *, in_text: bool = False) -> tuple[str, Known]:
    """The digest of the question that ``turn`` puts, with the right ``calls`` as its answer.

    Raises:
        UnknownAnswer: a call is of a tool that is not declared, or no vendor takes the question.
    """
    question = _question(turn)
    names = list(question.tools)
    missing = [name for name, _ in calls if name not in names]
    if missing and not in_text:
        raise UnknownAnswer(f"it expects a call of {missing[0]!r}, which it does not declare")
    # In the text a call stands under its own name, whatever its place.
    placed = tuple((0 if in_text else names.index(name), _call(name, arguments)) for name, arguments in calls)
    return question.digest, Known(bool(placed), placed, in_text)


def right_calls(sample: Sample) -> Sequence[RightCall] | None:
    """The calls of a perfect answer, or None where the sample does not say.

    Raises:
        UnknownAnswer: what the sample says cannot be read, or is more than one answer.
    """
    expected = sample.expected
    if "functions" in expected or "category" in expected:
        return _of_leaderboard(sample)
    return _stated(expected["calls"]) if "calls" in expected else None


def _stated(value: object) -> list[RightCall]:
    from vendor_verifier.suites.tool_calls.calls import read_expectation

    expectation = read_expectation(value)
    if expectation.problem:
        raise UnknownAnswer(f"its expected calls cannot be read: {expectation.problem}")
    return [(call.name, call.parameters) for call in expectation.calls]


def _of_leaderboard(sample: Sample) -> Sequence[RightCall]:
    from vendor_verifier.suites.bfcl.categories import EXECUTABLE, SINGLE_TURN
    from vendor_verifier.suites.bfcl.function_docs import sent_name
    from vendor_verifier.suites.bfcl.reference_calls import reference_calls

    expected = sample.expected
    if "calls" in expected:
        return [(sent_name(name), arguments) for name, arguments in _stated(expected["calls"])]
    if expected["category"] in EXECUTABLE:
        return calls_in_source(expected["answer"], sample.turn)
    if expected["category"] not in SINGLE_TURN:
        raise UnknownAnswer(f"a row of {expected['category']} states no calls")
    return reference_calls(expected)


def calls_in_source(sources: Sequence[str], turn: Turn) -> list[RightCall]:
    """Calls written as source text; an argument without a name gets that of its place in the tool's schema.

    Raises:
        UnknownAnswer: a call cannot be read.
    """
    from vendor_verifier.suites.bfcl.executable import expected_calls
    from vendor_verifier.suites.bfcl.function_docs import sent_name

    try:
        calls = expected_calls(sources)
    except DataError as error:
        raise UnknownAnswer(error.problems[0].message) from None
    functions = [as_dict(tool.get("function")) for tool in turn.tools]
    parameters = {
        function.get("name"): list(as_dict(as_dict(function.get("parameters")).get("properties")))
        for function in functions
    }
    return [
        (
            sent_name(call.name),
            {**dict(zip(parameters.get(sent_name(call.name), ()), call.positional, strict=False)), **call.named},
        )
        for call in calls
    ]


def _question(turn: Turn) -> Question:
    try:
        return question_of(turn)
    except BadQuestion as refusal:
        raise UnknownAnswer(f"every vendor refuses the question: {refusal}") from None


def _as_text(sample: Sample) -> Turn:
    """The question as it is put when the answer is to be written in the text."""
    from vendor_verifier.suites.tool_calls.prompt import first_turn

    return first_turn(sample.turn, "text", None)


def _call(name: str, arguments: Mapping[str, Any]) -> Call:
    return Call(name, json.dumps(arguments, ensure_ascii=False))
