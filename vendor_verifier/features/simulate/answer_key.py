"""The right answers that simulated vendors know: digest of a question → whether to call, or the calls."""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from vendor_verifier.errors import VerifierError
from vendor_verifier.values.plan import Task
from vendor_verifier.values.request import Turn
from vendor_verifier.values.sample import Sample

RightCalls = list[tuple[str, dict[str, Any]]]
AnswerKey = dict[str, bool | RightCalls]


def digest(messages: Iterable[Mapping[str, Any]], tools: Iterable[Mapping[str, Any]]) -> str:
    """16 hexadecimal digits that stand for what the user and the system said and the names of the tools.

    Calls and their results are left out, so that a conversation keeps its digest until the user speaks again.
    """
    said = [[each.get("role"), each.get("content")] for each in messages if each.get("role") in ("user", "system")]
    names = [(tool.get("function") or {}).get("name") for tool in tools]
    return hashlib.sha256(json.dumps([said, names], sort_keys=True).encode()).hexdigest()[:16]


def known_answers(tasks: Sequence[Task]) -> str:
    """The key to the rows of a run as one line of JSON, for the process that serves the vendors."""
    from vendor_verifier.pipeline.suites import ready_suite

    key: AnswerKey = {}
    # Rows that only say whether to call come last: another evaluation may ask the same and know the calls.
    for task in sorted(tasks, key=lambda task: task.suite == "trigger"):
        suite = ready_suite(task.suite, task.options, task.samples)
        for sample in task.samples:
            # As the evaluation words it, which may be a text that lists the tools.
            _add(key, sample, next(suite.play(sample)))
    return json.dumps(key)


def key_of_samples(samples: Iterable[Sample]) -> AnswerKey:
    """The key to samples that are asked as they are."""
    key: AnswerKey = {}
    for sample in samples:
        _add(key, sample, sample.turn)
    return key


def shipped_key() -> AnswerKey:
    """The key to all rows that ship."""
    from vendor_verifier.pipeline.datasets import load_dataset
    from vendor_verifier.pipeline.suites import rows_in
    from vendor_verifier.resources import shipped

    names = ("toolbench", "mcp_toolbench", "tool_correctness", "samples")
    files = [load_dataset(Path(shipped(f"datasets/{name}.jsonl"))).samples for name in names]
    return key_of_samples([*rows_in("shipped"), *(sample for samples in files for sample in samples)])


def _add(key: AnswerKey, sample: Sample, turn: Turn) -> None:
    for messages, tools, answer in _right_answers(sample, turn):
        if answer is not None:
            key.setdefault(digest(messages, tools), answer)


Questions = Iterator[tuple[Sequence[Mapping[str, Any]], Sequence[Mapping[str, Any]], bool | RightCalls | None]]


def _right_answers(sample: Sample, turn: Turn) -> Questions:
    """(messages, tools, right answer) of each user turn; the answer is None where the row does not say it."""
    expected = sample.expected
    if "calls" in expected:
        yield turn.messages, turn.tools, _stated(expected["calls"])
    elif "turns" in expected:
        yield from _conversation(sample)
    elif "functions" in expected:
        yield turn.messages, turn.tools, _leaderboard_calls(expected)
    elif isinstance(expected.get("expected_tool_call"), bool):
        yield turn.messages, turn.tools, expected["expected_tool_call"]


def _stated(calls: object) -> RightCalls | None:
    from vendor_verifier.suites.tool_calls.calls import read_expectation

    found = read_expectation(calls)
    return None if found.problem else [(call.name, dict(call.parameters)) for call in found.calls]


def _leaderboard_calls(expected: Mapping[str, Any]) -> RightCalls | None:
    from vendor_verifier.suites.bfcl.reference_calls import reference_calls

    if all(isinstance(answer, str) for answer in expected.get("answer") or [None]):
        return _written(expected["answer"], expected["functions"])
    try:
        return reference_calls(expected)
    except (VerifierError, KeyError, TypeError):  # a row that has no right answer
        return None


def _conversation(sample: Sample) -> Questions:
    from vendor_verifier.suites.bfcl.multi_turn import MORE_FUNCTIONS

    messages: list[Mapping[str, Any]] = []
    tools = list(sample.turn.tools)
    for index, (asked, answer) in enumerate(zip(sample.expected["turns"], sample.expected["answer"], strict=False)):
        added = sample.expected["withheld"].get(str(index), ())
        tools += added
        messages += [{"role": "user", "content": MORE_FUNCTIONS}] if added else asked
        yield tuple(messages), tuple(tools), _written(answer, [tool["function"] for tool in tools])


def _written(sources: Sequence[str], functions: Sequence[Mapping[str, Any]]) -> RightCalls | None:
    """Calls from the row's own source text; arguments by position get the names of their places."""
    names = {each["name"]: list((each.get("parameters") or {}).get("properties") or {}) for each in functions}
    calls: RightCalls = []
    for source in sources:
        try:
            call = ast.parse(source.strip(), mode="eval").body
            if not isinstance(call, ast.Call):
                return None
            name = ast.unparse(call.func).replace(".", "_")
            arguments = dict(zip(names.get(name, ()), map(ast.literal_eval, call.args), strict=False))
            arguments |= {str(each.arg): ast.literal_eval(each.value) for each in call.keywords}
        except (SyntaxError, ValueError):
            return None
        calls.append((name, arguments))
    return calls
