"""A run that is refused before anything was sent leaves no folder in the way of the next try."""

from __future__ import annotations

from pathlib import Path

import pytest

import vendor_verifier.pipeline.run as run_module
from vendor_verifier.cli.main import run_app
from vendor_verifier.errors import UsageError
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
        assert run_app([*WORDS, "-o", str(folder)]) == 2
        assert "nobody is there" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    assert [path.name for path in kept.iterdir()] == ["notes.txt"]


def test_a_folder_with_a_record_stays(tmp_path: Path) -> None:
    """What was answered was paid for."""
    folder = RunFolder(tmp_path / "run")
    folder.create()
    folder.records_file.write_bytes(b"{}\n")
    folder.withdraw(["trigger"])
    assert folder.records_file.read_bytes() == b"{}\n"
