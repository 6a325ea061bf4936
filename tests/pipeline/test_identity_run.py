"""The suite ``identity`` from command line to report, over sockets to simulated vendors of several protocols."""

from __future__ import annotations

import json
from typing import Any

import pytest

_ASKED = ("--suite", "trigger", "--suite", "identity", "--identity-probes", "16", "--identity-samples", "8")


@pytest.mark.slow
def test_another_model_and_padded_counts_are_named_and_the_twin_is_not(bench: Any) -> None:
    """Over three protocols, beside an ordinary evaluation whose figures the short answers leave alone."""
    entries = {
        "official": ("faithful", "openai"),
        "twin": ("faithful", "openai_responses"),
        "other": ("substitute", "anthropic"),
        "padded": ("padded", "openai"),
    }
    vendors = [
        {"name": "simulated", "label": label, "model_id": "simulated-model", "url": f"sim://{persona}",
         "validator": wire, "is_baseline": label == "official"}
        for label, (persona, wire) in entries.items()
    ]  # fmt: skip
    (bench.folder / "config.yaml").write_text(json.dumps({"simulated-model": {"vendors": vendors}}), encoding="utf-8")
    bench.samples(12)
    _, scores = bench.run(*_ASKED, "--request-concurrency", "20")
    model = scores["models"]["simulated-model"]
    found = {(each["name"], each["label"]) for each in model["judgement"]["findings"]}
    names = ("probes_unlike_baseline", "tokenizer_unlike_baseline")
    assert {each for each in found if each[0] in names} == {(names[0], "other"), (names[1], "padded")}
    assert model["judgement"]["probes"]["twin"]["p_value"] > 0.01
    assert model["vendors"]["twin"]["counts"]["recorded"] == 12
    said = (bench.folder / "run" / "scores.json").read_text(encoding="utf-8")
    assert "answers of one token come as often as the baseline's" in said
    assert "identity" not in model["vendors"]["twin"]["suites"]


def test_the_plan_holds_every_question_and_the_seed_changes_it(bench: Any) -> None:
    bench.configure("official: faithful", "twin: faithful")
    asked = ("--suite", "identity", "--identity-probes", "3", "--identity-samples", "2")
    bench.run(*asked, output="one")
    bench.run(*asked, "--seed", "7", output="two")
    texts = []
    for name in ("one", "two"):
        lines = (bench.folder / name / "records.jsonl").read_text(encoding="utf-8").splitlines()
        assert len(lines) == 2 * (3 * 2 + 24)
        texts.append((bench.folder / name / "samples" / "identity.jsonl").read_text(encoding="utf-8"))
    assert texts[0] != texts[1]
