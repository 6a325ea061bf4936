"""A run is scored with the samples that it asked and wrote; they are read from its folder where they may differ."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from vendor_verifier.records.sample import Samples
from vendor_verifier.store import RunFolder


@pytest.mark.parametrize(
    ("more", "reads"),
    [
        ((), []),
        (("-n", "5"), []),
        (("--redact-content",), ["trigger"]),
        (("--suite", "trigger", "--suite", "probes"), ["probes"]),
    ],
    ids=lambda value: " ".join(value) or "plain",
)
def test_the_scores_are_those_of_the_folder(
    more: tuple[str, ...], reads: list[str], bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scored again from the folder alone, nothing of the report changes but when it was made."""
    read: list[str] = []
    read_samples = RunFolder.read_samples

    def noted(self: RunFolder, suite: str) -> Samples:
        read.append(suite)
        return read_samples(self, suite)

    monkeypatch.setattr(RunFolder, "read_samples", noted)
    bench.configure("official: official", "sloppy: sloppy")
    bench.samples(8)
    _, scores = bench.run(*more, "--seed", "3", "--no-history")
    assert read == reads
    read.clear()
    told = (bench.folder / "run" / "report.md").read_text()
    code, _, err = bench("score", bench.folder / "run", "--no-history")
    assert code == 0, err
    assert read
    assert json.loads((bench.folder / "run" / "scores.json").read_text()) == scores
    assert (bench.folder / "run" / "report.md").read_text() == told


def test_a_run_that_goes_on_is_scored_with_the_samples_of_its_folder(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What an earlier session asked stands there, whatever the file says by now about how to ask."""
    bench.configure("official: official")
    file: Path = bench.samples(4)
    bench.run("--seed", "3", "--no-history")
    file.write_text(file.read_text().replace('"tools"', '"temperature": 0, "tools"'))
    read: list[str] = []
    read_samples = RunFolder.read_samples
    monkeypatch.setattr(RunFolder, "read_samples", lambda self, suite: read.append(suite) or read_samples(self, suite))
    bench.run("--seed", "3", "--no-history", "--incremental")
    assert read == ["trigger"]
