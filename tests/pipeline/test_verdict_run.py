"""Runs over real sockets to simulated vendors are judged: findings, verdicts, gates, and exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from vendor_verifier.pipeline.score import score_folder
from vendor_verifier.records.results import Finding
from vendor_verifier.store import RunFolder

SHARED = Path(__file__).parents[2].parent / "shared" / "data" / "llmvv"


@pytest.fixture
def judged(bench: Any) -> Any:
    """Run four vendors of whom two have a defect; exit code and scores of the model."""
    bench.configure("official: faithful", "twin: faithful", "fat: padded", "other: substitute")
    bench.samples(40)

    def start(*arguments: str) -> tuple[int, Any]:
        code, scores = bench.run("--temperature", "0", *arguments)
        return code, scores["models"]["simulated-model"]

    return start


def findings_of(folder: Path) -> dict[tuple[str, str], Finding]:
    """All findings of a stored run by vendor and name."""
    return {(found.vendor, found.name): found for found in score_folder(RunFolder(folder)).findings}


def test_defects_are_found_and_the_twin_has_none(judged: Any, bench: Any) -> None:
    """Padding and another model are found; between twins nothing but speed may seem to differ."""
    code, model = judged()
    found = findings_of(bench.folder / "run")
    assert code == 0
    assert found["fat", "more_prompt_tokens"].status == "differs"
    assert found["other", "another_model"].status == "differs"
    assert {finding.facet for (label, _), finding in found.items() if label == "twin"} <= {"speed"}
    statuses = {label: vendor["verdict"]["status"] for label, vendor in model["vendors"].items()}
    assert (statuses["official"], statuses["fat"], statuses["other"]) == ("reference", "differs", "differs")
    # 40 samples are too few to recommend anybody.
    assert (model["choice"]["kind"], model["choice"]["labels"]) == ("undecided", ["twin"])


def test_a_resumed_run_asks_only_what_is_missing(judged: Any, bench: Any) -> None:
    """Records of the baseline's second repetition are due again when they are gone; another number is refused."""
    judged()
    records = bench.folder / "run" / "records.jsonl"
    lines = records.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for line in lines if json.loads(line)["repetition"] == 0]
    records.write_text("".join(kept), encoding="utf-8")
    assert judged("--incremental")[0] == 0
    assert len(records.read_text(encoding="utf-8").splitlines()) == len(lines) == 200
    paths = ("--test-file-path", "samples.jsonl", "-o", "run", "--quiet", "--incremental", "--temperature", "0")
    code, _, err = bench(*paths, "--baseline-repeats", "1")
    assert code == 2
    assert "baseline-repeats was 2, is 1" in err


def test_a_failed_gate_exits_with_1_and_an_undecided_one_with_0(judged: Any, bench: Any) -> None:
    """By interval: 40 of 40 does not prove 1.0, and an impossible threshold fails; score and report say the same."""
    assert judged("--gate", "success_rate >= 1.0")[0] == 0
    scores = json.loads((bench.folder / "run" / "scores.json").read_text(encoding="utf-8"))
    assert [gate["outcome"] for gate in scores["gates"]] == ["not_decided"] * 4
    assert bench("report", "run", "--gate", "avg_tokens <= 1")[0] == 1
    code, out, err = bench("score", "run", "--gate", "avg_tokens <= 1")
    assert code == 1
    assert "4 failed" in out
    assert "twin: avg_tokens <= 1 failed" in err
    assert bench("report", "run", "--gate", "avg_tokns <= 1")[0] == 2


def test_the_measured_f1_of_the_baseline_can_rank(bench: Any) -> None:
    """Given as 1 it is 1; with --baseline-f1 self it is measured between the baseline's own repetitions."""
    bench.configure("official: quantised", "twin: faithful")
    bench.samples(40)

    def f1_of_baseline(scores: Any) -> float:
        found: float = scores["models"]["simulated-model"]["vendors"]["official"]["f1"]
        return found

    assert f1_of_baseline(bench.run()[1]) == 1.0
    assert bench("score", "run", "--baseline-f1", "self")[0] == 0
    scores = json.loads((bench.folder / "run" / "scores.json").read_text(encoding="utf-8"))
    assert scores["settings"]["baseline_f1"] == "self"
    assert 0 < f1_of_baseline(scores) <= 1.0


