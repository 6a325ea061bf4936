"""A run over real sockets to simulated vendors is judged: findings, verdicts, gates, and exit codes."""

from __future__ import annotations

import json
import shutil
from typing import Any

import pytest
from workbench import Bench

from vendor_verifier.pipeline.score import score_folder
from vendor_verifier.store import RunFolder

PRICE = {"input": 0.2, "output": 0.8, "cached": 0.02, "currency": "CNY", "rate": 0.14}
# A gate of the model, and one of all models.
GATES = '  gates: ["avg_tokens <= 1"]\ngates: ["verdict >= down"]\n'
CHEAP, DEAR = "cost_per_valid_call_usd <= 0.002", "cost_per_1000_requests_usd <= 1e-06"


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """A finished run of four vendors of whom two have a defect; one has a price."""
    bench = Bench(tmp_path_factory.mktemp("judged"))
    official = {"label": "official", "url": "sim://faithful", "price": PRICE}
    bench.configure(official, "twin: faithful", "fat: padded", "other: substitute", extra=GATES)
    bench.samples(40)
    assert bench.run("--temperature", "0")[0] == 1
    return bench


def outcomes(scores: Any, vendor: str) -> dict[str, str]:
    return {gate["text"]: gate["outcome"] for gate in scores["gates"] if gate["vendor"] == vendor}


def test_defects_are_found_and_the_twin_has_none(judged: Bench) -> None:
    """Padding and another model are found; between twins nothing but speed may seem to differ."""
    scored = score_folder(RunFolder(judged.folder / "run"))
    found = {(finding.vendor, finding.name): finding for finding in scored.findings}
    assert found["fat", "more_prompt_tokens"].status == "differs"
    assert found["other", "another_model"].status == "differs"
    assert {finding.facet for (label, _), finding in found.items() if label == "twin"} <= {"speed"}
    model = scored.report.models["simulated-model"]
    statuses = {label: vendor.verdict.status for label, vendor in model.vendors.items()}
    assert (statuses["official"], statuses["fat"], statuses["other"]) == ("reference", "differs", "differs")
    # 40 samples are too few to recommend anybody.
    assert (model.choice.kind, list(model.choice.labels)) == ("undecided", ["twin"])


def test_repetitions_that_are_missing_are_asked_again(judged: Bench, bench: Bench) -> None:
    """The baseline's second one is due when it is gone; another number of repetitions is refused."""
    shutil.copytree(judged.folder, bench.folder, dirs_exist_ok=True)
    records = bench.folder / "run" / "records.jsonl"
    lines = records.read_text(encoding="utf-8").splitlines(keepends=True)
    records.write_text("".join(line for line in lines if json.loads(line)["repetition"] == 0), encoding="utf-8")
    assert bench.run("--temperature", "0", "--incremental")[0] == 1
    assert bench.kept() == len(lines) == 200
    code, _, err = bench(*bench.words("run", "--temperature", "0", "--incremental", "--baseline-repeats", "1"))
    assert (code, "baseline-repeats was 2, is 1" in err) == (2, True), err


@pytest.mark.parametrize(
    ("command", "gate", "code", "said"),
    [
        # 40 of 40 does not prove 1.0.
        ("report", "success_rate >= 1.0", 0, "4 not decided"),
        ("report", "avg_tokens <= 1", 1, "twin: avg_tokens <= 1 failed"),
        ("score", "avg_tokens <= 1", 1, "twin: avg_tokens <= 1 failed"),
        ("score", None, 1, "twin: avg_tokens <= 1 failed"),
        ("report", "verdict >= down", 0, "4 passed"),
        ("report", "avg_tokns <= 1", 2, "did you mean avg_tokens?"),
    ],
)
def test_a_failed_gate_exits_with_1_and_an_undecided_one_with_0(
    judged: Bench, bench: Bench, command: str, gate: str | None, code: int, said: str
) -> None:
    """By interval; those of the config are kept with the run, ``--gate`` replaces all."""
    run = shutil.copytree(judged.folder / "run", bench.folder / "run")
    more = () if gate is None else ("--gate", gate)
    found, out, err = bench(command, run, *more, *(("--history", "none") if command == "score" else ()))
    assert (found, said in out + err) == (code, True), out + err


def test_gates_of_money_and_of_a_model(judged: Bench, bench: Bench) -> None:
    """By the config's price, in yuan at its rate; without a price they are not decided."""
    scores = json.loads((judged.folder / "run" / "scores.json").read_text(encoding="utf-8"))
    assert outcomes(scores, "official") == {"verdict >= down": "passed", "avg_tokens <= 1": "failed"}
    out = bench("report", judged.folder / "run", "--gate", CHEAP, "--gate", DEAR, "--format", "json")[1]
    assert outcomes(json.loads(out), "official") == {CHEAP: "passed", DEAR: "failed"}
    assert outcomes(json.loads(out), "twin") == {CHEAP: "not_decided", DEAR: "not_decided"}


def test_the_measured_f1_of_the_baseline_can_rank(bench: Bench) -> None:
    """Given as 1 it is 1; with --baseline-f1 self it is measured between the baseline's own repetitions."""
    bench.configure("official: quantised", "twin: faithful")
    bench.samples(40)
    bench.run()
    assert bench.vendors()["official"]["f1"] == 1.0
    assert bench("score", "run", "--baseline-f1", "self", "--history", "none")[0] == 0
    assert 0 < bench.vendors()["official"]["f1"] <= 1.0
    assert bench.manifest()["score"]["baseline_f1"] == "self"
