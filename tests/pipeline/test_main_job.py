"""The main job from command line to files, over real sockets to simulated vendors."""

from __future__ import annotations

import json
import os
import shutil
import stat
from typing import Any

import pytest
from fault_server import ANSWER, Script, say, serving
from workbench import Bench

import vendor_verifier.pipeline.run as run_module
from vendor_verifier.errors import UsageError
from vendor_verifier.run.journal import locked
from vendor_verifier.store import RunFolder

FILES = ("manifest.json", "samples/trigger.jsonl", "records.jsonl", "scores.json", "ranking.csv")
VENDORS = ("official: faithful", "twin: faithful", "poor: quantised")
CUTTER = {"label": "cutter", "url": "sim://cutter"}
# Every question is asked once.
ONCE = ("--retries", "0", "--baseline-repeats", "1")


def decisions(vendors: dict[str, Any]) -> dict[str, Any]:
    """What does not depend on the clock."""
    keys = ("f1", "success_rate", "schema_accuracy", "counts", "planned", "succeeded", "failures")
    return {label: {key: figures[key] for key in keys} for label, figures in vendors.items()}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """A folder with one finished run, ``runs/mine``, which no test changes."""
    bench = Bench(tmp_path_factory.mktemp("finished"))
    bench.configure(*VENDORS, CUTTER)
    bench.samples(40)
    umask = os.umask(0)
    try:
        assert bench.run(*ONCE, output="runs/mine")[0] == 0
    finally:
        os.umask(umask)
    return bench


