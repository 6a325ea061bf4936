"""Gates of all models, of one model and of the command line decide the exit code, on figures, money and verdicts."""

from __future__ import annotations

import json
from typing import Any

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


def test_gates_on_verdicts_change_no_verdict(bench: Any) -> None:
    bench.configure("official: faithful", "swap: substitute")
    bench.samples(40)
    code, scores = bench.run("--gate", "verdict >= check", "--gate", "f1 >= 0.99")
    verdict = scores["models"]["simulated-model"]["vendors"]["swap"]["verdict"]
    assert (code, outcomes(scores, "swap")["verdict >= check"], verdict["status"]) == (1, "failed", "differs")
    assert "f1 >= 0.99" not in json.dumps(verdict)


def test_a_gate_that_is_not_decided_fails_nothing(bench: Any) -> None:
    bench.configure("official: faithful", "twin: faithful")
    bench.samples(4)
    code, scores = bench.run("--gate", "success_rate >= 0.99")
    assert (code, outcomes(scores)) == (0, {"success_rate >= 0.99": "not_decided"})


def test_a_failed_gate_comes_before_an_incomplete_run(bench: Any) -> None:
    bench.configure("official: faithful", "shut: locked")
    bench.samples()
    assert bench.run("--retries", "0", output="whole")[0] == 3
    assert bench.run("--retries", "0", "--gate", "avg_tokens <= 1", output="both")[0] == 1
