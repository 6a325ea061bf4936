"""Rows put in words: the prompt, its forms, and answers judged where they were asked for."""

from __future__ import annotations

import json
from typing import Any

import pytest
from bfcl_replies import called, said

from vendor_verifier.suites.bfcl.categories import SINGLE_TURN
from vendor_verifier.suites.bfcl.multi_turn import converse
from vendor_verifier.suites.bfcl.prompts import OWN, SENSITIVITY_FORMATS, PromptFormat, shown_documents
from vendor_verifier.suites.bfcl.reference_calls import reference_calls, written_calls
from vendor_verifier.suites.bfcl.replies import Reply
from vendor_verifier.suites.bfcl.service_calls import execute, written_step
from vendor_verifier.suites.bfcl.suite import BfclSuite
from vendor_verifier.suites.bfcl.text_calls import Reading
from vendor_verifier.suites.bfcl.written_rows import Prompting, as_written, sensitivity_rows
from vendor_verifier.values.request import Turn
from vendor_verifier.values.sample import Sample

PROMPTING = Prompting(OWN)


def right_answer(sample: Sample) -> str:
    return written_calls(reference_calls(sample.expected), Reading(**sample.expected["reading"]))


@pytest.mark.parametrize("category", SINGLE_TURN)
def test_every_shipped_row_is_asked_and_judged_in_words(category: str, shipped_rows: dict[str, Sample]) -> None:
    """No tools are declared, the prompt shows every function and the form, and a right written answer is right."""
    rows = [row for row in shipped_rows.values() if row.expected["category"] == category]
    right = 0
    for row in rows:
        sample = as_written(row, PROMPTING)
        system = str(sample.turn.messages[0]["content"])
        assert sample.turn.tools == ()
        assert sample.id != row.id
        assert all(json.dumps(function["name"]) in system for function in row.expected["functions"])
        assert OWN.returned["python"] in system
        score = BfclSuite().judge(sample, said(right_answer(sample)))
        right += score.values["correct"] == 1.0
    # A map of Java is made by a class body, which upstream's reader of written calls drops.
    assert right >= len(rows) - (category == "simple_java")


def test_native_calls_are_no_answer_to_a_question_in_words(shipped_rows: dict[str, Sample]) -> None:
    """A vendor that calls natively where words were asked for has said nothing."""
    sample = as_written(next(iter(shipped_rows.values())), PROMPTING)
    calls = [(name, arguments) for name, arguments in reference_calls(sample.expected)]
    assert BfclSuite().judge(sample, called(*calls)).values["correct"] == 0.0


def test_written_names_keep_their_dots() -> None:
    """Names go out as they are, so a name with an underscore for its dot is another."""
    function = {"name": "a.b", "parameters": {"type": "dict", "properties": {}, "required": []}}
    row = Sample("x", Turn(({"role": "user", "content": "q"},)), {
        "id": "simple_0", "category": "simple_python", "functions": [function], "answer": [{"a.b": {}}],
    })  # fmt: skip
    sample = as_written(row, PROMPTING)
    verdicts = [BfclSuite().judge(sample, said(text)).values["correct"] for text in ("[a.b()]", "[a_b()]")]
    assert verdicts == [1.0, 0.0]


def test_a_row_s_own_system_message_follows_the_prompt() -> None:
    """One system message, the prompt first."""
    messages = ({"role": "system", "content": "Be brief."}, {"role": "user", "content": "q"})
    row = Sample("x", Turn(messages), {"id": "i", "category": "irrelevance", "functions": [], "answer": None})
    first, second = as_written(row, PROMPTING).turn.messages
    assert first["content"].endswith("\n\nBe brief.")
    assert second == messages[1]


def test_sensitivity_asks_each_row_in_26_forms(shipped_rows: dict[str, Sample]) -> None:
    """Ids are upstream's, every form has a prompt of its own, and a right answer in that form is right."""
    rows = [shipped_rows["simple_0"], shipped_rows["parallel_multiple_1"]]
    samples = list(sensitivity_rows(rows, OWN))
    assert len(samples) == len({sample.id for sample in samples}) == 2 * len(SENSITIVITY_FORMATS) == 52
    names = [sample.expected["id"].split(":") for sample in samples]
    assert names[27][0] == "format_sensitivity_27"
    assert names[27][2] == "parallel_multiple_1"
    assert PromptFormat("json", True, "xml", "markdown", "experimental").name == (
        "ret_fmt=json&tool_call_tag=True&func_doc_fmt=xml&prompt_fmt=markdown&style=experimental"
    )
    for sample in samples:
        score = BfclSuite().judge(sample, said(right_answer(sample)))
        # The short form of XML strips the space around a value.
        assert score.values["correct"] == 1.0, sample.expected["id"]
        assert score.details["category"] == "format_sensitivity"


