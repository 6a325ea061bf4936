"""Whole runs over data sets that lie elsewhere: every evaluation reads them, and the manifest says what was read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from data_server import COMMIT, DataServer, digest_of, serving_data

from vendor_verifier.cli.main import run_app

DATASETS = Path(__file__).parents[2] / "datasets"
CONFIG = """
simulated-model:
  vendors:
    - {name: simulated, label: official, model_id: simulated-model, url: "sim://faithful", is_baseline: true}
"""


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[DataServer]:
    """A hub with the shipped files, and a run's folder around."""
    from huggingface_hub import constants

    files = {path.name: path.read_bytes() for path in DATASETS.glob("*.jsonl")}
    folder = DATASETS / "bfcl"
    bfcl = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*.json")}
    sets = {"me/rows": files, "me/bfcl": bfcl}
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.delenv("HF_TOKEN", raising=False)
    Path("config.yaml").write_text(CONFIG, encoding="utf-8")
    with serving_data(DataServer(sets=sets)) as made:
        monkeypatch.setenv("HF_ENDPOINT", made.url)
        yield made


def run(*words: str) -> dict[str, str]:
    """What the manifest says of the only evaluation of such a run."""
    assert run_app(["run", *words, "-n", "2", "-o", "out", "--history", "none", "--quiet"]) == 0
    (task,) = json.loads(Path("out/manifest.json").read_text(encoding="utf-8"))["tasks"]
    assert task["count"] == 2
    return dict(task)


@pytest.mark.parametrize(("suite", "file"), [("trigger", "samples.jsonl"), ("toolbench", "toolbench.jsonl")])
def test_every_evaluation_reads_from_the_hub(server: DataServer, suite: str, file: str) -> None:
    """And pins the commit and the digest of the very file."""
    task = run("--suite", suite, "--test-file-path", f"hf://me/rows/{file}")
    assert task["file"] == file
    assert task["source"] == f"hf://me/rows/{file}@{COMMIT}"
    assert task["sha256"] == digest_of((DATASETS / file).read_bytes())


def test_bfcl_reads_its_own_layout_from_the_hub(server: DataServer) -> None:
    """Questions and answers of many files, under the data set's own name."""
    task = run("--suite", "bfcl", "--bfcl-data", "hf://datasets/me/bfcl", "--bfcl-category", "simple_python")
    assert task["source"] == f"hf://me/bfcl@{COMMIT}"
    assert task["file"].startswith(f"hf://me/bfcl@{COMMIT} v")


@pytest.mark.parametrize("where", ["hf://me/none", "hf://me/rows", "https://vendor.invalid/a"])
def test_what_cannot_be_had_ends_a_run_before_it_begins(
    server: DataServer, capsys: pytest.CaptureFixture[str], where: str
) -> None:
    """Exit code 2 and one sentence with the address; no run folder."""
    assert run_app(["run", "--test-file-path", where, "-o", "out"]) == 2
    told = capsys.readouterr().err
    assert where in told
    assert "Traceback" not in told
    assert not Path("out").exists()
