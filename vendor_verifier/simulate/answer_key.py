"""What the simulated model knows: the right answers to the evaluation rows that ship, by question; it answers nothing.

A question is recognised by its digest, so the key holds over every protocol. Tools are kept by their place in the
question, because protocols narrow names. A question that is not in the key is answered by chance and schema.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

from vendor_verifier.simulate.answer import Call
from vendor_verifier.simulate.question import BadQuestion, Question, question_of
from vendor_verifier.values.sample import Sample

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


def answer_key(samples: Iterable[Sample]) -> dict[str, Known]:
    """Question digest → right answer, of the samples that say one; of two with one digest the first counts."""
    key: dict[str, Known] = {}
    for sample in samples:
        for digest, known in _known(sample):
            key.setdefault(digest, known)
    return key


@cache
def shipped_answers() -> AnswerKey:
    """The key to everything that ships, read from disk once.

    Raises:
        DataError: the shipped rows are damaged.
    """
    from vendor_verifier.bfcl_source import find_data, load_categories
    from vendor_verifier.loaders.recognise import read_dataset_file
    from vendor_verifier.sample_files import open_lines
    from vendor_verifier.shipped import shipped
    from vendor_verifier.suites.bfcl.categories import SINGLE_TURN

    samples: list[Sample] = []
    for name in _FILES:
        path = shipped(f"datasets/{name}.jsonl")
        samples += read_dataset_file(open_lines(path), dataset=path.name, file=path).samples
    samples += load_categories(find_data("shipped"), SINGLE_TURN).samples.samples
    return MappingProxyType(answer_key(samples))


def _known(sample: Sample) -> Iterable[tuple[str, Known]]:
    calls = _right_calls(sample)
    try:
        question = question_of(sample.turn)
    except BadQuestion:
        return
    if calls is None:
        wanted = sample.expected.get("expected_tool_call")
        if isinstance(wanted, bool):
            yield question.digest, Known(wanted)
        return
    names = list(question.tools)
    if not all(name in names for name, _ in calls):
        return
    placed = tuple((names.index(name), _call(name, arguments)) for name, arguments in calls)
    yield question.digest, Known(bool(placed), placed)
    if "calls" in sample.expected:
        yield _digest_as_text(sample), Known(bool(placed), placed, in_text=True)


def _right_calls(sample: Sample) -> Sequence[RightCall] | None:
    """The calls of a perfect answer, or None where the sample does not say."""
    from vendor_verifier.suites.bfcl.reference_calls import reference_calls
    from vendor_verifier.suites.calls import read_expectation

    if "functions" in sample.expected:
        return reference_calls(sample.expected)
    if "calls" not in sample.expected:
        return None
    expectation = read_expectation(sample.expected["calls"])
    return None if expectation.problem else [(call.name, call.parameters) for call in expectation.calls]


def _digest_as_text(sample: Sample) -> str:
    """The question as it is put when the answer is to be written in the text."""
    from vendor_verifier.suites.asking import first_turn

    return question_of(first_turn(sample.turn, "text", None)).digest


def _call(name: str, arguments: Mapping[str, Any]) -> Call:
    return Call(name, json.dumps(arguments, ensure_ascii=False))
