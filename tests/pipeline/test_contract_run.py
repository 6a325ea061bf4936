"""The contract from command line to report, over real sockets to simulated vendors of several protocols."""

from __future__ import annotations

import json
from typing import Any

import pytest

PROTOCOLS = {"chat": "openai", "responses": "openai_responses", "anthropic": "anthropic", "gemini": "gemini"}
# What a protocol has no word for, or what no simulated model shows.
NOT_KEPT = {
    "chat": {"thinking_switch"},
    "responses": {"thinking_switch", "stop", "refuses_n_0", "refuses_undeclared_tool_choice"},
    "anthropic": {
        *("thinking_switch", "response_format_json_object", "response_format_json_schema"),
        *("refuses_temperature_5", "refuses_n_0", "refuses_undeclared_tool_choice"),
    },
    "gemini": {"thinking_switch", "parallel_tool_calls_off", "refuses_n_0", "refuses_undeclared_tool_choice"},
}


def configure(bench: Any, **entries: tuple[str, str]) -> None:
    """Write config.yaml for ``label=(persona, wire)``."""
    vendors = [
        {"name": "simulated", "label": label, "model_id": "simulated-model", "url": f"sim://{persona}", "validator": w}
        for label, (persona, w) in entries.items()
    ]
    (bench.folder / "config.yaml").write_text(json.dumps({"simulated-model": {"vendors": vendors}}), encoding="utf-8")


def checks_of(scores: dict[str, Any], label: str) -> dict[str, str]:
    found = scores["models"]["simulated-model"]["vendors"][label]["suites"]["contract"]["checks"]
    return {name: check["status"] for name, check in found.items()}


def test_the_faithful_vendor_keeps_all_that_its_protocol_can_say(bench: Any) -> None:
    """Over four protocols, and also where the entry has a temperature and a budget of its own."""
    configure(bench, **{label: ("faithful", wire) for label, wire in PROTOCOLS.items()})
    code, scores = bench.run("--suite", "contract", "--temperature", "0.3", "--max-tokens", "4000")
    assert code == 0
    for label in PROTOCOLS:
        checks = checks_of(scores, label)
        assert {name for name, status in checks.items() if status != "kept"} == NOT_KEPT[label]
        assert "broken" not in checks.values()
    assert checks_of(scores, "anthropic")["thinking_switch"] == "not_measurable"


@pytest.mark.parametrize("seed", ["1", "2"])
def test_no_seed_makes_the_faithful_vendor_break_anything(bench: Any, seed: str) -> None:
    """Its answers differ from seed to seed; what it keeps does not."""
    configure(bench, chat=("faithful", "openai"))
    _, scores = bench.run("--suite", "contract", "--seed", seed)
    assert {name for name, status in checks_of(scores, "chat").items() if status != "kept"} == NOT_KEPT["chat"]


def test_a_vendor_that_is_down_keeps_nothing(bench: Any) -> None:
    """Though it refuses bad values before it fails: nothing is measurable, and the exit code says so."""
    configure(bench, down=("down", "openai"), chat=("faithful", "openai"))
    code, scores = bench.run("--suite", "contract", "--retries", "0")
    assert code == 3
    assert set(checks_of(scores, "down").values()) == {"not_measurable", "not_offered"}
    down = scores["models"]["simulated-model"]["vendors"]["down"]
    assert down["contract"] is None
    records = [json.loads(line) for line in (bench.folder / "run" / "records.jsonl").read_text().splitlines()]
    assert {record["label"] for record in records} == {"down", "chat"}


def test_the_contract_changes_no_other_figure_and_wastes_no_retry(bench: Any) -> None:
    """The trigger suite counts the same with and without it, and a refusal is asked once."""
    configure(bench, chat=("faithful", "openai"))
    bench.samples(2)
    _, alone = bench.run(output="alone")
    _, both = bench.run("--suite", "trigger", "--suite", "contract")
    for key in ("success_rate", "schema_accuracy", "avg_tokens", "counts", "failures", "decisions"):
        assert _figures(both)[key] == _figures(alone)[key]
    assert _figures(both)["contract"] == 1.0
    lines = (bench.folder / "run" / "records.jsonl").read_text().splitlines()
    turns = [turn for line in lines for turn in json.loads(line)["turns"]]
    assert {len(turn["attempts"]) for turn in turns} == {1}
    assert any(turn["attempts"][0]["response"] and not turn["attempts"][0]["response"]["streamed"] for turn in turns)


def test_a_refusal_is_an_answer_on_resume(bench: Any) -> None:
    """What was refused is not asked again, and the resumed run finds the same."""
    configure(bench, chat=("faithful", "openai"))
    _, before = bench.run("--suite", "contract")
    records = bench.folder / "run" / "records.jsonl"
    lines = records.read_text().splitlines(keepends=True)
    records.write_text("".join(lines[::2]))
    _, after = bench.run("--suite", "contract", "--incremental")
    assert checks_of(after, "chat") == checks_of(before, "chat")
    assert len(records.read_text().splitlines()) == len(lines)


def test_a_limit_leaves_no_check_out(bench: Any) -> None:
    """The other evaluation takes the limit; the contract is whole, and the run says so."""
    configure(bench, chat=("faithful", "openai"))
    bench.samples(12)
    code, _, err = bench(
        *("--config-file-path", bench.folder / "config.yaml", "--test-file-path", bench.folder / "samples.jsonl"),
        *("--suite", "trigger", "--suite", "contract", "-n", "10", "-o", bench.folder / "run", "--no-history"),
    )
    assert code == 0
    assert "contract asks all of its 16 questions: --limit does not apply to it" in err
    scores = json.loads((bench.folder / "run" / "scores.json").read_text(encoding="utf-8"))
    assert len(checks_of(scores, "chat")) == 16
    assert _figures(scores)["counts"]["recorded"] == 10


def test_built_in_questions_take_no_file(bench: Any) -> None:
    """A file for them would be read by nobody."""
    configure(bench, chat=("faithful", "openai"))
    code, _, err = bench(
        *("--config-file-path", bench.folder / "config.yaml", "--suite", "contract", "--dry-run"),
        *("--suite-option", "contract.test_file_path=samples.jsonl"),
    )
    assert code == 2
    assert "built in" in err


def _figures(scores: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = scores["models"]["simulated-model"]["vendors"]["chat"]
    return found
