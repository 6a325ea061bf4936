"""The answer key of the simulated vendors: right answers by digest of the question, and its making for a plan.

It is read from samples, written as a line, read again. For a plan every row is played through before anything is sent:
the suite asks, the faithful vendor answers from the key, the suite asks on or judges. A row that does not come out
right has no key, and a warning names it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from types import MappingProxyType
from typing import Any

from vendor_verifier.errors import DataError
from vendor_verifier.features.simulate.answer import AnswerKey, Call, Known
from vendor_verifier.features.simulate.question import BadQuestion, Question, question_of
from vendor_verifier.suites.bfcl.text_calls import Reading
from vendor_verifier.values.request import Turn
from vendor_verifier.values.sample import Sample
from vendor_verifier.wire.payload import as_dict, parse_json

_FILES = ("samples", "toolbench", "mcp_toolbench", "tool_correctness")

RightCall = tuple[str, Mapping[str, Any]]


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
                known.reading and asdict(known.reading),
            ]
            for digest, known in key.items()
        }
    )


def read_key(text: bytes) -> dict[str, Known]:
    """The key of right answers in a text that :func:`written_key` wrote.

    Raises:
        PayloadError: the text is not JSON.
    """
    return {
        digest: Known(
            calling,
            None if calls is None else tuple((place, Call(name, arguments)) for place, name, arguments in calls),
            in_text,
            reading and Reading(**reading),
        )
        for digest, (calling, calls, in_text, reading) in as_dict(parse_json(text)).items()
    }


@cache
def shipped_answers() -> AnswerKey:
    """The key to everything that ships, read from disk once.

    Raises:
        DataError: the shipped rows are damaged.
    """
    from vendor_verifier.loaders import read_dataset_file
    from vendor_verifier.pipeline.suites import rows_in
    from vendor_verifier.resources import shipped
    from vendor_verifier.sample_store import open_lines

    samples: list[Sample] = []
    for name in _FILES:
        path = shipped(f"datasets/{name}.jsonl")
        samples += read_dataset_file(open_lines(path), dataset=path.name, file=path).samples
    samples += rows_in("shipped")
    return MappingProxyType(answer_key(samples))


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
    found = [known_answer(sample.turn, calls, reading=reading_of(sample))]
    if "calls" in sample.expected and "category" not in sample.expected:
        found.append(known_answer(_as_text(sample), calls, in_text=True))
    return found


def known_answer(
    turn: Turn, calls: Sequence[RightCall], *, in_text: bool = False, reading: Reading | None = None
) -> tuple[str, Known]:
    """The digest of the question that ``turn`` puts, with the right ``calls`` as its answer.

    With ``in_text`` they are written as a JSON array, with a ``reading`` in that form.

    Raises:
        UnknownAnswer: a call is of a tool that is not declared, or no vendor takes the question.
    """
    question, in_text = _question(turn), in_text or reading is not None
    names = list(question.tools)
    missing = [name for name, _ in calls if name not in names]
    if missing and not in_text:
        raise UnknownAnswer(f"it expects a call of {missing[0]!r}, which it does not declare")
    # In the text a call stands under its own name, whatever its place.
    placed = tuple((0 if in_text else names.index(name), _call(name, arguments)) for name, arguments in calls)
    return question.digest, Known(bool(placed), placed, in_text, reading)


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
    from vendor_verifier.suites.bfcl.replies import is_written, rules_of

    expected = sample.expected
    if "calls" in expected:
        stated = _stated(expected["calls"])
        return stated if is_written(expected) else [(sent_name(name), arguments) for name, arguments in stated]
    if expected["category"] in EXECUTABLE:
        return calls_in_source(expected["answer"], declared_functions(sample, sample.turn))
    if rules_of(expected) not in SINGLE_TURN:
        raise UnknownAnswer(f"a row of {expected['category']} states no calls")
    return reference_calls(expected)


def reading_of(sample: Sample) -> Reading | None:
    """The form in which the leaderboard's sample asks for calls in words, if it does."""
    stated = sample.expected.get("reading")
    return None if stated is None else Reading(**stated)


def declared_functions(sample: Sample, turn: Turn) -> list[Mapping[str, Any]]:
    """The functions that a turn declares, natively or in words."""
    if "reading" in sample.expected:
        return list(sample.expected["functions"])
    return [as_dict(tool.get("function")) for tool in turn.tools]


def calls_in_source(sources: Sequence[str], functions: Sequence[Mapping[str, Any]]) -> list[RightCall]:
    """Calls written as source text; an argument without a name gets that of its place in its function's schema.

    Raises:
        UnknownAnswer: a call cannot be read.
    """
    from vendor_verifier.suites.bfcl.executable import expected_calls
    from vendor_verifier.suites.bfcl.function_docs import sent_name

    try:
        calls = expected_calls(sources)
    except DataError as error:
        raise UnknownAnswer(error.problems[0].message) from None
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
    from vendor_verifier.suites.tool_calls.suite import first_turn

    return first_turn(sample.turn, "text", None)


def _call(name: str, arguments: Mapping[str, Any]) -> Call:
    return Call(name, json.dumps(arguments, ensure_ascii=False))
