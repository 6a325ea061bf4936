"""The contract from command line to report, against simulated vendors."""

from __future__ import annotations

import json
from typing import Any

# What no simulated model shows.
NOT_KEPT = {"thinking_switch"}


def configure(bench: Any, **personas: str) -> None:
    """Write config.yaml for ``label=persona``."""
    bench.configure(*(f"{label}: {persona}" for label, persona in personas.items()))


def checks_of(scores: dict[str, Any], label: str) -> dict[str, str]:
    found: dict[str, str] = scores["models"]["simulated-model"]["vendors"][label]["suites"]["contract"]["checks"]
    return found


def test_the_faithful_vendor_keeps_all(bench: Any) -> None:
    """Also where the entry has a temperature and a budget of its own."""
    configure(bench, chat="faithful")
    code, scores = bench.run("--suite", "contract", "--temperature", "0.3", "--max-tokens", "4000")
    assert code == 0
    checks = checks_of(scores, "chat")
    assert {name for name, status in checks.items() if status != "kept"} == NOT_KEPT
    assert checks["thinking_switch"] in ("not_measurable", "not_offered")


def test_a_vendor_that_is_down_keeps_nothing(bench: Any) -> None:
    """Though it refuses bad values before it fails: nothing is measurable, and the exit code says so."""
    configure(bench, down="down", chat="faithful")
    code, scores = bench.run("--suite", "contract", "--retries", "0")
    assert code == 3
    assert set(checks_of(scores, "down").values()) == {"not_measurable", "not_offered"}
    down = scores["models"]["simulated-model"]["vendors"]["down"]
    assert down["suites"]["contract"]["score"] is None
    records = [json.loads(line) for line in (bench.folder / "run" / "records.jsonl").read_text().splitlines()]
    assert {record["label"] for record in records} == {"down", "chat"}


def test_the_contract_changes_no_other_figure(bench: Any) -> None:
    """The trigger suite counts the same with and without it, and a refusal is asked once."""
    configure(bench, chat="faithful")
    bench.samples(2)
    _, alone = bench.run("--temperature", "0", output="alone")
    _, both = bench.run("--suite", "trigger", "--suite", "contract", "--temperature", "0")
    for key in ("success_rate", "schema_accuracy", "avg_tokens", "counts", "failures"):
        assert _figures(both)[key] == _figures(alone)[key]
    assert _figures(both)["suites"]["contract"]["score"] == 1.0
    lines = (bench.folder / "run" / "records.jsonl").read_text().splitlines()
    turns = [turn for line in lines for turn in json.loads(line)["turns"]]
    assert {len(turn["attempts"]) for turn in turns} == {1}
    assert any(turn["attempts"][0]["response"] and not turn["attempts"][0]["response"]["streamed"] for turn in turns)


def test_a_refusal_is_an_answer_on_resume(bench: Any) -> None:
    """What was refused is not asked again, and the resumed run finds the same."""
    configure(bench, chat="faithful")
    _, before = bench.run("--suite", "contract")
    records = bench.folder / "run" / "records.jsonl"
    lines = records.read_text().splitlines(keepends=True)
    records.write_text("".join(lines[::2]))
    _, after = bench.run("--suite", "contract", "--incremental")
    assert checks_of(after, "chat") == checks_of(before, "chat")
    assert len(records.read_text().splitlines()) == len(lines)


def test_a_limit_leaves_no_check_out(bench: Any) -> None:
    """The other evaluation takes the limit; the contract is whole, and the run says so."""
    configure(bench, chat="faithful")
    bench.samples(12)
    code, _, err = bench(
        *("--config-file-path", bench.folder / "config.yaml", "--test-file-path", bench.folder / "samples.jsonl"),
        *("--suite", "trigger", "--suite", "contract", "-n", "10", "-o", bench.folder / "run", "--history", "none"),
    )
    assert code == 0
    assert "contract asks all of its 16 questions: --limit does not apply to it" in err
    scores = json.loads((bench.folder / "run" / "scores.json").read_text(encoding="utf-8"))
    assert len(checks_of(scores, "chat")) == 16
    lines = (bench.folder / "run" / "records.jsonl").read_text(encoding="utf-8").splitlines()
    assert len({record["sample"] for record in map(json.loads, lines) if record["suite"] == "trigger"}) == 10


def test_built_in_questions_take_no_file(bench: Any) -> None:
    """A file for them would be read by nobody."""
    configure(bench, chat="faithful")
    code, _, err = bench(
        *("--config-file-path", bench.folder / "config.yaml", "--suite", "contract", "--dry-run"),
        *("--set", "contract.test_file_path=samples.jsonl"),
    )
    assert code == 2
    assert "built in" in err


def _figures(scores: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = scores["models"]["simulated-model"]["vendors"]["chat"]
    return found
