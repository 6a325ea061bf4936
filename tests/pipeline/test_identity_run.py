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


@pytest.mark.slow
def test_log_probabilities_are_compared_where_they_are_given(bench: Any) -> None:
    """A model in fewer bits and made-up numbers are named; who gives none is told why, and not held against it."""
    entries = {
        "official": ("faithful", "openai"),
        "twin": ("faithful", "gemini"),
        "wordless": ("faithful", "anthropic"),
        "refusing": ("no-logprobs", "openai"),
        "coarse": ("four-bit", "openai"),
        "inventor": ("logprob-inventor", "openai"),
    }
    vendors = [
        {"name": "simulated", "label": label, "model_id": "simulated-model", "url": f"sim://{persona}",
         "validator": wire, "is_baseline": label == "official"}
        for label, (persona, wire) in entries.items()
    ]  # fmt: skip
    (bench.folder / "config.yaml").write_text(json.dumps({"simulated-model": {"vendors": vendors}}), encoding="utf-8")
    asked = ("--identity-probes", "12", "--identity-samples", "5", "--suite-option", "identity.logprobs=true")
    _, scores = bench.run("--suite", "identity", *asked, "--request-concurrency", "20")
    model = scores["models"]["simulated-model"]
    found = {(each["name"], each["label"]) for each in model["judgement"]["findings"] if "logprobs" in each["name"]}
    assert found == {("logprobs_unlike_baseline", "coarse"), ("logprobs_invented", "inventor")}
    tests = model["judgement"]["logprobs"]
    assert tests["twin"]["p_value"] == 1.0
    assert tests["twin"]["n"] == 60
    assert {label: test["not_measurable"] for label, test in tests.items() if test["not_measurable"]} == {
        "wordless": "this protocol gives none",
        "refusing": "requests for them are refused; the questions were asked without",
        "inventor": "the numbers come from no model",
    }
    code, shown, _ = bench(
        "explain", bench.folder / "run", "--vendor", "coarse", "--sample", "identity-000-000", "--suite", "identity"
    )
    assert code == 0
    assert "stated for the first token: " in shown


_SMALL = ("--suite", "identity", "--identity-probes", "3", "--identity-samples", "2")


def _questions(bench: Any, run: str) -> str:
    text: str = (bench.folder / run / "samples" / "identity.jsonl").read_text(encoding="utf-8")
    return text


def _manifest(bench: Any, run: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((bench.folder / run / "manifest.json").read_text(encoding="utf-8"))
    return found


@pytest.mark.slow
def test_every_run_makes_questions_of_its_own_unless_a_seed_is_stated(bench: Any) -> None:
    """The seed that was drawn stands in the manifest; histories join the runs all the same."""
    bench.configure("official: faithful", "twin: faithful")
    for name, more in (("one", ()), ("two", ()), ("three", ("--seed", "7")), ("four", ("--seed", "7"))):
        bench.run(*_SMALL, *more, output=name)
        assert len((bench.folder / name / "records.jsonl").read_bytes().splitlines()) == 2 * (3 * 2 + 24)
    one, two, three, four = (_questions(bench, name) for name in ("one", "two", "three", "four"))
    assert len({one, two, three}) == 3
    assert three == four
    stored = _manifest(bench, "one")
    again = _manifest(bench, "three")
    assert stored["settings"]["seed"] == 0
    assert again["settings"]["question_seed"] == again["settings"]["seed"] == 7
    bench.run(*_SMALL, "--seed", str(stored["settings"]["question_seed"]), output="five")
    assert _questions(bench, "five") == one
    assert stored["tasks"][0]["sha256"] == again["tasks"][0]["sha256"]
    assert stored["identity"]["samples"] == again["identity"]["samples"]


def test_a_run_is_gone_on_with_in_its_own_questions(bench: Any) -> None:
    """What was not asked yet is asked from the stored seed; another seed is another run."""
    bench.configure("official: faithful", "twin: faithful")
    bench.run(*_SMALL, "--max-requests", "20")
    seed = _manifest(bench, "run")["settings"]["question_seed"]
    bench.run(*_SMALL, "--incremental")
    assert _manifest(bench, "run")["settings"]["question_seed"] == seed
    records = [json.loads(line) for line in (bench.folder / "run" / "records.jsonl").read_bytes().splitlines()]
    assert len(records) == 2 * (3 * 2 + 24)
    paths = ("--config-file-path", bench.folder / "config.yaml", "-o", bench.folder / "run")
    code, _, err = bench(*paths, *_SMALL, "--incremental", "--seed", "3")
    assert code == 2
    assert "other question_seed" in err


@pytest.mark.slow
def test_probes_are_sent_among_the_other_questions_and_those_of_one_probe_far_apart(bench: Any) -> None:
    """No third of the run is all probes or none, and one probe is not asked in one go."""
    bench.configure("official: faithful", "twin: faithful")
    bench.samples(60)
    bench.run("--suite", "trigger", *_SMALL[:2], "--identity-probes", "8", "--identity-samples", "5", "--seed", "4")
    lines = (bench.folder / "run" / "records.jsonl").read_bytes().splitlines()
    sent = [(record["suite"], record["sample"]) for record in map(json.loads, lines) if record["label"] == "twin"]
    suites = [suite for suite, _ in sent]
    third = len(suites) // 3
    for begin in (0, third, 2 * third):
        share = suites[begin : begin + third].count("identity") / third
        assert 0.3 < share < 0.8
    askings = [place for place, (_, sample) in enumerate(sent) if sample.startswith("identity-000-")]
    assert max(askings) - min(askings) > third
