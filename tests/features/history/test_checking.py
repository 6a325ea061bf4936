"""A scheduled check: silent when all is well, its exit codes, its lock, its retention, and webhooks that only tell."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import filelock
import pytest
from costs import PATIENCE_S
from manifests import LEAST

from vendor_verifier.errors import ProblemsError
from vendor_verifier.features.history.database import add_run, read_runs
from vendor_verifier.features.history.scheduled_check import clear_old_runs, read_age
from vendor_verifier.records.history import HistoryEntry, HistoryRun

ROOT = Path(__file__).parents[3]


@pytest.fixture
def check(bench: Any) -> Any:
    """``check`` over two simulated vendors with a history of its own; code, stdout, stderr."""
    bench.configure("official: faithful", "twin: faithful")
    bench.samples(20)

    def run(*arguments: str) -> tuple[int, str, str]:
        return bench(
            "check", "--test-file-path", "samples.jsonl", "--history", str(bench.folder / "history.sqlite"), *arguments
        )  # type: ignore[no-any-return]

    run.folder = bench.folder  # type: ignore[attr-defined]
    run.bench = bench  # type: ignore[attr-defined]
    return run


@pytest.fixture
def listener() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A webhook on loopback that answers 500, and the documents it was sent."""
    heard: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            heard.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(500)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *arguments: object) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/CANARY-token", heard
    server.shutdown()
    thread.join()
    server.server_close()


def outcome_of(folder: Path) -> dict[str, Any]:
    """check.json of the newest run."""
    newest = max(folder.glob("runs/2*/check.json"), key=lambda path: path.stat().st_mtime)
    found: dict[str, Any] = json.loads(newest.read_text())
    return found


def test_a_check_that_passes_says_only_what_it_cannot_judge_yet_and_leaves_everything(check: Any) -> None:
    """That drift takes more runs is one line; reports, check.json, junit.xml and a line of history are there too."""
    code, out, err = check("--gate", "success_rate >= 0.5")
    assert (code, err) == (0, "")
    assert out.splitlines()[1:] == ["  no verdict on drift yet: 1 of the 8 comparable runs it takes"]
    assert '<testsuites name="agent-vendor-verifier"' in next(check.folder.glob("runs/2*/junit.xml")).read_text()
    found = outcome_of(check.folder)
    assert found["status"] == "passed"
    assert {gate["outcome"] for gate in found["gates"]} == {"PASS"}
    assert {trend["verdict"] for trend in found["trends"]} == {"no_verdict"}
    assert len(read_runs(check.folder / "history.sqlite")) == 1


def test_a_passed_gate_says_in_check_json_what_the_runs_before_it_showed(check: Any) -> None:
    """A run without an outage does not know how long one lasts; the history knows whether there was one."""
    reasons = []
    for _ in range(2):
        assert check("--gate", "success_rate >= 0.5")[0] == 0
        reasons.append({gate["reason"] for gate in outcome_of(check.folder)["gates"]})
    assert all("this run shows no outage" in reason for found in reasons for reason in found)
    assert not any("earlier runs" in reason for reason in reasons[0])
    assert all("earlier runs outside of the limit: 0 of 1, at worst 1" in reason for reason in reasons[1])


def test_a_gate_that_fails_is_exit_code_1_with_the_interval_in_words(check: Any) -> None:
    """A gate of config.yaml and one of the command line are both held; what only may fail is undecided and passes."""
    check.bench.configure("official: faithful", "twin: faithful", extra='gates:\n  - "avg_ttft_ms <= 0.001"\n')
    code, out, _ = check("--gate", "success_rate >= 0.999")
    assert code == 1
    assert "check failed: 2 gates failed" in out
    assert "gate FAIL: simulated-model / twin: avg_ttft_ms <= 0.001" in out
    assert "gates UNDECIDED: success_rate >= 0.999: simulated-model / " in out


def test_who_answers_under_another_name_than_last_time_is_said(check: Any) -> None:
    """The model behind a label becomes another: the second check names both names, and fails by the verdict."""
    assert check()[0] == 0
    check.bench.configure("official: faithful", "twin: substitute")
    code, out, _ = check()
    assert code == 1
    assert "identity: simulated-model / twin: served models were simulated-model in the earlier run" in out
    assert {each["finding"] for each in outcome_of(check.folder)["identity"]} == {"served_model_changed_since"}


def test_an_undecided_gate_alone_does_not_fail(check: Any) -> None:
    """Twenty samples cannot show 99.9 %: that is said, and it is not a failure."""
    code, out, _ = check("--gate", "success_rate >= 0.999", "--gate", "schema_accuracy >= 0.999")
    assert code == 0
    (line,) = [line for line in out.splitlines() if "UNDECIDED" in line]
    assert "samples would decide if the figures stay" in line


