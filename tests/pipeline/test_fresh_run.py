"""``--fresh-prompts`` from command line to report, over sockets: new bytes, old ids, and who knew the old ones."""

from __future__ import annotations

import json
from typing import Any

import pytest


def _records(bench: Any, run: str = "run") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (bench.folder / run / "records.jsonl").read_bytes().splitlines()]


def _samples(bench: Any, run: str = "run") -> dict[str, dict[str, Any]]:
    lines = (bench.folder / run / "samples" / "trigger.jsonl").read_bytes().splitlines()
    return {sample["id"]: sample for sample in map(json.loads, lines)}


@pytest.mark.slow
def test_two_runs_send_other_bytes_under_the_same_ids(bench: Any) -> None:
    """What was really sent stands in the records and among the samples; histories join the runs."""
    bench.configure("official: faithful", "twin: faithful")
    for name in ("one", "two"):
        bench.run("--limit", "40", "--fresh-prompts", output=name)
    one, two = _samples(bench, "one"), _samples(bench, "two")
    assert one.keys() == two.keys()
    fresh = [name for name, sample in one.items() if sample["tags"]["prompt"] == "fresh"]
    assert len(fresh) == 20
    assert all(one[name]["turn"]["messages"] != two[name]["turn"]["messages"] for name in fresh)
    asked = {(record["sample"], record["asked"]) for record in _records(bench, "one") if record.get("asked")}
    assert {name for name, _ in asked} == set(fresh)
    assert len(asked) == 20, "all vendors are asked the same bytes"
    manifests = [json.loads((bench.folder / name / "manifest.json").read_text()) for name in ("one", "two")]
    assert manifests[0]["identity"]["samples"] == manifests[1]["identity"]["samples"]
    assert manifests[0]["settings"]["question_seed"] != manifests[1]["settings"]["question_seed"]


def test_a_run_is_gone_on_with_in_the_same_words(bench: Any) -> None:
    bench.configure("official: faithful", "twin: faithful")
    bench.run("--limit", "20", "--fresh-prompts", "--max-requests", "15")
    before = _samples(bench)
    bench.run("--limit", "20", "--fresh-prompts", "--incremental")
    records = _records(bench)
    assert len(records) == 3 * 20
    assert _samples(bench) == before
    by_sample: dict[str, set[str | None]] = {}
    for record in records:
        by_sample.setdefault(record["sample"], set()).add(record.get("asked"))
    assert all(len(each) == 1 for each in by_sample.values())
    paths = ("--config-file-path", bench.folder / "config.yaml", "-o", bench.folder / "run", "--limit", "20")
    code, _, err = bench(*paths, "--incremental")
    assert code == 2
    assert "fresh_prompts" in err


def test_samples_without_a_template_are_refused(bench: Any) -> None:
    bench.configure("official: faithful")
    paths = ("--config-file-path", bench.folder / "config.yaml", "--test-file-path", bench.samples(4))
    code, _, err = bench(*paths, "-o", bench.folder / "run", "--fresh-prompts")
    assert code == 2
    assert "has a `template`" in err


@pytest.mark.slow
def test_a_vendor_that_recognises_published_questions_is_named_and_no_other(bench: Any) -> None:
    """Another model answers what it does not recognise; one that is worse throughout is not charged with that."""
    bench.configure("official: faithful", "twin: faithful", "knows: recogniser", "worse: substitute")
    _, scores = bench.run("--fresh-prompts", "--seed", "31", "--request-concurrency", "20")
    judgement = scores["models"]["simulated-model"]["judgement"]
    named = [each["label"] for each in judgement["findings"] if each["name"] == "known_prompts_favoured"]
    assert named == ["knows"]
    assert judgement["halves"]["twin"]["agrees_fresh"] > 0.95
    said = (bench.folder / "run" / "scores.json").read_text(encoding="utf-8")
    assert "on questions in new words it decides as the baseline about as often" in said


@pytest.mark.slow
def test_an_honest_vendor_over_another_protocol_is_charged_with_nothing(bench: Any) -> None:
    """Gemini's words for schemas are shorter, its calls come whole: neither cuts a prompt nor holds a stream back."""
    entries = {"official": "openai", "gemini": "gemini", "anthropic": "anthropic", "responses": "openai_responses"}
    vendors = [
        {"name": "simulated", "label": label, "model_id": "simulated-model", "url": "sim://faithful",
         "validator": wire, "is_baseline": label == "official"}
        for label, wire in entries.items()
    ]  # fmt: skip
    (bench.folder / "config.yaml").write_text(json.dumps({"simulated-model": {"vendors": vendors}}), encoding="utf-8")
    _, scores = bench.run("--fresh-prompts", "--seed", "31", "--limit", "120", "--request-concurrency", "8")
    found = scores["models"]["simulated-model"]["judgement"]["findings"]
    assert [(each["name"], each["label"]) for each in found if each["label"] != "official"] == []
