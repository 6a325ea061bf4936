"""The main job from command line to files, over real sockets to simulated vendors."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from costs import PATIENCE_S

REPORTS = ("manifest.json", "samples/trigger.jsonl", "records.jsonl", "scores.json", "ranking.csv", "report.md")


def vendors_of(scores: dict[str, Any]) -> dict[str, Any]:
    """label → figures of the one model."""
    found: dict[str, Any] = scores["models"]["simulated-model"]["vendors"]
    return found


def decisions(figures: dict[str, Any]) -> dict[str, Any]:
    """What does not depend on the clock."""
    keys = ("f1", "success_rate", "schema_accuracy", "counts", "planned", "succeeded", "failures")
    return {key: figures[key] for key in keys}


def test_a_run_leaves_every_file_private_and_scores_every_vendor(bench: Any) -> None:
    """All outputs exist, readable by nobody else, and a faithful twin agrees with the baseline completely."""
    bench.configure("official: faithful", "twin: faithful", "padded: padded")
    bench.samples()
    code, scores = bench.run()
    folder = bench.folder / "run"
    assert code == 0
    assert all((folder / name).exists() for name in REPORTS)
    modes = {stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("*") if path.is_file()}
    assert modes == {0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    vendors = vendors_of(scores)
    assert scores["models"]["simulated-model"]["baseline"] == "official"
    assert vendors["twin"]["f1"] == 1.0
    assert vendors["padded"]["avg_tokens"] > vendors["official"]["avg_tokens"]
    assert vendors["twin"]["planned"] == vendors["twin"]["succeeded"] == 12


def test_resuming_gives_the_same_result_as_an_uninterrupted_run(bench: Any) -> None:
    """Half of the records lost, then --incremental: same scores, and nothing that had succeeded is asked again."""
    bench.configure("official: faithful", "twin: faithful", "poor: quantised", "cutter: cutter")
    bench.samples(20)
    _, straight = bench.run("--retries", "0", "--baseline-repeats", "1")
    records = bench.folder / "run" / "records.jsonl"
    lines = records.read_bytes().splitlines(keepends=True)
    records.write_bytes(b"".join(lines[::2]) + lines[1][:40])
    before = {json.loads(line)["sample"] + json.loads(line)["label"] for line in lines[::2]}
    _, resumed = bench.run("--retries", "0", "--incremental", "--baseline-repeats", "1")
    assert {label: decisions(figures) for label, figures in vendors_of(resumed).items()} == {
        label: decisions(figures) for label, figures in vendors_of(straight).items()
    }
    again = [json.loads(line) for line in records.read_bytes().splitlines()[len(lines[::2]) :]]
    succeeded_before = {
        record["sample"] + record["label"]
        for record in map(json.loads, lines[::2])
        if record["turns"][-1]["attempts"][-1]["failure"] is None
    }
    assert before
    assert not succeeded_before & {record["sample"] + record["label"] for record in again}


def test_resuming_with_another_plan_is_refused(bench: Any) -> None:
    """Records of two different questions must never meet in one run."""
    bench.configure("official: faithful", "twin: faithful")
    bench.samples(3)
    bench.run()
    bench.samples(4)
    code, _, err = bench(
        "--config-file-path", bench.folder / "config.yaml", "--test-file-path", bench.folder / "samples.jsonl",
        "-o", bench.folder / "run", "--incremental",
    )  # fmt: skip
    assert code == 2
    assert "other samples" in err


def test_a_vendor_that_only_fails_scores_nothing_and_ranks_last(bench: Any) -> None:
    """Success 0, F1 0 or null, last on what it was measured on, and the run is called incomplete."""
    bench.configure("official: faithful", "poor: quantised", "dead: down")
    bench.samples()
    code, scores = bench.run("--retries", "0")
    dead = vendors_of(scores)["dead"]
    assert code == 3
    assert dead["success_rate"] == 0
    assert dead["f1"] in (0, None)
    assert all(dead[name] is None for name in ("schema_accuracy", "avg_tokens", "avg_ttft_ms", "tps"))
    assert dead["irf"] == min(figures["irf"] for figures in vendors_of(scores).values())
    assert dead["place"] == 3
    assert dead["verdict"]["facets"]["reliability"]["status"] in ("down", "not_tested")


def test_a_refused_key_stops_that_vendor_at_once(bench: Any) -> None:
    """A 401 costs a handful of requests, and every planned sample still has its record."""
    bench.configure("official: faithful", "twin: faithful", "locked: locked")
    config = bench.folder / "config.yaml"
    config.write_text(config.read_text().replace("url: sim://locked", "url: sim://locked\n      concurrency: 2"))
    bench.samples(30)
    code, scores = bench.run()
    locked = vendors_of(scores)["locked"]
    assert code == 3
    assert locked["failures"]["auth"] <= 4
    assert locked["failures"]["auth"] + locked["failures"]["skipped"] == 30
    assert vendors_of(scores)["twin"]["succeeded"] == 30


def test_a_refused_key_stops_and_names_every_entry_that_uses_it(bench: Any) -> None:
    """Two entries of one account stop together, and both are told, not one in the other's place."""
    bench.configure("official: faithful", "first: locked", "second: locked")
    bench.samples(8)
    code, scores = bench.run()
    assert code == 3
    for label in ("first", "second"):
        assert any(f"simulated-model: {label} was stopped" in warning for warning in scores["warnings"])


