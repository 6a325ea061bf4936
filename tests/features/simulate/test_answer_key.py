"""The simulated model knows the answers to the rows that ship, whatever protocol asks, and the vices still show."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest
from protocols import PROTOCOLS, asked_over, heard_over

from vendor_verifier.cli.main import run_app
from vendor_verifier.features.bfcl.source import find_data, load_categories
from vendor_verifier.features.simulate.answer_key import answer_key, shipped_answers
from vendor_verifier.features.simulate.performance import persona_answer
from vendor_verifier.features.simulate.personas import PERSONAS
from vendor_verifier.features.simulate.question import question_of
from vendor_verifier.loaders import read_dataset_file
from vendor_verifier.suites import Suite
from vendor_verifier.suites.bfcl.categories import SINGLE_TURN
from vendor_verifier.suites.bfcl.suite import BfclSuite
from vendor_verifier.suites.mcp_toolbench import MCPToolBenchSuite
from vendor_verifier.suites.tool_calls.calls import calls_in_text
from vendor_verifier.suites.tool_calls.suite import first_turn
from vendor_verifier.suites.tool_correctness import ToolCorrectnessSuite
from vendor_verifier.suites.toolbench import ToolBenchSuite
from vendor_verifier.values.record import Attempt
from vendor_verifier.values.request import Turn
from vendor_verifier.values.sample import Sample

DATASETS = Path(__file__).parents[3] / "datasets"
SUITES: dict[str, tuple[Suite, str]] = {
    "toolbench": (ToolBenchSuite(), "resolved"),
    "mcp_toolbench": (MCPToolBenchSuite(), "resolved"),
    "tool_correctness": (ToolCorrectnessSuite(exact_match=True, compare_parameters=True), "score"),
    "bfcl": (BfclSuite(), "correct"),
}
KEY = shipped_answers()


@cache
def rows(name: str) -> tuple[Sample, ...]:
    """The shipped samples of one evaluation."""
    if name == "bfcl":
        return load_categories(find_data("shipped"), SINGLE_TURN).samples.samples
    path = DATASETS / f"{name}.jsonl"
    return read_dataset_file(path.read_bytes(), dataset=path.name, file=path).samples


def value_over(protocol: str, name: str, sample: Sample, persona: str) -> float | None:
    """What the suite gives this persona's answer over this protocol; None for what the protocol cannot carry."""
    suite, main = SUITES[name]
    play = suite.play(sample)
    turn = next(play)
    _, asked = asked_over(protocol, turn)
    if asked is None:
        return None
    heard = heard_over(protocol, turn, asked, persona, KEY)
    with pytest.raises(StopIteration) as end:
        play.send(Attempt(1, response=heard.response))
    return float(end.value.value().values[main])


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("name", SUITES)
def test_the_faithful_vendor_is_right_in_every_row_over_every_protocol(protocol: str, name: str) -> None:
    """The key survives each protocol's way of narrowing names, changing schemas and writing calls."""
    values = {sample.id: value_over(protocol, name, sample, "faithful") for sample in rows(name)}
    sent = {sample: value for sample, value in values.items() if value is not None}
    assert len(sent) > 0.9 * len(values)
    assert [sample for sample, value in sent.items() if value != 1.0] == []


@pytest.mark.parametrize("persona", ["quantised", "text-leaker", "substitute"])
@pytest.mark.parametrize("name", SUITES)
def test_vendors_with_a_vice_of_the_model_score_lower(persona: str, name: str) -> None:
    """Missed, spoilt, leaked or other calls cost; knowing the answers does not make every vendor good."""
    values = [value_over("chat", name, sample, persona) for sample in rows(name)]
    assert 0.2 < sum(value or 0.0 for value in values) / len(values) < 0.97


def test_whether_to_call_is_known_for_the_trigger_samples() -> None:
    """Every sample is answered as its author meant, unless its tool choice decides."""
    samples = rows("samples")
    assert len(samples) > 300
    for sample in samples:
        question = question_of(sample.turn)
        if question.choice == "auto":
            answer = persona_answer(question, PERSONAS["faithful"], 0, KEY)
            assert bool(answer.calls) == sample.expected["expected_tool_call"], sample.source


def test_answers_in_text_are_known_too() -> None:
    """Asked for a JSON array in the text, the faithful vendor writes the right calls, or an empty one."""
    for sample in rows("tool_correctness"):
        question = question_of(first_turn(sample.turn, "text", None))
        answer = persona_answer(question, PERSONAS["faithful"], 0, KEY)
        assert answer.calls == ()
        made = [(call.name, call.parameters) for call in calls_in_text(answer.text)]
        assert made == [(call["name"], call["parameters"]) for call in sample.expected["calls"]]


def test_what_is_not_in_the_key_is_answered_as_without_one() -> None:
    """A key is about its own questions only."""
    question = question_of(
        Turn(({"role": "user", "content": "Something nobody wrote down."},), rows("bfcl")[0].turn.tools)
    )
    for persona in PERSONAS.values():
        assert persona_answer(question, persona, 0, KEY) == persona_answer(question, persona, 0)


def test_a_sample_without_an_answer_gives_no_key() -> None:
    """Nothing is guessed from a question."""
    assert answer_key([Sample("x-1", rows("bfcl")[0].turn)]) == {}


def test_one_call_at_a_time_where_parallel_calls_are_off() -> None:
    """A question that forbids parallel calls gets the first right call only."""
    sample = next(sample for sample in rows("toolbench") if len(sample.expected["calls"]) > 1)
    turn = Turn(sample.turn.messages, sample.turn.tools, {"parallel_tool_calls": False})
    calls = persona_answer(question_of(turn), PERSONAS["faithful"], 0, KEY).calls
    assert [call.name for call in calls] == [sample.expected["calls"][0]["name"]]


def test_the_demonstration_s_vendors_show_bfcl_by_category(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """From the command line: thirteen categories, 100 % each for the faithful one, less for those with a vice."""
    monkeypatch.chdir(tmp_path)
    vices = ("quantised", "text-leaker", "substitute")
    asked = [word for label in ("official", *vices) for word in ("--vendor", label)]
    config = ["--config-file-path", str(DATASETS.parent / "config_simulated.yaml"), "--request-concurrency", "40"]
    assert run_app(["--suite", "bfcl", *config, *asked, "--quiet", "-o", "run"]) == 0
    shown = capsys.readouterr().out
    page = json.loads(Path("run/bfcl/official.json").read_text(encoding="utf-8"))
    categories = page["run"]["bfcl"]["categories"]
    assert set(categories) == set(SINGLE_TURN)
    assert {result["accuracy"] for result in categories.values()} == {1.0}
    assert all(f"bfcl {category}: 1 " in shown for category in SINGLE_TURN)
    for vice in vices:
        other = json.loads(Path(f"run/bfcl/{vice}.json").read_text(encoding="utf-8"))
        assert other["run"]["bfcl"]["accuracy"] < 1.0
