"""When an evaluation read no call of a vendor, the report says so and names the option that reads them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from observed import observed

from vendor_verifier.records.event import ToolCall
from vendor_verifier.records.record import Attempt, Failure, Record, Response, TurnRecord
from vendor_verifier.records.request import Turn
from vendor_verifier.records.sample import Sample
from vendor_verifier.scoring.observation_table import ObservationTable
from vendor_verifier.scoring.score_run import unread_calls
from vendor_verifier.suites.toolbench import ToolBenchSuite
from vendor_verifier.suites.trigger import TriggerSuite

CALLS = [{"name": "a", "parameters": {}}]
TOOLS = ({"type": "function", "function": {"name": "a", "parameters": {"type": "object"}}},)
WRITTEN = Attempt(1, response=Response(text=json.dumps(CALLS), finish_reason="stop"))
NATIVE = Attempt(1, response=Response(tool_calls=(ToolCall("a", "{}"),), finish_reason="tool_calls"))
PROSE = Attempt(1, response=Response(text="I cannot.", finish_reason="stop"))
FAILED = Attempt(1, failure=Failure("http_5xx", "headers", "x", 500))


def told(suite: ToolBenchSuite, *answers: Attempt) -> list[str]:
    columns = ObservationTable()
    for number, attempt in enumerate(answers):
        sample = Sample(f"s-{number}", Turn(({"role": "user", "content": "?"},), TOOLS), {"calls": CALLS})
        record = Record("run", "m", "v", "v", "toolbench", sample.id, 0, (TurnRecord((attempt,)),))
        columns.add(observed(record, sample, suite))
    return list(unread_calls({("m", "v"): columns}, [TriggerSuite(), suite]))


@pytest.mark.parametrize(
    ("options", "answers", "words"),
    [
        ({}, (WRITTEN, WRITTEN, PROSE, FAILED), "any of 3 answers: 2 of them hold calls in their text"),
        ({}, (WRITTEN,), "--answer-format text (suites.toolbench.answer_format: text)"),
        ({"answer_format": "text"}, (NATIVE, PROSE), "1 of them make native calls; read them with --answer-format nat"),
        ({}, (PROSE,) * 3, "there is none, neither natively nor in their texts"),
    ],
)  # fmt: skip
def test_a_vendor_of_whom_no_call_was_read_is_told_with_the_option_that_mends_it(
    options: dict[str, Any], answers: tuple[Attempt, ...], words: str
) -> None:
    """The sentence counts answers, not failures, and names flag and key."""
    (sentence,) = told(ToolBenchSuite(**options), *answers)
    assert sentence.startswith("m: v: toolbench read no call in any of ")
    assert words in sentence


@pytest.mark.parametrize("answers", [(NATIVE, WRITTEN, WRITTEN), (PROSE,), (FAILED,) * 5, ()])
def test_nothing_is_told_where_some_call_was_read_or_nothing_was_answered(answers: tuple[Attempt, ...]) -> None:
    """One call that was read shows that reading works; failures and one silent answer are no fault of reading."""
    assert told(ToolBenchSuite(), *answers) == []
