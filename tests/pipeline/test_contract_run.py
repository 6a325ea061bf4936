"""Evaluations of a vendor's features and the SDK client, from command line to report, against simulated vendors."""

from __future__ import annotations

from typing import Any

import pytest
from workbench import Bench

from vendor_verifier.pipeline.score import score_folder
from vendor_verifier.store import RunFolder

FIGURES = ("success_rate", "schema_accuracy", "avg_tokens", "counts", "failures")


def checks(vendor: dict[str, Any]) -> dict[str, str]:
    found: dict[str, str] = vendor["suites"]["contract"]["checks"]
    return found


def test_the_contract_is_kept_and_changes_no_other_figure(bench: Bench) -> None:
    """Also with a temperature and a limit; a refusal is an answer, which is asked once and not again on resume."""
    bench.configure("chat: faithful")
    bench.samples(12)
    both = ("--suite", "trigger", "--suite", "contract")
    settings = ("--temperature", "0", "--max-tokens", "4000", "-n", "10")
    _, scores = bench.run(*settings, output="alone")
    code, _, err = bench(*bench.words("run", *both, *settings))
    chat = bench.vendors()["chat"]
    assert code == 0
    assert "contract asks all of its 16 questions: --limit does not apply to it" in err
    found = checks(chat)
    assert (len(found), chat["suites"]["contract"]["score"]) == (16, 1.0)
    # What no simulated model shows.
    assert {name for name, status in found.items() if status != "kept"} == {"thinking_switch"}
    assert found["thinking_switch"] in ("not_measurable", "not_offered")
    alone = scores["models"]["simulated-model"]["vendors"]["chat"]
    assert {key: chat[key] for key in FIGURES} == {key: alone[key] for key in FIGURES}
    records = bench.records()
    turns = [turn for record in records for turn in record["turns"]]
    assert len({record["sample"] for record in records if record["suite"] == "trigger"}) == 10
    assert {len(turn["attempts"]) for turn in turns} == {1}
    assert any(turn["attempts"][0]["response"] and not turn["attempts"][0]["response"]["streamed"] for turn in turns)
    file = bench.folder / "run" / "records.jsonl"
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[::2]))
    bench.run(*both, *settings, "--incremental")
    assert checks(bench.vendors()["chat"]) == found
    assert bench.kept() == len(records)


def _few(questions: int, repeats: int) -> tuple[str, ...]:
    return ("--suite", "probes", "--set", f"probes.questions={questions}", "--set", f"probes.repeats={repeats}")


@pytest.mark.slow
def test_another_model_and_padded_counts_are_found(bench: Bench) -> None:
    """Next to an ordinary evaluation whose figures the short answers leave alone; the twin is not named."""
    bench.configure("official: faithful", "twin: faithful", "other: substitute", "padded: padded")
    bench.samples(12)
    bench.run("--suite", "trigger", *_few(20, 10), "--request-concurrency", "20")
    findings = score_folder(RunFolder(bench.folder / "run")).findings
    found = {(each.name, each.vendor) for each in findings if each.name in ("probe_answers", "tokenizer")}
    assert found == {("probe_answers", "other"), ("tokenizer", "padded")}
    twin = bench.vendors()["twin"]
    assert twin["recorded"] == 12
    assert "probes" not in twin["suites"]


def test_a_run_draws_its_own_questions_unless_a_seed_is_set(bench: Bench) -> None:
    """The drawn seed is in the manifest and stays on resume; histories join the runs all the same."""
    bench.configure("official: faithful")
    bench.run(*_few(3, 2), "--max-requests", "20", output="one")
    seed = str(bench.manifest("one")["settings"]["question_seed"])
    bench.run(*_few(3, 2), "--incremental", output="one")
    # Questions; strings, texts to copy and long prompts.
    assert bench.kept("one") == 3 * 2 + 24 + 60 + 5 + 2
    for name, given in (("two", "7"), ("three", seed)):
        bench.run(*_few(3, 2), "--seed", given, "--max-requests", "1", output=name)
    manifests = {name: bench.manifest(name) for name in ("one", "two", "three")}
    assert [str(each["settings"]["question_seed"]) for each in manifests.values()] == [seed, "7", seed]
    asked = {name: (bench.folder / name / "samples" / "probes.jsonl").read_text() for name in manifests}
    assert asked["three"] == asked["one"] != asked["two"]
    assert len({each["tasks"][0]["sha256"] for each in manifests.values()}) == 1


def test_the_sdk_client_makes_the_same_records(bench: Bench) -> None:
    """A protocol without an SDK is refused."""
    file = bench.configure("official: faithful", "poor: quantised")
    bench.samples(8)
    figures = []
    for client in ("direct", "sdk"):
        assert bench.run("--set", f"run.client={client}", "--temperature", "0", output=client)[0] == 0
        assert bench.manifest(client)["settings"]["client"] == client
        vendors = bench.vendors(client)
        figures.append({label: {key: vendors[label][key] for key in ("f1", *FIGURES)} for label in vendors})
    assert figures[0] == figures[1]
    file.write_text(file.read_text().replace("sim://", "http://127.0.0.1:9/").replace("openai", "gemini"))
    code, _, err = bench(*bench.words("run", "--set", "run.client=sdk"))
    assert (code, "gemini" in err) == (2, True), err
