"""The native layout: identities, pairing, and rows that are the data's own fault."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from vendor_verifier.errors import DataError
from vendor_verifier.loaders.base import LoadedSamples
from vendor_verifier.suites.bfcl.native_rows import read_category

QUESTIONS, ANSWERS = Path("BFCL_v3_simple.json"), Path("possible_answer/BFCL_v3_simple.json")


def question(name: str, kind: str = "integer", **more: Any) -> dict[str, Any]:
    properties = {"p": {"type": kind, "description": "P."}}
    function = {
        "name": "do.it",
        "description": "Do it.",
        "parameters": {"type": "dict", "properties": properties, "required": ["p"]},
    }
    return {"id": name, "question": [[{"role": "user", "content": "Do it."}]], "function": [function], **more}


def answer(name: str, value: object = 1) -> dict[str, Any]:
    return {"id": name, "ground_truth": [{"do.it": {"p": [value]}}]}


def lines(rows: list[dict[str, Any]]) -> list[bytes]:
    return [json.dumps(row).encode() + b"\n" for row in rows]


def load(
    questions: list[dict[str, Any]],
    answers: list[dict[str, Any]] | None,
    category: str = "simple_python",
    **options: Any,
) -> LoadedSamples:
    pairs = lines(answers or [])
    return read_category(lines(questions), pairs, category=category, file=QUESTIONS, answer_file=ANSWERS, **options)


def problems(*args: Any, **options: Any) -> list[tuple[int | None, str | None, str]]:
    with pytest.raises(DataError) as caught:
        load(*args, **options)
    return [(problem.line, problem.key, problem.message) for problem in caught.value.problems]


def test_answers_are_joined_by_id() -> None:
    """Answers in another order, or with more rows than questions, still find their question."""
    loaded = load([question("a"), question("b")], [answer("x"), answer("b", 2), answer("a", 1)])
    assert [sample.expected["answer"][0]["do.it"]["p"] for sample in loaded.samples] == [[1], [2]]


def test_identity_is_of_content_and_category() -> None:
    """Equal rows are told apart by number, the id and other rows do not matter, the category does."""
    first, twin, other = load(
        [question("a"), question("b"), question("c", "string")], [answer("a"), answer("b"), answer("c", "x")]
    ).samples
    assert (first.id[-2:], twin.id[-2:], first.id[:16] == twin.id[:16]) == ("-1", "-2", True)
    assert other.id[:16] != first.id[:16]
    (alone,) = load([question("z")], [answer("z")]).samples
    assert alone.id == first.id
    (elsewhere,) = load([question("a")], [answer("a")], "live_simple").samples
    assert elsewhere.id != first.id


def test_a_row_upstream_cannot_check_is_an_error_with_its_line() -> None:
    """An unknown type name, on which upstream crashes, is reported as the data's fault before anything is sent."""
    ((line, key, message),) = problems([question("a"), question("b", "number")], [answer("a"), answer("b")])
    assert (line, key) == (2, "function")
    assert "'p' is of type 'number'" in message


@pytest.mark.parametrize(
    ("row", "key"),
    [
        ({"id": 5}, "id"),
        ({"question": []}, "question"),
        ({"question": ["hi"]}, "question"),
        ({"question": [[], []]}, "question"),
        ({"function": None}, "function"),
        ({"function": [{"name": "f"}]}, "function"),
    ],
)
def test_rows_of_another_shape(row: dict[str, Any], key: str) -> None:
    """Every missing or misshapen field is named."""
    assert problems([question("a", **row) if "id" not in row else {**question("a"), **row}], [answer("a")])[0][1] == key


def test_all_problems_come_together_and_can_be_skipped() -> None:
    """All bad rows are reported at once; skipping leaves them out and lists them."""
    rows = [question("a"), question("lost"), question("gone"), question("b", "number")]
    answers = [answer("a"), answer("b")]
    assert [line for line, _, _ in problems(rows, answers)] == [2, 3, 4]
    loaded = load(rows, answers, skip_bad=True)
    assert (len(loaded.samples), len(loaded.skipped)) == (1, 3)


def test_one_misspelled_answer_id_is_mended_and_said() -> None:
    """One question without answer and one answer without question belong together; two are not guessed."""
    loaded = load([question("a"), question("b")], [answer("a"), answer("bb")])
    assert loaded.defects == ("b: its answer is filed under bb",)
    assert len(problems([question("a"), question("b")], [answer("aa"), answer("bb")])) == 2


SERVICE = {"name": "look", "description": "Look.", "parameters": {"type": "dict", "properties": {}, "required": []}}


def test_multi_turn_rows_bring_their_services_tools() -> None:
    """Tools are those of the involved classes, without the withheld ones, which wait for their turn."""
    row = {
        "id": "multi_turn_miss_func_0",
        "question": [[{"role": "user", "content": "Look."}], []],
        "involved_classes": ["Shelf"],
        "initial_config": {"Shelf": {}},
        "missed_function": {"1": ["put"]},
    }
    docs = {"Shelf": [SERVICE, {**SERVICE, "name": "put"}]}
    (sample,) = load(
        [row], [{"id": row["id"], "ground_truth": [["look()"], []]}], "multi_turn_miss_func", service_docs=docs
    ).samples
    assert [tool["function"]["name"] for tool in sample.turn.tools] == ["look"]
    assert [tool["function"]["name"] for tool in sample.expected["withheld"]["1"]] == ["put"]
    ((_, key, message),) = problems([row], [{"id": row["id"], "ground_truth": [[]]}], "multi_turn_miss_func")
    assert key == "involved_classes"
    assert "Shelf" in message


def test_executable_rows_state_their_calls() -> None:
    """Calls in source become possible answers: places get names, arithmetic is done, anything else is refused."""
    function = {
        "name": "add",
        "parameters": {"type": "dict", "properties": {"a": {"type": "float"}, "b": {"type": "tuple"}}, "required": []},
    }
    function["parameters"]["properties"]["b"]["items"] = {"type": "integer"}  # type: ignore[index]
    row = {"id": "x", "question": [[{"role": "user", "content": "?"}]], "function": [function]}
    (sample,) = load([{**row, "ground_truth": ["add(1/4, b=(1, 2))"]}], None, "exec_simple").samples
    assert sample.expected["answer"] == [{"add": {"a": [0.25], "b": [[1, 2]]}}]
    ((_, key, _),) = problems([{**row, "ground_truth": ["add(open('x'))"]}], None, "exec_simple")
    assert key == "ground_truth"
