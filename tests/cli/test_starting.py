"""How the program is started: as a module, and where signals cannot be handled."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from vendor_verifier import __version__
from vendor_verifier.cli.main import run_app
from vendor_verifier.resources import shipped


def test_the_package_runs_as_a_module() -> None:
    """``python -m vendor_verifier`` is the command itself."""
    done = subprocess.run(
        [sys.executable, "-m", "vendor_verifier", "--version"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.strip()) == (0, __version__)


@pytest.mark.parametrize("arguments", [("demo", "-n", "2"), ("capacity", "-n", "2", "--model", "simulated-model")])
def test_a_platform_without_signals_is_named_at_the_start(
    arguments: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """An event loop that cannot receive signals (Windows) is exit 2 and a sentence, not a defect of this program."""
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.chdir(tmp_path)
    config = () if arguments[0] == "demo" else ("--config-file-path", str(shipped("config_simulated.yaml")))
    assert run_app([*arguments, *config]) == 2
    err = capsys.readouterr().err
    assert "error: Windows cannot handle signals in an event loop" in err
    assert "defect" not in err
    assert list(tmp_path.iterdir()) == []
