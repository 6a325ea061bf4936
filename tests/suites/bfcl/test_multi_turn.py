"""Conversations with simulated services of our own: the loop, the judgement, and what upstream overlooks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from call_evaluations import TOOLS, called, failed, judged, said

from vendor_verifier.errors import DataError
from vendor_verifier.records.record import Attempt
from vendor_verifier.records.request import Turn
from vendor_verifier.records.sample import Sample
from vendor_verifier.suites.bfcl.multi_turn import STEP_LIMIT, read_expected_call
from vendor_verifier.suites.bfcl.suite import BfclSuite


class Shelf:
    """Keeps jars; the smallest service with a state, a result, an error and a private part."""

    def __init__(self, jars: list[str]) -> None:
        self.jars = jars
        self._touched = 0

    def put(self, jar: str) -> dict[str, int]:
        self._touched += 1
        self.jars.append(jar)
        return {"count": len(self.jars)}

    def put_all(self, jars: list[str]) -> None:
        self.jars = jars

    def look(self) -> str:
        return ",".join(self.jars)

    def drop(self, jar: str) -> bool:
        self.jars.remove(jar)
        return True

    def _secret(self) -> None: ...


def shelves(classes: Sequence[str], initial_config: Mapping[str, Any], _long: bool) -> Mapping[str, object]:
    return {name: Shelf(list(initial_config[name]["jars"])) for name in classes}


def row(answer: list[list[str]]) -> Sample:
    turns = [[{"role": "user", "content": f"turn {index}"}] for index in range(len(answer))]
    expected = {
        "id": "multi_turn_base_0", "category": "multi_turn_base", "turns": turns, "withheld": {}, "answer": answer,
        "initial_config": {"Shelf": {"jars": ["plum"]}}, "involved_classes": ["Shelf"],
    }  # fmt: skip
    return Sample("0" * 16 + "-1", Turn(tuple(turns[0]), TOOLS), expected)


PUT = called(("put", {"jar": "fig"}))
DONE = said("done")


@pytest.mark.parametrize(
    ("attempts", "error"),
    [
        ((DONE, DONE), "multi_turn:empty_turn_model_response"),
        ((called(("put", {"jar": "date"})), DONE, DONE), "multi_turn:instance_state_mismatch"),
        (
            (PUT, DONE, called(("put", {"jar": "x"}), ("drop", {"jar": "x"})), DONE),
            "multi_turn:execution_response_mismatch",
        ),
        ((PUT, failed()), "multi_turn:inference_error"),
        ((called(("look", {})),) * (STEP_LIMIT + 1), "multi_turn:force_terminated"),
    ],
)
def test_wrong_conversations(attempts: tuple[Attempt, ...], error: str) -> None:
    score = judged(BfclSuite(services=shelves), row([["put('fig')"], ["look()"]]), *attempts)
    assert (score.values["correct"], score.details["error_type"]) == (0.0, error)


def test_history_holds_calls_and_results() -> None:
    """The next question holds every call with its id and every result, as text, under that id."""
    play = BfclSuite(services=shelves).play(row([["put('fig')"]]))
    first = next(play)
    assert first.messages == ({"role": "user", "content": "turn 0"},)
    second = play.send(called(("put", {"jar": "fig"}), ("drop", {"jar": "none"}), ("_secret", {})))
    said_by_model, *results = second.messages[1:]
    assert [call["id"] for call in said_by_model["tool_calls"]] == ["id0", "id1", "id2"]
    assert [result["tool_call_id"] for result in results] == ["id0", "id1", "id2"]
    assert [result["content"] for result in results] == [
        '{"count": 2}',
        "Error during execution: list.remove(x): x not in list",
        "Error during execution: name '_secret' is not defined",
    ]


def test_judging_twice_and_after_a_wrong_run_gives_the_same() -> None:
    """Services are fresh for every play and judgement: upstream keeps them and lets one run spoil the next."""
    suite, sample = BfclSuite(services=shelves), row([["put_all(['a', 'b'])", "put('c')"]])
    wrong, right = called(("put", {"jar": "zzz"})), called(("put_all", {"jars": ["a", "b"]}), ("put", {"jar": "c"}))
    for attempt, value in ((wrong, 0.0), (right, 1.0), (right, 1.0)):
        play = suite.play(sample)
        next(play)
        play.send(attempt)
        with pytest.raises(StopIteration) as end:
            play.send(DONE)
        assert [end.value.value().values["correct"] for _ in range(2)] == [value] * 2


@pytest.mark.parametrize("source", ["f", "a.f()", "f(g())", "f(", "__import__('os').system('true')", "f(**d)"])
def test_anything_but_literals_is_refused(source: str) -> None:
    """Nothing in a row can make us run code: what is no plain call with literals is the data's fault."""
    with pytest.raises(DataError):
        read_expected_call(source)
