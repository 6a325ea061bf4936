"""Runs over real sockets to simulated vendors are judged: ceiling, findings, gates, blame, and what they print."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

SHARED = Path(__file__).parents[2].parent / "shared" / "data" / "llmvv"


@pytest.fixture
def judged(bench: Any) -> Any:
    """Run three vendors of whom two have a defect; exit code and the judgement."""
    bench.configure("official: faithful", "twin: faithful", "fat: padded", "other: substitute")
    bench.samples(40)

    def start(*arguments: str, **more: str) -> tuple[int, Any]:
        code, scores = bench.run(*arguments, **more)
        return code, scores["models"]["simulated-model"]["judgement"]

    return start


def test_defects_are_named_by_their_findings_and_the_twin_has_none(judged: Any) -> None:
    """Padding and another model are found; between twins nothing but speed may seem to differ."""
    code, judgement = judged()
    names = {(each["label"], each["name"]) for each in judgement["findings"]}
    assert code == 0
    assert {("fat", "prompt_tokens_slope"), ("fat", "prompt_tokens_constant")} & names
    assert ("other", "another_model_served") in names
    assert "twin" not in {label for label, _ in names}
    twins = [
        each for each in judgement["ranking"]["differences"] if {each["first"], each["second"]} == {"official", "twin"}
    ]
    apart = [each["metric"] for each in twins if each["low"] > 0 or each["high"] < 0]
    assert twins
    assert set(apart) <= {"avg_ttft_ms", "tps"}


def test_the_baseline_is_asked_twice_and_gives_the_ceiling(judged: Any, bench: Any) -> None:
    """Its planned count doubles, its self-F1 is there, and every other vendor has a gap to it."""
    _, judgement = judged()
    assert judgement["noise_floor"]["runs"] == 2
    assert judgement["noise_floor"]["ceiling"]["value"] == 1.0
    assert {gap["label"] for gap in judgement["gaps"]} == {"twin", "fat", "other"}
    scores = json.loads((bench.folder / "run" / "scores.json").read_text(encoding="utf-8"))
    vendors = scores["models"]["simulated-model"]["vendors"]
    assert (vendors["official"]["counts"]["planned"], vendors["twin"]["counts"]["planned"]) == (80, 40)


def test_a_resumed_run_asks_only_what_is_missing_of_the_second_repetition(judged: Any, bench: Any) -> None:
    """Records of the baseline's second repetition are due again when they are gone; another number is refused."""
    judged()
    records = bench.folder / "run" / "records.jsonl"
    lines = records.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for line in lines if json.loads(line)["repetition"] == 0]
    records.write_text("".join(kept), encoding="utf-8")
    assert judged("--incremental")[0] == 0
    assert len(records.read_text(encoding="utf-8").splitlines()) == len(lines) == 200
    paths = ("--test-file-path", "samples.jsonl", "-o", "run", "--quiet", "--incremental")
    code, _, err = bench(*paths, "--baseline-repeats", "1")
    assert code == 2
    assert "baseline_repeats" in err


def test_a_failed_gate_exits_with_1_and_an_undecided_one_with_0(judged: Any, bench: Any) -> None:
    """By interval: 40 of 40 does not prove 1.0, and an impossible threshold fails; score and report say the same."""
    code, judgement = judged("--gate", "success_rate >= 1.0")
    assert code == 0
    assert {gate["outcome"] for gate in judgement["gates"]} == {"UNDECIDED"}
    assert bench("report", "run", "--gate", "avg_tokens <= 1")[0] == 1
    code, out, err = bench("score", "run", "--gate", "avg_tokens <= 1")
    assert code == 1
    assert "gates: 4 FAIL" in out
    assert "gate failed: simulated-model: twin: avg_tokens <= 1" in err
    assert bench("report", "run", "--gate", "avg_tokns <= 1")[0] == 2


def test_the_measured_f1_of_the_baseline_can_rank(judged: Any, bench: Any) -> None:
    """With --baseline-f1 self nothing is given: the figure is measured and loses its mark."""
    judged()
    assert "F1 1†" in bench("report", "run")[1]
    code, out, _ = bench("score", "run", "--baseline-f1", "self")
    assert code == 0
    assert "†" not in out


def test_published_results_show_their_bills_the_alias_and_the_broken_sample(bench: Any) -> None:
    """The resellers count 4 to 11 prompt tokens more, the maker serves another name, a broken sample is no one's."""
    if not SHARED.is_dir():
        pytest.skip("the published result files are not beside the checkout")
    files = {
        "official": "results-deepseek-official-deepseek-v3.2-exp.jsonl.gz",
        "novita": "results-openrouter-novita-deepseek-v3.2-exp.jsonl.gz",
        "ppio": "results-ppio-deepseek-v3.2-exp.jsonl.gz",
    }
    given = [f"{label}={SHARED / name}" for label, name in files.items()]
    code, _, err = bench(
        "import", "--baseline", given[0], *given[1:], "--model", "deepseek-v3.2", "-o", "imported",
        "--test-file-path", SHARED / "samples.jsonl", "--no-history",
        "--gate", "success_rate >= 0.9", "--gate", "f1 >= 0.99",
    )  # fmt: skip
    assert code == 1, err
    assert "deepseek-v3.2: novita: f1 >= 0.99" in err
    scores = json.loads((bench.folder / "imported" / "scores.json").read_text(encoding="utf-8"))
    judgement = scores["models"]["deepseek-v3.2"]["judgement"]
    found = {(each["label"], each["name"]): each for each in judgement["findings"]}
    for label in ("novita", "ppio"):
        evidence = found[label, "prompt_tokens_constant"]["evidence"]
        assert 4 <= evidence["median"] <= 11
    alias = found["official", "another_model_served"]["evidence"]
    assert (alias["asked"], alias["served"]) == ("deepseek-reasoner", "deepseek-chat")
    assert alias["answers"] == alias["of"]
    outcomes = {(gate["label"], gate["threshold"]): gate["outcome"] for gate in judgement["gates"]}
    assert outcomes["ppio", "success_rate >= 0.9"] == "PASS"
    assert bench("import", given[0], "--model", "m", "-o", "other", "--gate", "f2 >= 1")[0] == 2
    assert not (bench.folder / "other").exists()
    assert judgement["noise_floor"] is None
    assert sum(counts["causes"]["dataset"] for counts in judgement["blame"].values()) >= 1
