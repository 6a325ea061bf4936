"""Plays samples to a faithful vendor before a run, so that it knows a right answer to each of its own turns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

import msgspec

from vendor_verifier.features.simulate.answer import Answer, AnswerKey, Known
from vendor_verifier.features.simulate.answer_key import (
    RightCall,
    UnknownAnswer,
    calls_in_source,
    declared_functions,
    known_answer,
    known_answers,
    reading_of,
    right_calls,
    written_key,
)
from vendor_verifier.features.simulate.performance import persona_answer
from vendor_verifier.features.simulate.personas import PERSONAS
from vendor_verifier.features.simulate.question import question_of
from vendor_verifier.pipeline.datasets import load_dataset
from vendor_verifier.pipeline.suites import ready_suite, rows_in
from vendor_verifier.suites import Judgement, Suite, suite_kind, with_results
from vendor_verifier.suites.bfcl.categories import MULTI_TURN
from vendor_verifier.suites.tool_calls.suite import CallSuite
from vendor_verifier.values.event import ToolCall
from vendor_verifier.values.plan import Task
from vendor_verifier.values.record import Attempt, Response
from vendor_verifier.values.request import Turn
from vendor_verifier.values.sample import Sample
from vendor_verifier.values.score import Score
from vendor_verifier.values.tool_use import RunTools, ToolResult
from vendor_verifier.words import english

_FAITHFUL = PERSONAS["faithful"]


_MOST_NAMED = 10


# A function of each question of a play in turn, which returns the calls that are right then.
_Script = Callable[[Turn], Sequence[RightCall]]


class Rehearsed(msgspec.Struct, frozen=True):
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


class _Rehearsal(msgspec.Struct):
    seed: int
    key: dict[str, Known] = msgspec.field(default_factory=dict)
    unknown: dict[str, dict[str, str]] = msgspec.field(default_factory=dict)

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
                in_text, reading = _is_written(suite, turn), reading_of(sample)
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
        return calls_in_source(next(answers, ()), declared_functions(sample, turn))

    return script


def _response(answer: Answer) -> Response:
    calls = tuple(ToolCall(call.name, call.arguments) for call in answer.calls)
    return Response(text=answer.text, tool_calls=calls, finish_reason=answer.finish)


def _main(suite: str) -> str | None:
    kind = suite_kind(suite)
    return None if kind is None else kind.ranks_by


def _place(sample: Sample) -> str:
    return f"line {sample.source.line}" if sample.source is not None else sample.id
