"""Flags of a load's shape: what is refused, and what a whole run under a shape leaves behind."""

from __future__ import annotations

import os
import re
import signal
from collections import Counter
from typing import Any

import pytest
from costs import PATIENCE_S, await_that
from made_values import some_manifest
from workbench import Bench

from vendor_verifier import verify
from vendor_verifier.errors import ProblemsError
from vendor_verifier.pipeline.score import run_warnings, score_folder
from vendor_verifier.store import RunFolder


@pytest.mark.parametrize(
    ("said", "keys"),
    [
        ({"arrival": "poisson"}, {"run.arrival"}),
        ({"duration": 5, "incremental": True}, {"--duration"}),
        ({"duration": 5, "repeat": 2}, {"--duration"}),
        ({"request_rate": float("inf")}, {"--request-rate"}),
        ({"duration": 0.0, "warmup": -1}, {"--duration", "--warmup"}),
    ],
)
def test_what_cannot_be_meant_is_refused(bench: Bench, said: dict[str, Any], keys: set[str]) -> None:
    """Whoever mixes flags that rule each other out hears of all of them before anything is made."""
    bench.configure("official: faithful")
    with pytest.raises(ProblemsError) as caught:
        verify("config.yaml", output_dir="run", **said)
    assert {str(problem.key) for problem in caught.value.problems} == keys


# --- whole runs on simulated vendors


@pytest.fixture
def twins(bench: Bench) -> Bench:
    bench.configure("official: faithful", "twin: faithful")
    bench.samples(3)
    return bench


def test_a_run_by_duration_is_complete(twins: Bench) -> None:
    """It has as many repetitions as the time allowed, loses nothing, and cannot be gone on with."""
    code, scores = twins.run("--duration", "1", "--warmup", "2", "--slo", "ttft_ms <= 60000", "--slo", "tps >= 1e9")
    assert (code, scores["complete"]) == (0, True)
    for label, vendor in twins.vendors().items():
        own = [record for record in twins.records() if record["label"] == label]
        told = twins.manifest()["load"][f"simulated-model: {label}"]
        assert len(own) == told["begun"] == vendor["planned"] == vendor["succeeded"] > 6
        assert told["warmup"] == 2
        assert Counter(record["repetition"] for record in own)[0] == 3
        assert vendor["success_rate"] == 1
    assert twins.vendors()["twin"]["f1"] == 1
    page = twins("report", "run", "--format", "md")[1]
    assert "for 1 s" in page
    assert "oodput" in page
    assert twins("score", "run", "--history", "none")[0] == 0
    assert twins.vendors() == scores["models"]["simulated-model"]["vendors"]
    code, _, err = twins(*twins.words("run", "--incremental"))
    assert (code, "is a run with a duration" in err) == (2, True), err


def test_a_run_is_not_gone_on_with_under_another_load(twins: Bench) -> None:
    """Times of an open and of a closed loop would be in one distribution: refused, with both loads named."""
    code, scores = twins.run("--request-rate", "50", "--max-requests", "1")
    assert (code, scores["complete"]) == (3, False)
    code, _, err = twins(*twins.words("run", "--incremental"))
    assert code == 2
    assert "load was 50 requests per second (constant), is fixed concurrency" in err
    assert twins.run("--incremental", "--request-rate", "50.0")[0] == 0


@pytest.mark.slow
@pytest.mark.parametrize("flags", [("--request-concurrency", "2"), ()])
def test_where_a_cap_held_requests_back_ttft_ranks(bench: Bench, flags: tuple[str, ...]) -> None:
    """With the user's cap the time waited ranks, and the report says so; without one the time from sending."""
    bench.configure("official: slow", "twin: slow")
    bench.samples(40)
    # So many at once that two places cannot be enough, on whatever machine.
    assert bench.run("--request-rate", "2000", "--baseline-repeats", "1", *flags)[0] == 0
    assert bench.manifest()["ranks_by_schedule"] == bool(flags)
    scored = score_folder(RunFolder(bench.folder / "run"))
    for label, vendor in bench.vendors().items():
        rows = scored.records[scored.records["label"] == label]
        sent, due = (float(rows[name].mean()) for name in ("ttft_ms", "ttft_due_ms"))
        assert vendor["avg_ttft_ms"] == pytest.approx(due if flags else sent)
        assert not flags or due > 2 * sent
    page = bench("report", "run", "--format", "md")[1]
    assert ("avg_ttft_ms counts from the due time" in page) == bool(flags)


