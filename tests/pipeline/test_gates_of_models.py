"""Gates of all models, of one model and of the command line are held together, on figures and on money."""

from __future__ import annotations

import json
from typing import Any

import pytest

from vendor_verifier.config.gates import StatedGate
from vendor_verifier.errors import Problem, ProblemsError
from vendor_verifier.pipeline.gates import check_gates, read_gates, with_stated
from vendor_verifier.records.manifest import ScoreRequest

PRICE = "price: {input: 0.2, output: 0.8, cached: 0.02, currency: CNY, rate: 0.14}"


def stated(text: str, model: str | None = None) -> StatedGate:
    return StatedGate(text, model, Problem("", key="gates[0]"))


def test_a_models_own_gate_replaces_the_same_one_of_all_models() -> None:
    """Of the same figure on the same side the nearer one stands, others are added, and other models keep theirs."""
    config = (stated("f1 >= 0.9"), stated("success_rate >= 0.98"), stated("f1 >= 0.7", "m"), stated("tps >= 20", "m"))
    request = with_stated(ScoreRequest(gates=("avg_ttft_ms.p95 <= 2000",)), config, ())
    assert [str(one) for one in read_gates(request.gates_of("m"), ())] == [
        "f1 >= 0.7", "success_rate >= 0.98", "tps >= 20", "avg_ttft_ms.p95 <= 2000",
    ]  # fmt: skip
    assert [str(one) for one in read_gates(request.gates_of("other"), ())] == [
        "f1 >= 0.9", "success_rate >= 0.98", "avg_ttft_ms.p95 <= 2000",
    ]  # fmt: skip


def test_a_bound_on_each_side_and_one_by_the_ceiling_stand_together() -> None:
    """They say different things of one figure."""
    texts = ("f1 >= 0.9", "f1 >= ceiling - 0.03", "f1 <= 0.99")
    assert len(read_gates(texts, ())) == 3


def test_every_gate_that_cannot_be_read_is_named_by_its_place() -> None:
    """The config's by their key, the command line's by the flag, all at once."""
    config = (StatedGate("f1 => 1", "m", Problem("", line=7, key="m.gates[0]")),)
    with pytest.raises(ProblemsError) as caught:
        check_gates(config, ("tsp >= 1",), ())
    first, second = caught.value.problems
    assert (first.line, first.key) == (7, "m.gates[0]")
    assert (second.key, "did you mean tps?" in second.message) == ("--gate", True)


def test_a_gate_under_a_model_is_held_and_kept_with_the_run(bench: Any) -> None:
    """It stands in the manifest, so that `score` holds the run against it again; `--gate` there replaces all."""
    path = bench.configure("official: faithful", "twin: faithful", extra='gates:\n  - "success_rate >= 0.5"\n')
    text = path.read_text(encoding="utf-8")
    own = 'simulated-model:\n  gates:\n    - "avg_tokens <= 1"\n'
    path.write_text(text.replace("simulated-model:\n", own, 1), encoding="utf-8")
    bench.samples()
    code, scores = bench.run()
    assert code == 1
    gates = scores["models"]["simulated-model"]["judgement"]["gates"]
    assert {(gate["threshold"], gate["outcome"]) for gate in gates} == {
        ("success_rate >= 0.5", "PASS"), ("avg_tokens <= 1", "FAIL"),
    }  # fmt: skip
    assert bench("score", "run")[0] == 1
    assert bench("report", "run", "--gate", "success_rate >= 0.5")[0] == 0


def test_a_bad_gate_under_a_model_is_named_by_file_line_and_key(bench: Any) -> None:
    """Before anything is sent."""
    path = bench.configure("official: faithful")
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(":\n", ':\n  gates:\n    - "f1 => 1"\n', 1), encoding="utf-8")
    bench.samples()
    code, _, err = bench("--test-file-path", "samples.jsonl", "-o", "run")
    assert code == 2
    assert "config.yaml:3: simulated-model.gates[0]: threshold 'f1 => 1'" in err
    path.write_text(text.replace(":\n", ":\n  gates: f1\n", 1), encoding="utf-8")
    err = bench("--test-file-path", "samples.jsonl", "-o", "run")[2]
    assert err.count("expected a list of conditions") == 1


