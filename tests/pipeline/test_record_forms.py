"""Whoever reads records reads them in every form: plain, compressed, and in several files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from vendor_verifier import load_run
from vendor_verifier.features.explain.run_index import build_index
from vendor_verifier.redaction import Scrubber
from vendor_verifier.run import record_writer
from vendor_verifier.run.journal import Journal
from vendor_verifier.run.record_writer import RecordForm
from vendor_verifier.store import RunFolder

FORMS = {
    "compressed": RecordForm(compressed=True),
    "several": RecordForm(most_bytes=3000),
    "both": RecordForm(compressed=True, most_bytes=1500),
}


@pytest.fixture
def runs(bench: Any, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """A run as it was made, and with its records in every other form."""
    monkeypatch.setattr(record_writer, "_FRAME_BYTES", 4000)
    bench.configure("official: faithful", "bad: quantised")
    bench.samples(6)
    bench.run("--no-history")
    plain = RunFolder(bench.folder / "run")
    records = list(plain.read_records(lambda line, reason: pytest.fail(f"{line}: {reason}")))
    found = {"plain": plain.path}
    for name, form in FORMS.items():
        found[name] = Path(shutil.copytree(plain.path, bench.folder / name / "run"))
        (found[name] / "records.jsonl").unlink()
        with Journal(RunFolder(found[name]), Scrubber(), form) as journal:
            for record in records:
                journal.append([record])
    assert [len(RunFolder(path).records_files()) > 1 for path in found.values()] == [False, False, True, True]
    return found


def test_every_command_says_the_same(bench: Any, runs: dict[str, Path]) -> None:
    """Scores, evidence, tables and comparisons do not depend on the form."""
    said: dict[str, list[Any]] = {}
    for name, run in runs.items():
        lines = [
            ("score", run, "--json", "--no-history"), ("explain", run, "--vendor", "bad", "--json"),
            ("report", run, "--format", "csv"), ("report", run, "--table", "records", "--format", "jsonl"),
            ("compare", runs["plain"], run, "--json"),
        ]  # fmt: skip
        seen = [bench(*words) for words in lines]
        assert [code for code, _, _ in seen] == [0] * len(lines), [err for _, _, err in seen]
        said[name] = [out.replace(str(run), "RUN") for _, out, _ in seen]
    assert all(found == said["plain"] for found in said.values())


def test_frames_and_the_index_are_the_same(runs: dict[str, Path]) -> None:
    """`load_run` and the page to look through all answers find every record, by its place too."""
    plain = load_run(runs["plain"])
    index = build_index([RunFolder(runs["plain"])])
    for name in FORMS:
        assert load_run(runs[name]).records.equals(plain.records)
        other = build_index([RunFolder(runs[name])])
        assert list(other.cells) == list(index.cells)
        for question in index.cells:
            assert list(other.records(question)) == list(index.records(question))
        assert other.holding("record 1") == index.holding("record 1")


def test_a_run_goes_on_in_any_form(bench: Any, runs: dict[str, Path]) -> None:
    """`--incremental` sends nothing that is there, and what is missing joins the others."""
    for name, run in runs.items():
        before = [file.read_bytes() for file in RunFolder(run).records_files()]
        code, scores = bench.run(
            "--no-history", "--incremental", "--compress", output=str(run.relative_to(bench.folder))
        )
        assert code == 0
        counts = [each["counts"]["recorded"] for each in scores["models"]["simulated-model"]["vendors"].values()]
        assert counts == [12, 6], name
        assert [file.read_bytes() for file in RunFolder(run).records_files()][: len(before)] == before


def test_gates_the_history_and_a_check_read_every_form(bench: Any, runs: dict[str, Path]) -> None:
    """A gate's verdict, the figures that a history keeps of the run, and a check that goes on with it, which finds
    nothing left to ask."""
    said: dict[str, Any] = {}
    for name, run in runs.items():
        history, read = bench.folder / f"{name}.sqlite", RunFolder(run)
        before = [file.read_bytes() for file in read.records_files()]
        gated, _, _ = bench("score", run, "--gate", "avg_tokens <= 1", "--history", history)
        paths = ("--test-file-path", "samples.jsonl", "-o", run, "--history", history)
        checked, _, err = bench("check", *paths, "--incremental")
        assert [file.read_bytes() for file in read.records_files()] == before, err
        _, listed, _ = bench("history", "--history", history, "--json")
        assert "avg_tokens" in listed
        said[name] = gated, checked, json.loads(listed.replace(str(run), "RUN"))
    assert all(found == said["plain"] for found in said.values())
    assert said["plain"][0] == 1
