"""The suite ``probes`` from command line to report, over sockets to simulated vendors."""

from __future__ import annotations

import json
from typing import Any

import pytest

from vendor_verifier.pipeline.score import score_folder
from vendor_verifier.store import RunFolder


def _few(questions: int, repeats: int) -> tuple[str, ...]:
    options = {"questions": questions, "repeats": repeats}
    return tuple(word for key, n in options.items() for word in ("--set", f"probes.{key}={n}"))


# Strings, texts to copy, long prompts, and the prompt that is repeated.
OTHERS = 24 + 60 + 5 + 2
_SMALL = ("--suite", "probes", *_few(3, 2))


def _manifest(bench: Any, run: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((bench.folder / run / "manifest.json").read_text(encoding="utf-8"))
    return found


def _questions(bench: Any, run: str) -> str:
    text: str = (bench.folder / run / "samples" / "probes.jsonl").read_text(encoding="utf-8")
    return text


@pytest.mark.slow
def test_another_model_and_padded_counts_are_found(bench: Any) -> None:
    """Beside an ordinary evaluation whose figures the short answers leave alone; the twin is not named."""
    bench.configure("official: faithful", "twin: faithful", "other: substitute", "padded: padded")
    bench.samples(12)
    _, scores = bench.run("--suite", "trigger", "--suite", "probes", *_few(20, 10), "--request-concurrency", "20")
    model = scores["models"]["simulated-model"]
    findings = score_folder(RunFolder(bench.folder / "run")).findings
    found = {(each.name, each.vendor) for each in findings if each.name in ("probe_answers", "tokenizer")}
    assert found == {("probe_answers", "other"), ("tokenizer", "padded")}
    assert model["vendors"]["twin"]["recorded"] == 12
    assert "probes" not in model["vendors"]["twin"]["suites"]


def test_a_run_draws_its_own_questions_unless_a_seed_is_set(bench: Any) -> None:
    """The drawn seed is in the manifest; histories join the runs all the same."""
    bench.configure("official: faithful")
    for name, more in (("one", ()), ("two", ("--seed", "7"))):
        bench.run(*_SMALL, *more, output=name)
        assert len((bench.folder / name / "records.jsonl").read_bytes().splitlines()) == 3 * 2 + OTHERS
    one, two = _manifest(bench, "one"), _manifest(bench, "two")
    assert two["settings"]["question_seed"] == 7
    bench.run(*_SMALL, "--seed", str(one["settings"]["question_seed"]), output="three")
    assert _questions(bench, "three") == _questions(bench, "one") != _questions(bench, "two")
    assert one["tasks"][0]["sha256"] == two["tasks"][0]["sha256"]


def test_a_resumed_run_keeps_its_questions(bench: Any) -> None:
    bench.configure("official: faithful", "twin: faithful")
    bench.run(*_SMALL, "--max-requests", "20")
    seed = _manifest(bench, "run")["settings"]["question_seed"]
    bench.run(*_SMALL, "--incremental")
    assert _manifest(bench, "run")["settings"]["question_seed"] == seed
    assert len((bench.folder / "run" / "records.jsonl").read_bytes().splitlines()) == 2 * (3 * 2 + OTHERS)


@pytest.mark.slow
def test_probes_are_mixed_with_other_questions(bench: Any) -> None:
    """No third of the run is all probes or none, and one probe is not asked in one go."""
    bench.configure("official: faithful", "twin: faithful")
    bench.samples(60)
    bench.run("--suite", "trigger", "--suite", "probes", *_few(8, 5), "--seed", "4")
    lines = (bench.folder / "run" / "records.jsonl").read_bytes().splitlines()
    sent = [(record["suite"], record["sample"]) for record in map(json.loads, lines) if record["label"] == "twin"]
    third = len(sent) // 3
    for begin in (0, third, 2 * third):
        share = sum(suite == "probes" for suite, _ in sent[begin : begin + third]) / third
        assert 0.3 < share < 0.8
    askings = [place for place, (_, sample) in enumerate(sent) if sample.startswith("probes-000-")]
    assert max(askings) - min(askings) > third