def test_dry_run_says_what_would_be_sent_and_needs_no_key(bench: Any) -> None:
    """Requests per vendor, addresses and key names are printed; no folder appears."""
    (bench.folder / "config.yaml").write_text(
        "kimi-k2.5:\n  vendors:\n    - {name: moonshot, model_id: kimi-k2.5, is_baseline: true}\n"
    )
    bench.samples(7)
    code, out, _ = bench("--dry-run", "--test-file-path", bench.folder / "samples.jsonl", "--repeat", "3")
    assert code == 0
    assert "kimi-k2.5 / moonshot (baseline): https://api.moonshot.ai/v1" in out
    assert "key from moonshot" in out
    assert not (bench.folder / "runs").exists()


def test_score_and_report_need_no_network_and_can_change(bench: Any) -> None:
    """A stored run is judged again under another policy, and rendered in any format without being run again."""
    bench.configure("official: faithful", "cutter: cutter")
    bench.samples(40)
    _, missed = bench.run("--retries", "0")
    code, out, _ = bench("score", bench.folder / "run", "--undecided", "exclude", "--json")
    excluded = json.loads(out)
    assert code == 0
    assert vendors_of(excluded)["cutter"]["measured"]["f1"] < vendors_of(missed)["cutter"]["measured"]["f1"]
    code, out, _ = bench("report", bench.folder / "run", "--format", "csv")
    assert code == 0
    assert out.splitlines()[1].startswith("simulated-model,")
    code, out, _ = bench("report", bench.folder / "run", "--format", "md,json", "-o", bench.folder / "elsewhere")
    assert sorted(path.name for path in (bench.folder / "elsewhere").iterdir()) == ["report.md", "scores.json"]


def test_repeat_asks_everything_again_and_averages_pairs_of_runs(bench: Any) -> None:
    """Two repetitions give four ordered pairs, twice the records and the same F1 for a deterministic twin."""
    bench.configure("official: faithful", "twin: faithful")
    bench.samples(5)
    _, scores = bench.run("--repeat", "2")
    twin = vendors_of(scores)["twin"]
    assert twin["planned"] == 10
    assert twin["counts"]["pairs"] == 4
    assert twin["f1"] == 1.0


def test_vendor_concurrency_one_still_asks_everybody_everything(bench: Any) -> None:
    """Turns rotate through the vendors; nobody is left out."""
    bench.configure("official: faithful", "twin: faithful", "padded: padded")
    bench.samples(30)
    code, scores = bench.run("--vendor-concurrency", "1", "--baseline-repeats", "1")
    assert code == 0
    assert {figures["succeeded"] for figures in vendors_of(scores).values()} == {30}


def test_bad_samples_are_an_error_by_line_or_counted(bench: Any) -> None:
    """A broken line stops the run before anything is sent, unless it is to be skipped and then reported."""
    bench.configure("official: faithful")
    path = bench.samples(3)
    path.write_text(path.read_text() + "{broken\n")
    code, _, err = bench("--test-file-path", path, "-o", bench.folder / "run")
    assert code == 2
    assert "samples.jsonl:4" in err
    assert not (bench.folder / "run").exists()
    _, scores = bench.run("--set", "run.skip_bad_samples=true")
    assert any("samples.jsonl:4" in warning for warning in scores["warnings"])


@pytest.mark.slow  # a whole process that is interrupted; what ends in it has tests of its own
@pytest.mark.parametrize("first", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_exits_with_its_signal_prints(bench: Any, first: signal.Signals) -> None:
    """Ctrl-C in the middle: exit 130 or 143, a table, whole records only; then --incremental completes the run."""
    bench.configure("official: faithful", "slow: slow")
    bench.samples(200)
    command = [
        sys.executable, "-m", "vendor_verifier.cli.main", "run", "--request-concurrency", "2",
        "--baseline-repeats", "1",
        "--test-file-path", str(bench.folder / "samples.jsonl"), "-o", str(bench.folder / "run"),
    ]  # fmt: skip
    with subprocess.Popen(
        command, cwd=bench.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=_environment()
    ) as process:
        _wait_for_records(bench.folder / "run" / "records.jsonl", 10)
        process.send_signal(first)
        out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 128 + first, err
    assert "official" in out
    lines = (bench.folder / "run" / "records.jsonl").read_bytes().splitlines(keepends=True)
    assert 10 <= len(lines) < 400
    assert all(line.endswith(b"\n") for line in lines)
    code, scores = bench.run("--incremental", "--request-concurrency", "50", "--baseline-repeats", "1")
    assert code == 0
    assert {figures["succeeded"] for figures in vendors_of(scores).values()} == {200}
    assert vendors_of(scores)["slow"]["f1"] == 1.0


def _environment() -> dict[str, str]:
    root = str(Path(__file__).parents[2])
    return {**os.environ, "PYTHONPATH": root}


def _wait_for_records(path: Path, count: int) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if path.exists() and path.read_bytes().count(b"\n") >= count:
            return
        time.sleep(0.02)
    pytest.fail(f"no {count} records in time")