def test_a_vendor_that_answers_nothing_is_unusable_and_exit_code_1(check: Any) -> None:
    """The run is not whole either, which is said too; of two codes the failure is the one."""
    check.bench.configure("official: faithful", "gone: faithful")
    path = check.folder / "config.yaml"
    broken = "http://127.0.0.1:1/v1"
    head, _, tail = path.read_text().rpartition("sim://faithful")
    path.write_text(head + broken + tail)
    code, out, _ = check("--retries", "0", "--connect-timeout", "1")
    assert code == 1
    assert out.splitlines()[0].startswith("check failed: simulated-model / gone unusable, 1 vendor incomplete")


def test_a_vendor_that_refuses_our_key_is_exit_code_3(check: Any) -> None:
    """Our key may be at fault, so nothing is said against the vendor; the run is not whole."""
    check.bench.configure("official: faithful", "shut: locked")
    code, out, _ = check("--retries", "0")
    assert code == 3
    assert out.splitlines()[0].startswith("check incomplete: 1 vendor incomplete")


@pytest.mark.slow
def test_a_lasting_loss_in_the_history_is_exit_code_1(check: Any) -> None:
    """Thirty quiet nights at a tenth of tonight's and last night's latency: a regression, by name and size."""
    file = check.folder / "history.sqlite"
    check()
    (tonight,) = read_runs(file)
    for number in range(31):
        factor = 0.1 if number < 30 else 1.0
        entries = tuple(
            HistoryEntry(
                e.model, e.label, e.vendor, e.model_id, e.is_baseline, e.planned, e.succeeded,
                {"ttft_ms.p50": (e.figures["ttft_ms.p50"][0] * factor * (1 + 0.01 * (number % 3)), 20)},
            )
            for e in tonight.entries
        )  # fmt: skip
        at = f"2020-01-{1 + number:02d}T03:00:00Z"
        assert add_run(file, HistoryRun(f"n{number}", at, "", tonight.question, True, "", entries)) is None
    code, out, _ = check("--fail-on", "ttft")
    assert code == 1
    assert "regression: simulated-model / official / ttft_ms.p50: worse: +" in out
    code, out, _ = check("--fail-on", "f1")
    assert code == 0
    assert out.splitlines()[1:] == ["  no verdict on drift yet: 3 of the 8 comparable runs it takes"]


def test_a_history_that_cannot_be_used_is_a_warning_only(check: Any) -> None:
    """A damaged history changes a line of output and not the exit code."""
    (check.folder / "history.sqlite").write_text("no database " * 100)
    code, out, _ = check()
    assert code == 0
    assert "warning: the run is not in the history" in out


def test_a_second_check_is_refused_while_one_goes_on(check: Any) -> None:
    """Overlapping schedules do not ask twice: the second ends at once with code 2 and touches nothing."""
    (check.folder / "runs").mkdir()
    with filelock.FileLock(check.folder / "runs" / ".check.lock"):
        code, _, err = check()
    assert code == 2
    assert "another check is going on" in err
    assert list((check.folder / "runs").glob("*/records.jsonl")) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--gate", "f1 > 0.9"], "expected <= or >="),
        (["--keep", "ninety days"], "such as 90d"),
        (["--fail-on", "tfft"], "read tfft"),
        (["--webhook-env", "NOT_THERE"], "NOT_THERE"),
        (["--no-history"], "contradict"),
        (["--dry-run"], "run --dry-run"),
    ],
)
def test_mistakes_are_told_before_anybody_is_asked(check: Any, arguments: list[str], words: str) -> None:
    """Exit code 2, one message, and no run folder."""
    code, _, err = check(*arguments)
    assert code == 2
    assert words in err
    assert list(check.folder.glob("runs/*/records.jsonl")) == []


@pytest.mark.slow  # several whole checks
def test_a_webhook_hears_of_failures_and_its_own_failing_changes_nothing(
    check: Any, listener: tuple[str, list[dict[str, Any]]]
) -> None:
    """It answers 500: a warning without the token, the exit code as before; a passing check does not call it."""
    address, heard = listener
    (check.folder / ".env").write_text(f"HOOK={address}\n")
    (check.folder / ".env").chmod(0o600)
    assert check("--webhook-env", "HOOK")[0] == 0
    assert heard == []
    code, out, err = check("--webhook-env", "HOOK", "--gate", "avg_ttft_ms <= 0.001")
    assert code == 1
    assert "answered 500" in err
    assert "CANARY" not in out + err
    assert [document["status"] for document in heard] == ["failed"]
    assert heard[0]["gates"][0]["gate"] == "avg_ttft_ms <= 0.001"
    assert check("--webhook-env", "HOOK", "--notify", "always")[0] == 0
    assert heard[-1]["status"] == "passed"
    (check.folder / "config.yaml").write_text("nonsense: 1\n")
    assert check("--webhook-env", "HOOK")[0] == 2
    assert heard[-1]["status"] == "error"
    stored = "".join(p.read_text(errors="replace") for p in check.folder.glob("runs/*/*") if p.is_file())
    assert "CANARY" not in stored


