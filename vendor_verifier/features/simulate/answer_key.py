"""The answer key of the simulated vendors: right answers by digest of the question, and its making for a plan.

It is read from samples, written as a line, read again. For a plan every row is played through before anything is sent:
the suite asks, the faithful vendor answers from the key, the suite asks on or judges. A row that does not come out
right has no key, and a warning names it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any

from vendor_verifier.errors import DataError
from vendor_verifier.features.simulate.answer import Answer, AnswerKey, Call, Known
from vendor_verifier.features.simulate.performance import PERSONAS, persona_answer
from vendor_verifier.features.simulate.question import BadQuestion, Question, question_of
from vendor_verifier.pipeline.datasets import load_dataset
from vendor_verifier.pipeline.suites import ready_suite, rows_in
from vendor_verifier.suites import Judgement, Suite, suite_kind, with_results
from vendor_verifier.suites.bfcl.categories import MULTI_TURN
from vendor_verifier.suites.bfcl.text_calls import Reading
from vendor_verifier.suites.tool_calls.suite import CallSuite
from vendor_verifier.values.event import ToolCall
from vendor_verifier.values.plan import Task
from vendor_verifier.values.record import Attempt, Response
from vendor_verifier.values.request import Turn
from vendor_verifier.values.sample import Sample
from vendor_verifier.values.score import Score
from vendor_verifier.values.tool_use import RunTools, ToolResult
from vendor_verifier.wire.payload import as_dict, parse_json
from vendor_verifier.words import english

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
    found = [known_answer(sample.turn, calls, reading=_reading(sample))]
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
        return calls_in_source(expected["answer"], _functions(sample, sample.turn))
    if rules_of(expected) not in SINGLE_TURN:
        raise UnknownAnswer(f"a row of {expected['category']} states no calls")
    return reference_calls(expected)


def _reading(sample: Sample) -> Reading | None:
    """The form in which the leaderboard's sample asks for calls in words, if it does."""
    stated = sample.expected.get("reading")
    return None if stated is None else Reading(**stated)


def _functions(sample: Sample, turn: Turn) -> list[Mapping[str, Any]]:
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
    from vendor_verifier.suites.tool_calls.prompt import first_turn

    return first_turn(sample.turn, "text", None)


def _call(name: str, arguments: Mapping[str, Any]) -> Call:
    return Call(name, json.dumps(arguments, ensure_ascii=False))


_FAITHFUL = PERSONAS["faithful"]
_MOST_NAMED = 10

# A function of each question of a play in turn, which returns the calls that are right then.
_Script = Callable[[Turn], Sequence[RightCall]]


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """The answers known, by digest of the question; and by evaluation how many ``rows`` were tried, and which of them
    cannot be known: by their place in the file, with the reason."""

    key: AnswerKey
    rows: Mapping[str, int]
    unknown: Mapping[str, Mapping[str, str]]

    def warnings(self) -> Iterator[str]:
        """One sentence for each evaluation with rows that cannot be known."""
        for suite, rows in self.unknown.items():
            named = ", ".join(list(rows)[:_MOST_NAMED]) + (", …" if len(rows) > _MOST_NAMED else "")
            reasons = "; ".join(f"{reason} ({count})" for reason, count in Counter(rows.values()).most_common(3))
            counts = {"suite": suite, "unknown": len(rows), "rows": self.rows[suite], "named": named}
            yield english("warn_by_chance", **counts, reasons=reasons)


def rehearse(tasks: Sequence[Task], seed: int) -> Rehearsed:
    """Play every row of ``tasks`` with the faithful vendor of a simulation with this ``seed``. Sends nothing.

    Rows whose answers are only compared with the baseline's need no right answer, so they are never unknown.
    """
    found = _Rehearsal(seed)
    judged = [task for task in tasks if (kind := suite_kind(task.suite)) is not None and not kind.apart]
    # Last those of which only whether to call is known: another evaluation may know the calls.
    for task in sorted(judged, key=lambda task: _main(task.suite) is None):
        found.add(task)
    return Rehearsed(found.key, {task.suite: len(task.samples) for task in judged}, found.unknown)


def rehearsed_key(tasks: Sequence[Task], seed: int) -> tuple[str, list[str]]:
    """The key that :func:`rehearse` found, as the line that the vendors' process reads, and its warnings."""
    found = rehearse(tasks, seed)
    return written_key(found.key), list(found.warnings())


def known_of_files(paths: Iterable[Path]) -> Rehearsed:
    """The answers that rows of data sets carry; a folder is the leaderboard's data in its native layout.

    Raises:
        UsageError: a folder holds no such data.
        DataError: a file cannot be read, or holds no usable row.
    """
    key: dict[str, Known] = {}
    rows: dict[str, int] = {}
    unknown: dict[str, dict[str, str]] = {}
    for path in paths:
        samples = _samples_of(path)
        rows[path.name] = len(samples)
        for sample in samples:
            try:
                for digest, known in known_answers(sample):
                    key.setdefault(digest, known)
            except UnknownAnswer as reason:
                unknown.setdefault(path.name, {})[_place(sample)] = str(reason)
    return Rehearsed(key, rows, unknown)


