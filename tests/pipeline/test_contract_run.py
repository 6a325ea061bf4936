"""The contract from command line to report, against simulated vendors."""

from __future__ import annotations

import json
from typing import Any

import pytest

from vendor_verifier.pipeline.score import score_folder
from vendor_verifier.store import RunFolder

# What no simulated model shows.
NOT_KEPT = {"thinking_switch"}


def configure(bench: Any, **personas: str) -> None:
    """Write config.yaml for ``label=persona``."""
    bench.configure(*(f"{label}: {persona}" for label, persona in personas.items()))


def checks_of(scores: dict[str, Any], label: str) -> dict[str, str]:
    found: dict[str, str] = scores["models"]["simulated-model"]["vendors"][label]["suites"]["contract"]["checks"]
    return found


def test_the_faithful_vendor_keeps_all(bench: Any) -> None:
    """Also where the entry has a temperature and a budget of its own."""
    configure(bench, chat="faithful")
    code, scores = bench.run("--suite", "contract", "--temperature", "0.3", "--max-tokens", "4000")
    assert code == 0
    checks = checks_of(scores, "chat")
    assert {name for name, status in checks.items() if status != "kept"} == NOT_KEPT
    assert checks["thinking_switch"] in ("not_measurable", "not_offered")


def test_the_contract_changes_no_other_figure(bench: Any) -> None:
    """The trigger suite counts the same with and without it, and a refusal is asked once."""
    configure(bench, chat="faithful")
    bench.samples(2)
    _, alone = bench.run("--temperature", "0", output="alone")
    _, both = bench.run("--suite", "trigger", "--suite", "contract", "--temperature", "0")
    for key in ("success_rate", "schema_accuracy", "avg_tokens", "counts", "failures"):
        assert _figures(both)[key] == _figures(alone)[key]
    assert _figures(both)["suites"]["contract"]["score"] == 1.0
    lines = (bench.folder / "run" / "records.jsonl").read_text().splitlines()
    turns = [turn for line in lines for turn in json.loads(line)["turns"]]
    assert {len(turn["attempts"]) for turn in turns} == {1}
    assert any(turn["attempts"][0]["response"] and not turn["attempts"][0]["response"]["streamed"] for turn in turns)


def test_a_refusal_is_an_answer_on_resume(bench: Any) -> None:
    """What was refused is not asked again, and the resumed run finds the same."""
    configure(bench, chat="faithful")
    _, before = bench.run("--suite", "contract")
    records = bench.folder / "run" / "records.jsonl"
    lines = records.read_text().splitlines(keepends=True)
    records.write_text("".join(lines[::2]))
    _, after = bench.run("--suite", "contract", "--incremental")
    assert checks_of(after, "chat") == checks_of(before, "chat")
    assert len(records.read_text().splitlines()) == len(lines)


def test_a_limit_leaves_no_check_out(bench: Any) -> None:
    """The other evaluation takes the limit; the contract is whole, and the run says so."""
    configure(bench, chat="faithful")
    bench.samples(12)
    code, _, err = bench(
        *("--config-file-path", bench.folder / "config.yaml", "--test-file-path", bench.folder / "samples.jsonl"),
        *("--suite", "trigger", "--suite", "contract", "-n", "10", "-o", bench.folder / "run", "--history", "none"),
    )
    assert code == 0
    assert "contract asks all of its 16 questions: --limit does not apply to it" in err
    scores = json.loads((bench.folder / "run" / "scores.json").read_text(encoding="utf-8"))
    assert len(checks_of(scores, "chat")) == 16
    lines = (bench.folder / "run" / "records.jsonl").read_text(encoding="utf-8").splitlines()
    assert len({record["sample"] for record in map(json.loads, lines) if record["suite"] == "trigger"}) == 10


def _figures(scores: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = scores["models"]["simulated-model"]["vendors"]["chat"]
    return found


def _few(questions: int, repeats: int) -> tuple[str, ...]:
    options = {"questions": questions, "repeats": repeats}
    return tuple(word for key, n in options.items() for word in ("--set", f"probes.{key}={n}"))


# Strings, texts to copy, and long prompts.
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


CONFIG = """
simulated-model:
  vendors:
    - {name: simulated, label: official, url: 'sim://faithful', is_baseline: true}
    - {name: simulated, label: poor, url: 'sim://quantised'}
"""


def figures(bench: Any, run: str) -> dict[str, Any]:
    """What does not depend on the clock, by label."""
    scores = json.loads((bench.folder / run / "scores.json").read_text())
    vendors = scores["models"]["simulated-model"]["vendors"]
    keys = ("f1", "success_rate", "schema_accuracy", "avg_tokens", "counts", "failures")
    return {label: {key: row[key] for key in keys} for label, row in vendors.items()}


def test_the_sdk_client_makes_the_same_records(bench: Any) -> None:
    """Same scores; only the manifest says which client it was."""
    (bench.folder / "config.yaml").write_text(CONFIG)
    samples = bench.samples(8)
    for client in ("direct", "sdk"):
        code, _, err = bench(
            "--set", f"run.client={client}", "--test-file-path", samples, "-o", client, "--quiet", "--temperature", "0"
        )
        assert code == 0, err
        manifest = json.loads((bench.folder / client / "manifest.json").read_text())
        assert manifest["settings"]["client"] == client
    assert figures(bench, "sdk") == figures(bench, "direct")


def test_a_protocol_without_an_sdk_is_refused(bench: Any) -> None:
    """Before anything is sent."""
    gemini = CONFIG.replace("sim://quantised'", "http://127.0.0.1:9', validator: gemini")
    (bench.folder / "config.yaml").write_text(gemini)
    code, _, err = bench("--set", "run.client=sdk", "--test-file-path", bench.samples(2), "-o", "run")
    assert code == 2
    assert "gemini" in err
