"""A run that is killed, interrupted or out of disk at any moment, and gone on with, is the run that was not."""

from __future__ import annotations

import os
import random
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from killing import Play, final_records, harness, job, outcome, prepare
from workbench import Bench, simulated

from vendor_verifier.store import RunFolder

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")
SEED = 20_26
PLANNED = 4


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    made = Bench(tmp_path_factory.mktemp("bench"))
    with simulated() as base:
        assert prepare(made, base, 2) == PLANNED
        yield made


@pytest.fixture(scope="module")
def play(bench: Bench) -> Iterator[Play]:
    with harness(*job(bench, bench.folder / "whole")) as playing:
        yield playing


@pytest.fixture(scope="module")
def whole(bench: Bench, play: Play) -> dict[str, Any]:
    """What the run comes to when nothing happens to it."""
    assert play([]) == []
    found = outcome(bench.folder / "whole")
    assert len(found["answers"]) == PLANNED
    return found


def goes_on(bench: Bench, play: Play, folders: list[Path], whole: dict[str, Any]) -> None:
    """Go on with every run; each must come to the same, and no line that was whole on disk may have changed."""
    kept = {folder: _whole_lines(folder) for folder in folders}
    codes = play([{"arguments": job(bench, folder)} for folder in folders])
    for folder, code in zip(folders, codes, strict=True):
        assert code == 0, folder.name
        assert (folder / "records.jsonl").read_bytes().startswith(kept[folder]), folder.name
        assert outcome(folder) == whole, folder.name
        shutil.rmtree(folder)


def _whole_lines(folder: Path) -> bytes:
    records = folder / "records.jsonl"
    content = records.read_bytes() if records.exists() else b""
    return content[: content.rfind(b"\n") + 1]


@pytest.mark.slow
def test_killed_at_every_step_that_changes_the_disk(bench: Bench, play: Play, whole: dict[str, Any]) -> None:
    """SIGKILL in the middle of every write, sync and rename of a run: going on completes it."""
    folders = [bench.folder / f"half-{step}" for step in range(30)]
    jobs = [{"arguments": job(bench, folder), "kill": step} for step, folder in enumerate(folders)]
    # Past the last step of a run nothing is killed any more.
    codes = play(jobs)
    killed = [folder for folder, code in zip(folders, codes, strict=True) if code == -signal.SIGKILL]
    assert PLANNED + 8 < len(killed) < len(folders), "the run has fewer or more steps than are tried"
    assert codes[: len(killed)] == [-signal.SIGKILL] * len(killed)
    goes_on(bench, play, killed, whole)


@pytest.mark.slow
def test_compressed_records_killed_at_every_step(bench: Bench, play: Play, whole: dict[str, Any]) -> None:
    """The same where records are compressed at the end: every record of a killed run counts after resuming."""
    more = ("--set", "run.compress=true")
    # Those before are tried above.
    folders = {bench.folder / f"packed-{step}": step for step in range(12, 24)}
    jobs = [{"arguments": job(bench, folder, *more), "kill": step} for folder, step in folders.items()]
    codes = play(jobs)
    killed = [folder for folder, code in zip(folders, codes, strict=True) if code == -signal.SIGKILL]
    read = {folder: list(RunFolder(folder).read_records(lambda _line, _reason: None)) for folder in killed}
    assert max(map(len, read.values())) == PLANNED
    codes = play([{"arguments": job(bench, folder, *more)} for folder in killed])
    assert set(codes) == {0}
    for folder in killed:
        assert RunFolder(folder).records_file.name == "records.jsonl.zst"
        after = list(RunFolder(folder).read_records(lambda line, reason: pytest.fail(f"{line}: {reason}")))
        assert after[: len(read[folder])] == read[folder]
        assert outcome(folder) == whole, folder.name
        shutil.rmtree(folder)


@pytest.mark.slow
def test_interrupted_at_random_moments(bench: Bench, play: Play, whole: dict[str, Any]) -> None:
    """SIGINT and SIGTERM at seeded moments, the first and the last of a run included: going on completes it."""
    rng, folders = random.Random(SEED), [bench.folder / f"signal-{number}" for number in range(8)]
    ends = [[int(rng.choice([signal.SIGINT, signal.SIGTERM])), rng.uniform(0.0, 0.3)] for _ in folders]
    jobs = [{"arguments": job(bench, folder), "signal": end} for folder, end in zip(folders, ends, strict=True)]
    codes = play(jobs)
    assert set(codes) <= {0, 3, 130, 143, -signal.SIGTERM}
    assert {130, 143} & set(codes), "no signal hit a run: the moments are wrong"
    goes_on(bench, play, folders, whole)


def test_a_disk_that_is_full_at_every_size(bench: Bench, play: Play, whole: dict[str, Any]) -> None:
    """Whatever file meets the limit first, the run ends with exit code 4 or is whole, says so, and can go on."""
    biggest = max(path.stat().st_size for path in (bench.folder / "whole").iterdir())
    # Half of it: a run that was late says so on its page, and the next may have less to say.
    folders = {bench.folder / f"full-{size}": size for size in (100, 1_700, biggest // 2)}
    codes = play([{"arguments": job(bench, folder), "file_size": size} for folder, size in folders.items()])
    assert set(codes) == {4}, codes
    goes_on(bench, play, list(folders), whole)


def test_a_bad_line_in_the_middle_is_asked_again(bench: Bench, play: Play, whole: dict[str, Any]) -> None:
    """A line that became unreadable is warned of by number, and only its sample is sent once more."""
    folder = bench.folder / "bad-line"
    shutil.copytree(bench.folder / "whole", folder)
    records = folder / "records.jsonl"
    lines = records.read_bytes().splitlines(keepends=True)
    victim = next(number for number, line in enumerate(lines) if b'"label":"faithful"' in line)
    lines[victim] = lines[victim][:50] + b"\n"
    records.write_bytes(b"".join(lines))
    assert play([{"arguments": job(bench, folder)}]) == [0]
    manifest = (folder / "manifest.json").read_text()
    assert f"records.jsonl:{victim + 1} is not a record" in manifest
    after = records.read_bytes().splitlines(keepends=True)
    assert after[: len(lines)] == lines
    records.write_bytes(b"".join(line for number, line in enumerate(after) if number != victim))
    assert len(final_records(folder)) == PLANNED
    assert outcome(folder) == whole