def test_cost_gates_pass_fail_and_say_when_there_is_no_price(bench: Any) -> None:
    """By the config's price, in yuan at its rate; where nobody knows a price it is said how to state one."""
    path = bench.configure("official: faithful", "twin: faithful")
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("url: sim://faithful\n", f"url: sim://faithful\n      {PRICE}\n", 1), "utf-8")
    bench.samples(40)
    code, scores = bench.run(
        "--gate", "cost_per_valid_call_usd <= 0.002", "--gate", "cost_per_1000_requests_usd <= 0.000001",
        "--gate", "wasted_per_1000_requests_usd <= 0.000001", "--gate", "wasted_per_1000_requests_usd >= 0",
    )  # fmt: skip
    assert code == 1
    judgement = scores["models"]["simulated-model"]["judgement"]
    gates = {(gate["label"], " ".join(gate["threshold"].split()[:2])): gate for gate in judgement["gates"]}
    outcomes = {name: gate["outcome"] for (label, name), gate in gates.items() if label == "official"}
    assert outcomes == {
        "cost_per_valid_call_usd <=": "PASS",
        "cost_per_1000_requests_usd <=": "FAIL",
        "wasted_per_1000_requests_usd <=": "UNDECIDED",  # nothing was wasted in 80 requests, which is not never
        "wasted_per_1000_requests_usd >=": "PASS",
    }
    held = gates["official", "cost_per_valid_call_usd <="]["estimate"]
    assert 0 < held["low"] <= held["value"] <= held["high"] < 0.002
    unknown = gates["twin", "cost_per_valid_call_usd <="]
    assert unknown["outcome"] == "UNDECIDED"
    assert "no price is known; add `price:`" in unknown["reason"]
    stored = json.loads((bench.folder / "run" / "manifest.json").read_text(encoding="utf-8"))
    assert stored["entries"][0]["price"]["currency"] == "CNY"


def test_gates_on_verdicts_and_findings_are_held_after_the_verdicts_and_change_none(bench: Any) -> None:
    """From the config and the command line; a failed one stands beside the thresholds and is no reason itself."""
    bench.configure("official: faithful", "twin: faithful", "swap: substitute", extra='gates:\n  - "no id_families"\n')
    bench.samples(60)
    code, scores = bench.run("--gate", "verdict >= as sold", "--gate", "no another_model_served")
    assert code == 1
    model = scores["models"]["simulated-model"]
    outcomes = {(gate["label"], gate["threshold"]): gate["outcome"] for gate in model["judgement"]["gates"]}
    assert outcomes["swap", "no another_model_served"] == outcomes["swap", "verdict >= as sold"] == "FAIL"
    assert outcomes["twin", "no another_model_served"] == outcomes["twin", "no id_families"] == "PASS"
    verdict = model["vendors"]["swap"]["verdict"]
    assert verdict["status"] == "not_as_sold"
    assert "gate" not in json.dumps(verdict)
    code, _, err = bench("score", "run", "--gate", "no anoter_model_served")
    assert (code, "did you mean another_model_served?" in err) == (2, True)


def test_a_vendor_without_enough_evidence_leaves_its_gate_undecided(bench: Any) -> None:
    """Nothing fails by it, and `run` ends with 0 whatever the verdicts are."""
    bench.configure("official: faithful", "swap: substitute")
    bench.samples(4)
    code, scores = bench.run("--gate", "verdict >= unusable")
    assert code == 0
    gates = scores["models"]["simulated-model"]["judgement"]["gates"]
    assert {gate["outcome"] for gate in gates} <= {"UNDECIDED", "PASS"}


def test_a_gate_that_fails_comes_before_a_run_that_is_not_whole(bench: Any) -> None:
    """Exit code 1 before 3: a vendor that refuses our key takes nothing from what is proven of another."""
    bench.configure("official: faithful", "shut: locked")
    bench.samples()
    assert bench.run("--retries", "0", output="whole")[0] == 3
    assert bench.run("--retries", "0", "--gate", "avg_tokens <= 1", output="both")[0] == 1
