"""The right answers that simulated vendors know: digest of a question → whether to call, or the calls."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from vendor_verifier.records.plan import Task
from vendor_verifier.records.sample import Sample
from vendor_verifier.suites import next_asked

Objects = Sequence[Mapping[str, Any]]
RightCalls = list[tuple[str, dict[str, Any]]]
AnswerKey = dict[str, bool | RightCalls]


def digest(messages: Objects, tools: Objects) -> str:
    """16 hexadecimal digits for what user and system said (no calls, no results) and for the names of the tools."""
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
            if (answer := _right_answer(sample)) is not None:
                key.setdefault(digest(turn.messages, turn.tools), answer)
    return key


def _right_answer(sample: Sample) -> bool | RightCalls | None:
    """The right answer to a row; None where it does not say it, as for a conversation of several turns."""
    from vendor_verifier.suites.bfcl.function_docs import reference_calls
    from vendor_verifier.suites.calls import first_problem, read_calls

    expected = sample.expected
    if "calls" in expected:
        stated = read_calls(expected["calls"])
        return None if first_problem(stated) else [(each.name, dict(each.parameters)) for each in stated]
    if "functions" in expected:
        calls = reference_calls(expected)
        # Where any call is right, the row states no arguments.
        return True if calls and not expected.get("answer") else calls
    return expected.get("expected_tool_call")