def test_published_results_show_another_template(bench: Any) -> None:
    """The resellers count 4 to 11 prompt tokens more, and a broken sample is charged to nobody."""
    if not SHARED.is_dir():
        pytest.skip("the published result files are not next to the checkout")
    files = {
        "official": "results-deepseek-official-deepseek-v3.2-exp.jsonl.gz",
        "novita": "results-openrouter-novita-deepseek-v3.2-exp.jsonl.gz",
        "ppio": "results-ppio-deepseek-v3.2-exp.jsonl.gz",
    }
    given = [f"{label}={SHARED / name}" for label, name in files.items()]
    code, _, err = bench(
        "import", "--baseline", given[0], *given[1:], "--model", "deepseek-v3.2", "-o", "imported",
        "--test-file-path", SHARED / "samples.jsonl", "--history", "none",
        "--gate", "success_rate >= 0.8", "--gate", "f1 >= 0.99",
    )  # fmt: skip
    assert code == 1, err
    assert "deepseek-v3.2: novita: f1 >= 0.99" in err
    scores = json.loads((bench.folder / "imported" / "scores.json").read_text(encoding="utf-8"))
    outcomes = {(gate["vendor"], gate["text"]): gate["outcome"] for gate in scores["gates"]}
    assert outcomes["ppio", "success_rate >= 0.8"] == "passed"
    found = findings_of(bench.folder / "imported")
    for label in ("novita", "ppio"):
        template = found[label, "template_tokens"]
        assert template.status == "matches"
        assert template.value is not None
        assert 4 <= template.value <= 11
    vendors = scores["models"]["deepseek-v3.2"]["vendors"]
    assert vendors["ppio"]["success_rate"] == 1.0
    assert any("unusable" in defect for defect in scores["dataset"])
    assert bench("import", given[0], "--model", "m", "-o", "other", "--gate", "f2 >= 1")[0] == 2
    assert not (bench.folder / "other").exists()


PRICE = "price: {input: 0.2, output: 0.8, cached: 0.02, currency: CNY, rate: 0.14}"


def outcomes(scores: Any, vendor: str = "official") -> dict[str, str]:
    return {gate["text"]: gate["outcome"] for gate in scores["gates"] if gate["vendor"] == vendor}


def test_a_gate_under_a_model_is_kept_with_the_run(bench: Any) -> None:
    """``score`` judges by it again; ``--gate`` replaces all."""
    path = bench.configure("official: faithful", "twin: faithful", extra='gates:\n  - "verdict >= down"\n')
    own = 'simulated-model:\n  gates:\n    - "avg_tokens <= 1"\n'
    path.write_text(path.read_text(encoding="utf-8").replace("simulated-model:\n", own, 1), encoding="utf-8")
    bench.samples(40)
    code, scores = bench.run()
    assert (code, outcomes(scores)) == (1, {"verdict >= down": "passed", "avg_tokens <= 1": "failed"})
    assert bench("score", "run")[0] == 1
    assert bench("report", "run", "--gate", "verdict >= down")[0] == 0


def test_a_bad_gate_is_named_by_file_line_and_key(bench: Any) -> None:
    """Before anything is sent, with all others."""
    path = bench.configure("official: faithful")
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(":\n", ':\n  gates:\n    - "f1 => 1"\n', 1), encoding="utf-8")
    bench.samples()
    code, _, err = bench("--test-file-path", "samples.jsonl", "-o", "run", "--gate", "tsp >= 1")
    assert code == 2
    assert "config.yaml:3: simulated-model.gates[0]: gate 'f1 => 1'" in err
    assert "--gate: gate 'tsp >= 1': unknown metric tsp; did you mean tps?" in err
    assert not (bench.folder / "run" / "records.jsonl").exists()
    path.write_text(text.replace(":\n", ":\n  gates: f1\n", 1), encoding="utf-8")
    err = bench("--test-file-path", "samples.jsonl", "-o", "run")[2]
    assert err.count("simulated-model.gates: ") == 1


def test_cost_gates(bench: Any) -> None:
    """By the config's price, in yuan at its rate; without a price they are not decided."""
    path = bench.configure("official: faithful", "twin: faithful")
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("url: sim://faithful\n", f"url: sim://faithful\n      {PRICE}\n", 1), "utf-8")
    bench.samples(40)
    code, scores = bench.run(
        "--gate", "cost_per_valid_call_usd <= 0.002", "--gate", "cost_per_1000_requests_usd <= 0.000001"
    )
    assert code == 1
    cheap, dear = "cost_per_valid_call_usd <= 0.002", "cost_per_1000_requests_usd <= 1e-06"
    assert outcomes(scores) == {cheap: "passed", dear: "failed"}
    assert outcomes(scores, "twin") == {cheap: "not_decided", dear: "not_decided"}
    stored = json.loads((bench.folder / "run" / "manifest.json").read_text(encoding="utf-8"))
    assert stored["entries"][0]["price"]["currency"] == "CNY"
