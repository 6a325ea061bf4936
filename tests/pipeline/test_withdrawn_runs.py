"""A run that is refused before anything was sent changes nothing: no folder is left, and nobody's run is touched."""

from __future__ import annotations

from pathlib import Path

import pytest

import vendor_verifier.pipeline.run as run_module
from vendor_verifier.cli.main import run_app
from vendor_verifier.errors import UsageError
from vendor_verifier.run.journal import locked
from vendor_verifier.store import RunFolder

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


def test_a_folder_with_a_record_stays(tmp_path: Path) -> None:
    """What was answered was paid for."""
    folder = RunFolder(tmp_path / "run")
    folder.create()
    folder.records_file.write_bytes(b"{}\n")
    folder.withdraw(["trigger"])
    assert folder.records_file.read_bytes() == b"{}\n"