def old_run(runs: Path, name: str, *, days: int, **changes: Any) -> Path:
    folder = runs / name
    folder.mkdir(parents=True)
    began = (datetime.now(UTC) - timedelta(days=days)).isoformat()
    manifest = {**LEAST, "run": name}
    manifest |= {"tool": {"name": "agent-vendor-verifier"}, "status": "finished", "created_at": began} | changes
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


def test_retention_deletes_old_runs_of_ours_and_nothing_else(tmp_path: Path) -> None:
    """Young, imported, running, foreign, linked, damaged and current folders stay."""
    runs = tmp_path / "runs"
    gone = old_run(runs, "old", days=91)
    stays = [
        old_run(runs, "young", days=89),
        old_run(runs, "imported", days=400, status="imported"),
        old_run(runs, "running", days=400, status="running"),
        old_run(runs, "foreign", days=400, tool={"name": "other"}),
        old_run(runs, "strange", days=400, tool="x"),
        old_run(runs, "current", days=400),
        old_run(tmp_path, "elsewhere", days=400),
    ]
    (runs / "linked").symlink_to(tmp_path / "elsewhere")
    (runs / "damaged").mkdir()
    (runs / "damaged" / "manifest.json").write_text("{")
    troubles = clear_old_runs(runs, read_age("90d"), keep=runs / "current", now=datetime.now(UTC), history=None)
    assert troubles == []
    assert not gone.exists()
    assert [folder for folder in stays if not folder.exists()] == []
    assert os.path.lexists(runs / "linked")
    assert (runs / "damaged").exists()


def test_retention_never_deletes_what_the_history_does_not_hold(tmp_path: Path) -> None:
    """The folder is then the only place of the figures; and nothing goes while the history cannot be read."""
    runs, history = tmp_path / "runs", tmp_path / "h"
    kept, gone = old_run(runs, "kept", days=91, run="kept"), old_run(runs, "gone", days=91, run="gone")

    def clear() -> list[str]:
        return clear_old_runs(runs, read_age("90d"), keep=runs / "x", now=datetime.now(UTC), history=history)

    history.write_text("damaged " * 200)
    (words,) = clear()
    assert "no old run is deleted" in words
    assert gone.exists()
    history.unlink()
    assert add_run(history, HistoryRun("gone", "2020", "", "q", True, "")) is None
    assert clear() == []
    assert (kept.exists(), gone.exists()) == (True, False)


@pytest.mark.parametrize("text", ["", "90", "0d", "-1d", "1.5d", "90 d", "99999999d", "d"])
def test_an_age_is_a_number_and_a_unit(text: str) -> None:
    """Nothing that could be read as "delete everything" is accepted."""
    with pytest.raises(ProblemsError):
        read_age(text)


def test_ages_are_days_weeks_and_hours() -> None:
    """The three units."""
    assert [read_age(text) for text in ("90d", "2w", "36h")] == [
        timedelta(days=90), timedelta(weeks=2), timedelta(hours=36),
    ]  # fmt: skip


@pytest.mark.slow  # waits for a process
def test_a_check_that_is_terminated_judges_nothing_and_says_143(check: Any) -> None:
    """SIGTERM of a service: what came back is scored, half a run meets no gate, the history calls it incomplete."""
    check.bench.samples(2000)
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "vendor_verifier.cli.main", "check", "--test-file-path", "samples.jsonl"),
            *("--history", "h.sqlite", "--request-concurrency", "1", "--gate", "avg_ttft_ms <= 0.001"),
        ],
        cwd=check.folder, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if any(path.stat().st_size for path in check.folder.glob("runs/*/records.jsonl")):
            break
        time.sleep(0.05)
    process.terminate()
    out, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 143
    assert out.startswith("check interrupted")
    found = outcome_of(check.folder)
    assert (found["status"], found["gates"], found["trends"]) == ("interrupted", [], [])
    assert [run.complete for run in read_runs(check.folder / "h.sqlite")] == [False]


def test_runs_of_one_second_have_folders_of_their_own(check: Any) -> None:
    """Two checks that begin within one second are two runs, and neither is refused for the other."""
    codes = [check("-n", "2")[0] for _ in range(3)]
    assert codes == [0, 0, 0]
    assert len(list(check.folder.glob("runs/2*/check.json"))) == 3


def test_a_vendor_that_is_not_as_sold_fails_the_very_first_check_by_name(check: Any) -> None:
    """Without a history and without a gate; the first line names it and nobody else."""
    check.bench.configure("official: faithful", "twin: faithful", "reseller: substitute")
    check.bench.samples(40)
    code, out, _ = check.bench("check", "--test-file-path", "samples.jsonl", "--no-history")
    first, *others = out.splitlines()
    assert code == 1
    assert first.startswith("check failed: simulated-model / reseller not as sold (run ")
    assert any("verdict: simulated-model / reseller: not as sold: " in line for line in others)
    stated = {each["vendor"]: each["status"] for each in outcome_of(check.folder)["verdicts"]}
    assert stated["reseller"] == "not_as_sold"
    assert outcome_of(check.folder)["leaders"].get("simulated-model") in (None, "twin")