DOCUMENT: dict[str, Any] = {
    "name": "f", "description": "Does it.",
    "parameters": {"type": "dict", "required": ["a"], "properties": {
        "a": {"type": "array", "items": {"type": "integer"}, "description": "All."},
        "b": {"type": "dict", "properties": {"c": {"type": "string", "enum": ["x", "y"]}}, "default": {"c": "x"}},
    }},
}  # fmt: skip


def test_documents_are_shown_in_three_forms() -> None:
    """As JSON, as XML with its commas struck, and as Python."""
    assert json.loads(shown_documents([DOCUMENT], "json")) == [DOCUMENT]
    xml, python = (shown_documents([DOCUMENT], form) for form in ("xml", "python"))  # type: ignore[arg-type]
    assert '    <param name="a" type="array[integer]" required="true">\n      <desc>All.</desc>\n' in xml
    assert "default=\"{'c': 'x'}\"" in xml
    assert "        a (list[integer]): All.\n" in python or "        a (list[int]): All.\n" in python
    assert "            c (str):  Enum values: ['x', 'y'].\n" in python


class Adding:
    def add(self, a: int, b: int) -> dict[str, int]:
        return {"result": a + b}

    def number(self) -> int:
        return 2


def test_calls_as_arguments_run_first() -> None:
    """A written call inside a call is run and its result handed in; an unknown name is upstream's error."""
    calls = [{"add": {"a": {"number": {}}, "b": 1}}, {"x.add": {"a": 1}}]
    step = written_step(Reply("calls", calls))
    assert step is not None
    assert step[0].source == "add(a=number(), b=1)"
    assert execute({"Adding": Adding()}, step) == [
        '{"result": 3}',
        "Error during execution: name 'x' is not defined",
    ]
    # Upstream cannot write an empty object, so such a reply counts as words.
    assert written_step(Reply("calls", [{"add": {"a": {}}}])) is None


class Files:
    def __init__(self) -> None:
        self.made: list[str] = []

    def make(self, name: str) -> str:
        self.made.append(name)
        return f"made {name}"


class FileServices:
    def start(self, classes: Any, initial_config: Any, *, long_context: bool) -> dict[str, object]:
        return {"Files": Files()}


def test_a_conversation_in_words() -> None:
    """Results come back in words of the user, withheld functions too; a reply without calls ends the turn."""
    docs = {"Files": [{"name": "make", "description": "", "parameters": {"type": "dict", "properties": {}}}]}
    tool = {"type": "function", "function": {"name": "make"}}
    turns = [[{"role": "user", "content": "make a"}], []]
    expected = {
        "id": "multi_turn_base_0", "category": "multi_turn_base", "turns": turns, "withheld": {"1": [tool]},
        "initial_config": {}, "involved_classes": ["Files"], "answer": [["make(name='a')"], ["make(name='b')"]],
    }  # fmt: skip
    sample = as_written(Sample("x", Turn(tuple(turns[0])), expected), Prompting(OWN, docs))
    play = converse(sample, FileServices())
    first = next(play)
    assert '"make"' not in str(first.messages[0]["content"])
    second = play.send(said("[make(name='a')]"))
    assert second.messages[-1]["content"] == repr([{"role": "tool", "name": "make(name='a')", "content": "made a"}])
    third = play.send(said("done"))
    assert str(third.messages[-1]["content"]).startswith("[{'name': 'make'")
    play.send(said("[make(name='b')]"))
    with pytest.raises(StopIteration) as ended:
        play.send(said("[]"))
    assert [len(steps) for steps in ended.value.value.turns] == [1, 1]
    score = BfclSuite().judge_conversation(sample, ended.value.value, FileServices())
    assert score.values["correct"] == 1.0
