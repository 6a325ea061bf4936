"""The main job from command line to files, over real sockets to simulated vendors."""

from __future__ import annotations

import json
import signal
import stat
import time
from pathlib import Path
from typing import Any

import pytest
from costs import PATIENCE_S
from fault_server import ANSWER, Script, say, serving

import vendor_verifier.pipeline.run as run_module
from vendor_verifier.cli.main import run_app
from vendor_verifier.errors import RunFolderError, UsageError
from vendor_verifier.run.journal import locked
from vendor_verifier.store import RunFolder, run_named

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
    assert "suite trigger: samples differ" in err


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
    with bench.start("--request-concurrency", "2", "--baseline-repeats", "1") as process:
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


def _wait_for_records(path: Path, count: int) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if path.exists() and path.read_bytes().count(b"\n") >= count:
            return
        time.sleep(0.02)
    pytest.fail(f"no {count} records in time")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"label": "other"}, ["simulated-model / bad is gone", "simulated-model / other is new"]),
        ({"model_id": "m-2"}, ["simulated-model / bad: model_id was simulated-model, is m-2"]),
        ({"extra_body": {"top_k": 1}}, ["simulated-model / bad: extra_body"]),
    ],
)
def test_the_entry_that_differs_is_named_with_both_values(bench: Any, change: dict[str, Any], words: list[str]) -> None:
    """Of bodies only that they differ, because they may be long."""
    bench.samples(1)
    file = bench.configure("official: faithful", "bad: quantised")
    bench.run()
    text = file.read_text()
    head, mark, last = text.rpartition("    - name: simulated\n      label: bad\n")
    if "label" in change:
        mark = mark.replace("bad", change["label"])
    elif "model_id" in change:
        last = last.replace("model_id: simulated-model", f"model_id: {change['model_id']}")
    else:
        last += f"      extra_body: {json.dumps(change['extra_body'])}\n"
    file.write_text(head + mark + last)
    code, _, err = bench(
        "--incremental", "-o", bench.folder / "run", "--test-file-path", bench.folder / "samples.jsonl"
    )
    assert code == 2
    assert "was made otherwise: " in err
    for each in words:
        assert each in err


def configure(folder: Path, url: str) -> Path:
    """A config of one vendor at ``url``."""
    path = folder / "config.yaml"
    price = "price: {input: 1, output: 1}"
    entry = f"{{name: simulated, label: shut, model_id: m, validator: openai, url: '{url}', {price}}}"
    path.write_text(f"simulated-model:\n  vendors:\n    - {entry}\n", encoding="utf-8")
    return path


def test_a_run_says_how_many_requests_were_sent_again(bench: Any) -> None:
    """Records and manifest agree on the number; all succeed at the first try."""
    bench.samples(12)
    with serving(lambda _, seen: say(ANSWER) if seen.turn == 1 else Script()) as server:
        configure(bench.folder, server.url())
        _, scores = bench.run("--retries", "0", "--request-concurrency", "1")
    folder = bench.folder / "run"
    (model,) = scores["models"].values()
    shut = model["vendors"]["shut"]
    records = [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]
    marked = [attempt["resent"] for record in records for turn in record["turns"] for attempt in turn["attempts"]]
    resent = sum(marked)
    assert 2 <= resent == len(server.seen) - 12
    assert (shut["success_rate"], shut["failures"], shut["verdict"]["status"]) == (1.0, {}, "not_tested")
    twice = next(record["sample"] for record in records if record["turns"][0]["attempts"][0]["resent"])
    _, told, _ = bench("explain", folder, "--vendor", "shut", "--sample", twice)
    assert "attempt 1, sent again on a new connection" in told


CONFIG = Path(__file__).parents[2] / "config_simulated.yaml"
WORDS = ["--config-file-path", str(CONFIG), "--model", "simulated-load", "-n", "2", "-q"]


def _refused(*_: object, **__: object) -> None:
    raise UsageError("the Dask scheduler at tcp://127.0.0.1:1 cannot be used: nobody is there")


def test_the_same_command_can_be_given_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder is gone after the refusal; a folder with something else in it keeps that and nothing of the run."""
    monkeypatch.setattr(run_module, "send", _refused)
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "notes.txt").write_text("mine")
    for folder in (tmp_path / "out", kept):
        assert run_app([*WORDS, "--set", "run.compress=true", "-o", str(folder)]) == 2
        assert "nobody is there" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    assert [path.name for path in kept.iterdir()] == ["notes.txt"]


def test_a_run_under_way_is_not_touched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The second run on a folder is refused before it writes the samples, whether the first has a manifest or not."""
    folder = RunFolder(tmp_path / "run")
    with locked(folder):
        folder.write_samples("trigger", [])
        assert run_app([*WORDS, "-o", str(folder.path)]) == 2
        assert "is being written by process" in capsys.readouterr().err
        assert folder.samples_file("trigger").read_bytes() == b""
    assert run_app([*WORDS, "-o", str(folder.path)]) == 0
    before = folder.samples_file("trigger").stat()
    assert run_app([*WORDS, "-o", str(folder.path)]) == 2
    assert "already holds a run; add --incremental" in capsys.readouterr().err
    assert folder.samples_file("trigger").stat() == before


def test_a_folder_that_is_no_run_is_left_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Going on with it is refused, and nothing is written into it."""
    assert run_app([*WORDS, "--incremental", "-o", str(tmp_path / "none")]) == 2
    assert run_app([*WORDS, "--incremental", "-o", str(tmp_path)]) == 2
    assert capsys.readouterr().err.count("is not a run folder") == 2
    assert list(tmp_path.iterdir()) == []


def test_a_run_is_found_by_the_name_that_its_reports_give_it(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports say ``runs/<id>`` wherever the run lies; a folder so called goes first, other names are not searched."""
    bench.samples(1)
    bench.configure("official: faithful", "other: substitute")
    bench.run(output="runs/mine")
    folder = RunFolder(bench.folder / "runs" / "mine")
    run = folder.read_manifest().run
    monkeypatch.chdir(bench.folder)
    assert f"explain runs/{run} --vendor other" in (folder.path / "report.html").read_text()
    for said in (Path("runs") / run, Path(run), folder.path):
        assert run_named(said).resolve() == folder.path.resolve()
    for unknown in (Path("runs") / "20260101T000000Z-abcdef", Path("runs") / "nobody"):
        with pytest.raises(RunFolderError, match="not a run folder; runs are"):
            run_named(unknown)
    for command in ("explain", "score", "report"):
        code, _, err = bench(command, Path("runs") / run, *(("--vendor", "other") if command == "explain" else ()))
        assert code == 0, err