def test_slos_of_the_config_and_of_a_later_score(bench: Bench) -> None:
    """What is no SLO is refused with its line and leaves the stored run as it was."""
    bench.configure("official: faithful", "slow: slow", extra='slos:\n  - "ttft_ms <= 60000"\n')
    bench.samples(6)
    bench.run()
    assert "ttft_ms <= 60000" in bench("report", "run", "--format", "md")[1]
    assert bench("score", "run", "--slo", "tps >= 1e9", "--history", "none")[0] == 0
    assert "tps >= 1e9" in bench("report", "run", "--format", "md")[1]
    before = bench.manifest()
    code, _, err = bench("score", "run", "--slo", "ttft_ms.p95 <= 3", "--history", "none")
    assert (code, err.count("use --gate")) == (2, 1)
    assert bench.manifest() == before
    bench.configure("official: faithful", extra='slos:\n  - "ttft_ms.p95 <= 3"\n')
    code, _, err = bench("--dry-run")
    assert (code, "config.yaml:10" in err) == (2, True), err


def test_a_dry_run_tells_the_load(twins: Bench) -> None:
    file = ("--test-file-path", "samples.jsonl", "--dry-run")
    code, out, _ = twins(*file, "--request-rate", "10", "--duration", "6", "--warmup", "5")
    assert code == 0
    assert "10 requests per second (constant) for 6 s, 5 warm-up requests" in out
    assert "total: 130 requests" in out
    assert re.search(r"requests, at most \d+ at a time", out)
    assert "requests, 5 at a time" in twins(*file)[1]
    assert "sent as often as time allows" in twins(*file, "--duration", "6")[1]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_run_by_duration_that_was_cut_short(twins: Bench, number: int) -> None:
    """Stopped or killed half-way, the stored run is incomplete, loses nothing that was written, and says so."""
    with twins.start("--duration", "60", own_group=True) as process:
        await_that(lambda: twins.kept() >= 40)
        os.killpg(process.pid, number)
        process.communicate(timeout=PATIENCE_S)
    twins("score", "run", "--history", "none")
    vendors = twins.vendors().values()
    assert not score_folder(RunFolder(twins.folder / "run")).report.complete
    assert sum(each["recorded"] for each in vendors) == twins.kept() >= 40
    assert all(each["succeeded"] == each["recorded"] for each in vendors)
    assert [vendor["f1"] for vendor in vendors] == [1, 1]


OFFERED = {
    "begun": 100, "repetitions": 1, "cap": 8, "held_back": 0, "warmup": 4, "warmup_failed": 0,
    "lag_p99_ms": 50.0,
}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, None),
        ({"lag_p99_ms": None}, None),
        ({"held_back": 7, "lag_p99_ms": 900.0}, "m: a: 7 requests started late because 8 were already in flight"),
        ({"lag_p99_ms": 50.6}, "m: a: requests started up to 51 ms late"),
        ({"warmup_failed": 4}, "m: a: the whole warm-up failed (4 requests)"),
    ],
)
def test_a_load_that_differs_from_the_plan_is_reported(changes: dict[str, Any], words: str | None) -> None:
    """A full cap, a late process and a warm-up that warmed nothing are each one sentence; 50 ms at p99 are none."""
    found = list(run_warnings(some_manifest(load={"m: a": OFFERED | changes})))
    assert [text.startswith(words or "") for text in found] == [True] * (words is not None)
