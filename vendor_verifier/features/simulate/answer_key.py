"""The right answers that simulated vendors know: digest of a question → whether to call, or the calls."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from vendor_verifier.errors import VerifierError
from vendor_verifier.records.plan import Task
from vendor_verifier.records.request import Turn
from vendor_verifier.records.sample import Sample
from vendor_verifier.suites import next_asked

Objects = Sequence[Mapping[str, Any]]
RightCalls = list[tuple[str, dict[str, Any]]]
AnswerKey = dict[str, bool | RightCalls]


def digest(messages: Objects, tools: Objects) -> str:
    """16 hexadecimal digits for what user and system said and for the names of the tools.

    Calls and their results are left out, so that a conversation keeps its digest until the user speaks again.
    """
    said = [[each.get("role"), each.get("content")] for each in messages if each.get("role") in ("user", "system")]
    content = json.dumps([said, [tool["function"]["name"] for tool in tools]], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def known_answers(tasks: Sequence[Task]) -> AnswerKey:
    """The key to the rows of these tasks; of two equal questions the first counts."""
    from vendor_verifier.pipeline.suites import ready_suite

    key: AnswerKey = {}
    # Rows that only say whether to call come last: another evaluation may know the calls.
    for task in sorted(tasks, key=lambda task: task.suite == "trigger"):
        suite = ready_suite(task.suite, task.options, task.samples)
        for sample in task.samples:
            # As the evaluation words it, which may be a text that lists the tools.
            turn = next_asked(suite.play(sample), None, lambda _step: ())
            with suppress(VerifierError):  # a row whose calls cannot be read
                for messages, tools, answer in _right_answers(sample, turn):
                    key.setdefault(digest(messages, tools), answer)
    return key


def _right_answers(sample: Sample, turn: Turn) -> Iterator[tuple[Objects, Objects, bool | RightCalls]]:
    """Messages, tools and right answer of each turn of the user; nothing where the row does not say it."""
    from vendor_verifier.suites.bfcl.function_docs import reference_calls
    from vendor_verifier.suites.bfcl.multi_turn import MORE_FUNCTIONS, read_expected_call
    from vendor_verifier.suites.calls import first_problem, read_calls

    expected, messages, tools = sample.expected, list(turn.messages), list(turn.tools)
    if "calls" in expected:
        stated = read_calls(expected["calls"])
        if not first_problem(stated):
            yield messages, tools, [(each.name, dict(each.parameters)) for each in stated]
    elif "turns" in expected:
        messages = []
        for index, (said, sources) in enumerate(zip(expected["turns"], expected["answer"], strict=False)):
            more = expected["withheld"].get(str(index), ())
            messages += [{"role": "user", "content": MORE_FUNCTIONS}] if more else said
            tools += more
            # Arguments by position get the names of their places.
            names = {each["function"]["name"]: each["function"]["parameters"]["properties"] for each in tools}
            calls: RightCalls = []
            for call in map(read_expected_call, sources):
                placed = zip(names[call.name], call.positional, strict=False)
                calls.append((call.name, {**dict(placed), **call.named}))
            yield messages, tools, calls
    elif "functions" in expected:
        calls = reference_calls(expected)
        # Where any call is right, the row states no arguments.
        yield messages, tools, True if calls and not expected.get("answer") else calls
    elif "expected_tool_call" in expected:
        yield messages, tools, expected["expected_tool_call"]