def test_a_run_leaves_every_file_private_and_scores_every_vendor(finished: Bench) -> None:
    """All outputs exist, for the user alone whatever the umask, and a faithful twin agrees with the baseline."""
    folder = finished.folder / "runs" / "mine"
    assert all((folder / name).exists() for name in FILES)
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("*") if path.is_file()} == {0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    scores = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
    assert scores["models"]["simulated-model"]["baseline"] == "official"
    twin = finished.vendors("runs/mine")["twin"]
    assert (twin["f1"], twin["planned"], twin["succeeded"]) == (1.0, 40, 40)


def test_resuming_gives_the_same_result_as_an_uninterrupted_run(finished: Bench, bench: Bench) -> None:
    """Half of the records lost, then --incremental: same scores, and nothing that had succeeded is asked again."""
    shutil.copytree(finished.folder, bench.folder, dirs_exist_ok=True)
    records = bench.folder / "runs" / "mine" / "records.jsonl"
    lines = records.read_bytes().splitlines(keepends=True)
    kept = lines[::2]
    records.write_bytes(b"".join(kept) + lines[1][:40])
    bench.run(*ONCE, "--incremental", output="runs/mine")
    assert decisions(bench.vendors("runs/mine")) == decisions(finished.vendors("runs/mine"))
    keys = [(each["sample"], each["label"]) for each in bench.records("runs/mine")]
    ends = [each["turns"][-1]["attempts"][-1]["failure"] for each in bench.records("runs/mine")]
    succeeded = {key for key, failure in zip(keys[: len(kept)], ends, strict=False) if failure is None}
    assert succeeded
    assert not succeeded & set(keys[len(kept) :])


@pytest.mark.parametrize(
    ("samples", "change", "words"),
    [
        (39, {}, ["suite trigger: samples differ"]),
        (40, {"label": "other"}, ["simulated-model / cutter is gone", "simulated-model / other is new"]),
        (40, {"model_id": "m-2"}, ["simulated-model / cutter: model_id was simulated-model, is m-2"]),
        (40, {"extra_body": {"top_k": 1}}, ["simulated-model / cutter: extra_body"]),
    ],
)
def test_resuming_with_another_plan_is_refused(
    finished: Bench, bench: Bench, samples: int, change: dict[str, Any], words: list[str]
) -> None:
    """Each difference is named with both values; of bodies only that they differ, because they may be long."""
    bench.configure(*VENDORS, CUTTER | change)
    bench.samples(samples)
    code, _, err = bench(*bench.words(finished.folder / "runs" / "mine", *ONCE, "--incremental"))
    assert code == 2
    assert "was made with other settings: " in err
    assert [each for each in words if each not in err] == []


def test_vendors_that_only_fail_score_nothing_and_rank_last(bench: Bench) -> None:
    """The run is called incomplete; a 401 costs a handful of requests, and every planned sample has its record."""
    locked_out = {"label": "locked", "url": "sim://locked", "concurrency": 2}
    bench.configure("official: faithful", "poor: quantised", "dead: down", locked_out)
    bench.samples(20)
    code, _ = bench.run("--retries", "0")
    vendors = bench.vendors()
    dead, refused = vendors["dead"], vendors["locked"]["failures"]
    assert (code, dead["success_rate"], vendors["poor"]["succeeded"]) == (3, 0, 20)
    assert dead["f1"] in (0, None)
    assert all(dead[name] is None for name in ("schema_accuracy", "avg_tokens", "avg_ttft_ms", "tps"))
    assert dead["irf"] == min(vendors[label]["irf"] for label in ("official", "poor", "dead"))
    assert dead["place"] == 3
    assert dead["verdict"]["facets"]["reliability"]["status"] in ("down", "not_tested")
    assert refused["auth"] <= 4
    assert refused["auth"] + refused["skipped"] == 20


def test_score_and_report_need_no_network_and_can_change(finished: Bench, bench: Bench) -> None:
    """A stored run is judged again under another policy, and rendered in any format without being run again."""
    run = shutil.copytree(finished.folder / "runs" / "mine", bench.folder / "run")
    missed = bench.vendors()["cutter"]["measured"]["f1"]
    code, out, _ = bench("score", run, "--undecided", "exclude", "--history", "none", "--json")
    excluded = json.loads(out)["models"]["simulated-model"]["vendors"]["cutter"]["measured"]["f1"]
    assert code == 0
    assert excluded < missed
    code, out, _ = bench("report", run, "--format", "csv")
    assert code == 0
    assert out.splitlines()[1].startswith("simulated-model,")
    bench("report", run, "--format", "md,json", "-o", bench.folder / "elsewhere")
    assert sorted(path.name for path in (bench.folder / "elsewhere").iterdir()) == ["report.md", "scores.json"]
    bench("report", run, "--format", "md", "-o", bench.folder / "page.md")
    assert (bench.folder / "page.md").read_bytes() == (bench.folder / "elsewhere" / "report.md").read_bytes()


def test_a_run_is_named_by_folder_file_id_or_not_at_all(finished: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports say ``runs/<id>`` wherever the run is; without a name the last one is meant, and others are refused."""
    monkeypatch.chdir(finished.folder)
    run = finished.manifest("runs/mine")["run"]
    for words in ("explain", "explain runs/mine/scores.json", f"explain runs/{run}", f"explain {run}"):
        code, _, err = finished(*words.split(), "--vendor", "poor")
        assert code == 0, err
    for unknown in ("runs", "runs/20260101T000000Z-abcdef", "nobody"):
        code, _, err = finished("explain", unknown)
        assert (code, "runs are runs/mine" in err) == (2, True), err


def test_bad_samples_are_an_error_by_line_or_counted(bench: Bench) -> None:
    """A broken line stops the run before anything is sent, unless it is to be skipped and then reported."""
    bench.configure("official: faithful")
    path = bench.samples(3)
    path.write_text(path.read_text() + "{broken\n")
    code, _, err = bench(*bench.words("run"))
    assert code == 2
    assert "samples.jsonl:4" in err
    assert not (bench.folder / "run").exists()
    _, scores = bench.run("--set", "run.skip_bad_samples=true")
    assert any("samples.jsonl:4" in warning for warning in scores["warnings"])


def test_a_run_says_how_many_requests_were_sent_again(bench: Bench) -> None:
    bench.samples(12)
    with serving(lambda _, seen: say(ANSWER) if seen.turn == 1 else Script()) as server:
        bench.configure({"label": "shut", "url": server.url(), "price": {"input": 1, "output": 1}})
        bench.run("--retries", "0", "--request-concurrency", "1", "--baseline-repeats", "1")
    shut = bench.vendors()["shut"]
    resent = {each["sample"]: each["turns"][0]["attempts"][0]["resent"] for each in bench.records()}
    assert 2 <= sum(resent.values()) == len(server.seen) - 12
    assert (shut["success_rate"], shut["failures"]) == (1.0, {})
    twice = max(resent, key=resent.__getitem__)
    _, told, _ = bench("explain", bench.folder / "run", "--vendor", "shut", "--sample", twice)
    assert "attempt 1, sent again on a new connection" in told


def _refused(*_: object, **__: object) -> None:
    raise UsageError("the Dask scheduler at tcp://127.0.0.1:1 cannot be used: nobody is there")


def test_a_folder_of_a_refused_run_is_as_it_was(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is gone; one with something else in it keeps that, and one that is no run is not gone on with."""
    bench.configure("official: faithful")
    bench.samples(2)
    (bench.folder / "kept").mkdir()
    (bench.folder / "kept" / "notes.txt").write_text("mine")
    monkeypatch.setattr(run_module, "send", _refused)
    for name in ("out", "kept"):
        for more, words in ((("--set", "run.compress=true"), "nobody is there"), (("--incremental",), "not a run")):
            code, _, err = bench(*bench.words(name, *more))
            assert (code, words in err) == (2, True), err
    assert not (bench.folder / "out").exists()
    assert [path.name for path in (bench.folder / "kept").iterdir()] == ["notes.txt"]


def test_a_run_under_way_is_not_touched(bench: Bench) -> None:
    """The second run on a folder is refused before it writes the samples, whether the first has a manifest or not."""
    bench.configure("official: faithful")
    bench.samples(2)
    folder = RunFolder(bench.folder / "run")
    with locked(folder):
        folder.write_samples("trigger", [])
        code, _, err = bench(*bench.words("run"))
        assert (code, "is being written by process" in err) == (2, True), err
        assert folder.samples_file("trigger").read_bytes() == b""
    assert bench.run()[0] == 0
    before = folder.samples_file("trigger").stat()
    code, _, err = bench(*bench.words("run"))
    assert (code, "already holds a run" in err) == (2, True), err
    assert folder.samples_file("trigger").stat() == before
