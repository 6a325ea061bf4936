"""Calls are held against the schemas of their own turn in every evaluation that declares tools, and nowhere else."""

from __future__ import annotations

from typing import Any

import pytest
from call_evaluations import FAILURE, SUITES, TWO, native, sample, text

from vendor_verifier.records.record import Attempt, Record, TurnRecord
from vendor_verifier.records.request import Turn
from vendor_verifier.records.sample import Sample
from vendor_verifier.suites.contract import ContractSuite, contract_samples
from vendor_verifier.suites.judging import judged, judged_calls
from vendor_verifier.suites.trigger import KeptCheckers

SCHEMA = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
TOOLS = tuple({"type": "function", "function": {"name": name, "parameters": SCHEMA}} for name in ("a", "b"))
ASKED = Turn(({"role": "user", "content": "Do a."},), TOOLS, {})


def record(suite: str, *finals: Attempt) -> Record:
    return Record("r", "m", "v", "v", suite, "s-1", 0, tuple(TurnRecord((each,)) for each in finals))


@pytest.mark.parametrize("make", SUITES)
def test_a_wrong_argument_is_told_beside_the_suite_s_own_score(make: Any) -> None:
    """The evaluation's values are its own; the verdicts on the calls come with them."""
    suite, question = make(), sample(turn=ASKED)
    answer = native(("a", '{"x": "one"}'), ("c", "{}"))
    score = judged(record(suite.name, answer), suite, question, KeptCheckers())
    assert [call.verdict for call in score.calls] == ["schema_mismatch", "unknown_tool"]
    alone = judged(record(suite.name, text("no call")), suite, question, KeptCheckers())
    assert alone.calls == ()
    assert set(alone.values) == set(score.values)


@pytest.mark.parametrize("make", SUITES)
def test_nothing_is_declared_in_a_prompt(make: Any) -> None:
    """Tools listed in text have no schema that the vendor's API saw."""
    written = make(answer_format="text")
    calls = native(("a", "{}"))
    assert judged(record(written.name, calls), written, sample(turn=ASKED), KeptCheckers()).calls == ()
    suite = make()
    assert judged(record(suite.name, FAILURE), suite, sample(turn=ASKED), KeptCheckers()).calls == ()


def test_every_turn_is_held_against_its_own_tools() -> None:
    """Of a conversation each call says in which turn it stood."""
    suite = SUITES[0](max_iterations=3)
    asked = record(suite.name, native(("a", '{"x": 1}')), native(("b", "{}")))
    found = judged_calls(asked, suite, sample(TWO, ASKED), KeptCheckers())
    assert [(each.turn, each.call.name, each.verdict.verdict) for each in found] == [
        (0, "a", "valid"),
        (1, "b", "schema_mismatch"),
    ]


def test_questions_meant_to_break_something_judge_no_call() -> None:
    """The contract asks for odd things on purpose; its calls join no schema accuracy."""
    suite, question = ContractSuite(), contract_samples()[0]
    answer = native(("nothing_declared", "{}"))
    assert judged(record("contract", answer, answer, answer), suite, question, KeptCheckers()).calls == ()


@pytest.mark.parametrize(("category", "judges"), [("simple_java", 0), ("simple_javascript", 0), ("simple_python", 1)])
def test_types_of_java_are_no_json_schema(category: str, judges: int) -> None:
    """A row of BFCL in another language than Python declares nothing that arguments could break."""
    question = Sample("s-1", ASKED, {"calls": [], "category": category})
    answer = native(("a", '{"x": "1L"}'))
    assert len(judged(record("bfcl", answer), SUITES[2](), question, KeptCheckers()).calls) == judges
