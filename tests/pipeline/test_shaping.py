"""Flags of a load's shape: what is refused, and what a whole run under a shape leaves behind."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from costs import PATIENCE_S
from made_values import some_manifest

from vendor_verifier.config.run_config import run_options
from vendor_verifier.errors import ProblemsError
from vendor_verifier.pipeline.plan import foreseen, places, read_load
from vendor_verifier.pipeline.score import run_warnings, score_folder
from vendor_verifier.records.plan import Entry, LoadShape
from vendor_verifier.records.request import Endpoint
from vendor_verifier.store import RunFolder


def entry(account: str) -> Entry:
    return Entry("m", account, "v", Endpoint("http://h", "m"), "openai", account)


def refused(**said: Any) -> list[str]:
    with pytest.raises(ProblemsError) as caught:
        read_load(run_options(**said))
    return [str(problem.key) for problem in caught.value.problems]


def test_everything_that_contradicts_itself_is_told_at_once() -> None:
    """Whoever mixes flags that rule each other out hears of all of them before anything is made."""
    keys = refused(request_rate=5, replay_schedule=Path("x.csv"), ramp_up=3, repeat=3, incremental=True)
    assert set(keys) == {"--request-rate", "run.ramp_up", "run.replay_schedule"}


@pytest.mark.parametrize(
    ("said", "keys"),
    [
        ({"arrival": "poisson"}, ["run.arrival"]),
        ({"duration": 5, "incremental": True}, ["--duration"]),
        ({"duration": 5, "repeat": 2}, ["--duration"]),
        ({"request_rate": float("inf")}, ["--request-rate"]),
        ({"duration": 0.0, "warmup": -1}, ["--duration", "--warmup"]),
    ],
)
def test_what_cannot_be_meant_is_refused(said: dict[str, Any], keys: list[str]) -> None:
    """Each flag that cannot be kept is named."""
    assert refused(**said) == keys


def test_an_open_loop_is_not_capped_unless_somebody_says_so() -> None:
    """Five at a time without a rate; at a rate as many as there are files for, shared by the accounts."""
    two = [entry("a"), entry("b")]
    assert places(LoadShape(), None, two) == 5
    assert places(LoadShape(request_rate=9), 7, two) == 7
    alone, shared = (places(LoadShape(request_rate=9), None, entries) for entries in (two[:1], two))
    assert 5 < shared <= alone <= 10_000


def test_what_a_shape_will_ask_is_foreseen() -> None:
    """As planned without a time; what is due in it, also while the rate grows and at random; else nobody knows."""
    schedule = tuple(float(n) for n in range(10))
    assert foreseen(LoadShape(request_rate=4, warmup=3), 12) == 12
    assert foreseen(LoadShape(request_rate=4, duration_s=2.5), 12) == 10
    assert foreseen(LoadShape(request_rate=4, duration_s=4, ramp_up_s=4), 12) == 8
    assert foreseen(LoadShape(request_rate=50, arrival="poisson", duration_s=20), 12) == 1000
    assert foreseen(LoadShape(schedule=schedule, warmup=2), 12) == 8
    assert foreseen(LoadShape(schedule=schedule, warmup=2, duration_s=3), 12) == 3
    assert foreseen(LoadShape(duration_s=2), 12) is None


# --- whole runs on simulated vendors


def vendors_of(scores: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = scores["models"]["simulated-model"]["vendors"]
    return found


def manifest_of(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    return found


def test_a_run_by_duration_is_complete(bench: Any) -> None:
    """Repetitions are as many as the time allowed, nothing counts as lost, F1 is over whole repetitions, scoring again
    gives the same, and it cannot be gone on with."""
    bench.configure("official: faithful", "twin: faithful")
    bench.samples(3)
    code, scores = bench.run("--duration", "1.5", "--warmup", "2", "--slo", "ttft_ms <= 60000", "--slo", "tps >= 1e9")
    folder, manifest = bench.folder / "run", manifest_of(bench.folder / "run")
    records = [json.loads(line) for line in (folder / "records.jsonl").read_bytes().splitlines()]
    assert code == 0
    assert scores["complete"]
    for label, vendor in vendors_of(scores).items():
        own = [record for record in records if record["label"] == label]
        told = manifest["load"][f"simulated-model: {label}"]
        assert len(own) == told["begun"] == vendor["planned"] == vendor["succeeded"] > 6
        assert told["warmup"] == 2
        assert Counter(record["repetition"] for record in own)[0] == 3
        assert vendor["success_rate"] == 1
    assert vendors_of(scores)["twin"]["f1"] == 1
    assert "for 1.5 s" in (folder / "report.md").read_text(encoding="utf-8")
    assert "oodput" in (folder / "report.md").read_text(encoding="utf-8")
    assert bench("score", folder, "--history", "none")[0] == 0
    again = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
    assert again["models"] == scores["models"]
    paths = ("--config-file-path", bench.folder / "config.yaml", "--test-file-path", bench.folder / "samples.jsonl")
    code, _, err = bench(*paths, "-o", folder, "--incremental")
    assert code == 2
    assert "lasted a stated time or followed a schedule" in err


def test_a_run_is_not_gone_on_with_under_another_load(bench: Any) -> None:
    """Times of an open and of a closed loop would stand in one distribution: refused, with both loads named."""
    bench.configure("official: faithful")
    bench.samples(2)
    paths = ("--test-file-path", "samples.jsonl", "-o", "run")
    assert bench(*paths, "--request-rate", "50", "--max-requests", "1")[0] == 3
    assert not json.loads((bench.folder / "run" / "scores.json").read_text(encoding="utf-8"))["complete"]
    code, _, err = bench(*paths, "--incremental")
    assert code == 2
    assert "load was 50 requests per second (constant), is fixed concurrency" in err
    assert bench(*paths, "--incremental", "--request-rate", "50.0")[0] == 0


@pytest.mark.slow
@pytest.mark.parametrize("flags", [("--request-concurrency", "2"), ()])
def test_where_a_cap_held_requests_back_ttft_ranks(bench: Any, flags: tuple[str, ...]) -> None:
    """The user's cap: figure, rank and interval are of the time waited, and the report says so once;
    without one there is no note and times from sending rank. Both are in the evidence."""
    bench.configure("official: slow", "twin: slow")
    bench.samples(40)
    # So many at once that two places cannot be enough, on whatever machine.
    code, scores = bench.run("--request-rate", "2000", "--baseline-repeats", "1", *flags)
    assert code == 0
    entries = manifest_of(bench.folder / "run")["entries"]
    assert [entry["cap"] is not None for entry in entries] == [bool(flags)] * 2
    scored = score_folder(RunFolder(bench.folder / "run"))
    for label, vendor in vendors_of(scores).items():
        rows = scored.records[scored.records["label"] == label]
        sent, due = (float(rows[name].mean()) for name in ("ttft_ms", "ttft_due_ms"))
        assert vendor["avg_ttft_ms"] == pytest.approx(due if flags else sent)
        assert not flags or due > 2 * sent
    report = (bench.folder / "run" / "report.md").read_text("utf-8")
    assert ("avg_ttft_ms counts from the due time" in report) == bool(flags)


def test_slos_of_the_config_and_of_a_later_score(bench: Any) -> None:
    """SLOs stand in the config or come with `score`, which asks nobody; what is no SLO is refused with its line and
    leaves the stored run as it was."""
    bench.configure("official: faithful", "slow: slow", extra='slos:\n  - "ttft_ms <= 60000"\n')
    bench.samples(6)
    bench.run()
    assert "ttft_ms <= 60000" in (bench.folder / "run" / "report.md").read_text(encoding="utf-8")
    code, _, _ = bench("score", bench.folder / "run", "--slo", "tps >= 1e9", "--history", "none")
    assert code == 0
    assert "tps >= 1e9" in (bench.folder / "run" / "report.md").read_text(encoding="utf-8")
    before = manifest_of(bench.folder / "run")
    code, _, err = bench(
        "score", bench.folder / "run", "--slo", "ttft_ms.p95 <= 3", "--slo", "f1 >= 1", "--history", "none"
    )
    assert code == 2
    assert err.count("use --gate") == 2
    assert manifest_of(bench.folder / "run") == before
    bench.configure("official: faithful", extra='slos:\n  - "ttft_ms.p95 <= 3"\n')
    code, _, err = bench("--config-file-path", bench.folder / "config.yaml", "--dry-run")
    assert code == 2
    assert "config.yaml:10" in err


def test_a_replayed_schedule_from_file_to_report(bench: Any) -> None:
    """Requests are sent at the seconds in the file, and the page says what was replayed."""
    bench.configure("official: faithful", "twin: faithful")
    bench.samples(3)
    schedule = bench.folder / "times.csv"
    schedule.write_text("at_s\n0\n0.1\n0.1\n0.3\n", encoding="utf-8")
    code, scores = bench.run("--set", f"run.replay_schedule={schedule}", output="replayed")
    assert code == 0
    assert [vendor["planned"] for vendor in vendors_of(scores).values()] == [4, 4]
    records = [json.loads(line) for line in (bench.folder / "replayed/records.jsonl").read_bytes().splitlines()]
    assert Counter(record["offered_s"] for record in records) == {0.0: 2, 0.1: 4, 0.3: 2}
    page = (bench.folder / "replayed/report.html").read_text(encoding="utf-8")
    assert "schedule of 4 requests in 0.3 s" in page


def test_a_dry_run_tells_the_load(bench: Any) -> None:
    """The output shows what would be offered and what would be asked, and nothing is sent."""
    bench.configure("official: faithful", "twin: faithful")
    bench.samples(3)
    paths = ("--config-file-path", bench.folder / "config.yaml", "--test-file-path", bench.folder / "samples.jsonl")
    code, out, _ = bench(*paths, "--dry-run", "--request-rate", "10", "--duration", "6", "--warmup", "5")
    assert code == 0
    assert "10 requests per second (constant) for 6 s, 5 warm-up requests" in out
    assert "total: 130 requests" in out
    assert re.search(r"requests, at most \d+ at a time", out)
    _, out, _ = bench(*paths, "--dry-run")
    assert "requests, 5 at a time" in out
    _, out, _ = bench(*paths, "--dry-run", "--duration", "6")
    assert "sent as often as time allows" in out


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_run_by_duration_that_was_cut_short(bench: Any, number: int) -> None:
    """Stopped or killed half-way, the stored run is incomplete, loses nothing that was written, and says so."""
    bench.configure("official: faithful", "twin: faithful")
    bench.samples(3)
    folder = bench.folder / "run"
    command = [sys.executable, "-m", "vendor_verifier.cli.main", "--config-file-path", "config.yaml",
               "--test-file-path", "samples.jsonl", "-o", "run", "--quiet", "--duration", "60"]  # fmt: skip
    with subprocess.Popen(command, cwd=bench.folder, env={**os.environ}, start_new_session=True) as process:
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until and _lines(folder) < 40:
            time.sleep(0.05)
        if number == signal.SIGKILL:
            os.killpg(process.pid, number)
        else:
            process.send_signal(number)
        process.wait(PATIENCE_S)
    bench("score", folder, "--history", "none")
    scores = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
    vendors = vendors_of(scores).values()
    assert not scores["complete"]
    assert sum(each["recorded"] for each in vendors) == _lines(folder) >= 40
    assert all(each["succeeded"] == each["recorded"] for each in vendors)
    assert [vendor["f1"] for vendor in vendors_of(scores).values()] == [1, 1]


def _lines(folder: Path) -> int:
    file = folder / "records.jsonl"
    return file.read_bytes().count(b"\n") if file.exists() else 0


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
def test_another_load_than_the_one_asked_for_is_told(changes: dict[str, Any], words: str | None) -> None:
    """A full cap, a late process and a warm-up that warmed nothing are each one sentence; 50 ms at p99 are none."""
    found = list(run_warnings(some_manifest(load={"m: a": OFFERED | changes})))
    assert [text.startswith(words or "") for text in found] == [True] * (words is not None)