def _samples_of(path: Path) -> Sequence[Sample]:
    return rows_in(str(path)) if path.is_dir() else load_dataset(path).samples


@dataclass(slots=True)
class _Rehearsal:
    seed: int
    key: dict[str, Known] = field(default_factory=dict)
    unknown: dict[str, dict[str, str]] = field(default_factory=dict)

    def add(self, task: Task) -> None:
        suite, main = ready_suite(task.suite, task.options, task.samples), _main(task.suite)
        for sample in task.samples:
            try:
                if main is None:
                    self._keep(known_answers(sample))
                else:
                    self._try(suite, sample, main)
            except UnknownAnswer as reason:
                if main is not None:
                    self.unknown.setdefault(task.suite, {})[_place(sample)] = str(reason)

    def _keep(self, found: Iterable[tuple[str, Known]]) -> None:
        for digest, known in found:
            self.key.setdefault(digest, known)

    def _try(self, suite: Suite, sample: Sample, main: str) -> None:
        score = self._played(suite, sample)
        value = score.values.get(main)
        # None is the row's own defect, or nothing is here to judge it by; both are reported elsewhere.
        if value is not None and value < 1.0:
            raise UnknownAnswer("the answer in its key is not counted as right")

    def _played(self, suite: Suite, sample: Sample) -> Score:
        """The score of a play answered from the key, which learns the right answers on the way."""
        tools_are_real = False

        def results_of(step: RunTools) -> tuple[ToolResult, ...]:
            nonlocal tools_are_real
            tools_are_real = True
            return tuple(ToolResult(each.name, "ok") for each in step.requests)

        play, script = with_results(suite.play(sample), results_of), _script(sample)
        try:
            turn = next(play)
            if tools_are_real and turn.tools:
                script = _one_by_one(sample)
            while True:
                in_text, reading = _is_written(suite, turn), _reading(sample)
                digest, known = known_answer(turn, script(turn), in_text=in_text, reading=reading)
                digest = question_of(turn).digest_but_results if tools_are_real else digest
                if self.key.setdefault(digest, known) != known:
                    raise UnknownAnswer("another row asks the same and expects another answer")
                answer = persona_answer(question_of(turn), _FAITHFUL, self.seed, self.key)
                turn = play.send(Attempt(1, response=_response(answer)))
        except StopIteration as end:
            judgement: Judgement = end.value
            return judgement()
        finally:
            play.close()


def _is_written(suite: Suite, turn: Turn) -> bool:
    """Whether the right answer to this question is text: no tool is declared, and calls are read there."""
    return isinstance(suite, CallSuite) and suite.reading != "native" and not turn.tools


def _script(sample: Sample) -> _Script:
    if sample.expected.get("category") in MULTI_TURN and "turns" in sample.expected:
        return _conversation(sample)
    calls = right_calls(sample)
    if calls is None:
        raise UnknownAnswer("it does not say which calls are expected")
    return _until_made(calls)


def _until_made(calls: Sequence[RightCall]) -> _Script:
    """All calls at once; where only one at a time is allowed, those that were not made in earlier turns."""
    made = 0

    def script(turn: Turn) -> Sequence[RightCall]:
        nonlocal made
        left = calls[made:]
        made += 1 if turn.parameters.get("parallel_tool_calls") is False else len(calls)
        return left

    return script


def _one_by_one(sample: Sample) -> _Script:
    """The row's calls, one in each turn, as a model makes them that waits for what its tool returns."""
    calls = iter(right_calls(sample) or ())
    return lambda _turn: list(islice(calls, 1))


def _conversation(sample: Sample) -> _Script:
    """A script of the calls of the row's own solution after each user message, and no calls after a tool's result."""
    answers = iter(sample.expected["answer"])

    def script(turn: Turn) -> Sequence[RightCall]:
        last = turn.messages[-1]
        # The results of written calls come in words of the user.
        told = "reading" in sample.expected and str(last.get("content")).startswith("[{'role': 'tool'")
        if told or last.get("role") == "tool":
            return ()
        return calls_in_source(next(answers, ()), _functions(sample, turn))

    return script


def _response(answer: Answer) -> Response:
    calls = tuple(ToolCall(call.name, call.arguments) for call in answer.calls)
    return Response(text=answer.text, tool_calls=calls, finish_reason=answer.finish)


def _main(suite: str) -> str | None:
    kind = suite_kind(suite)
    return None if kind is None else kind.ranks_by


def _place(sample: Sample) -> str:
    return f"line {sample.source.line}" if sample.source is not None else sample.id
