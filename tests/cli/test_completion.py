"""Shell completion: each shell's script is made, parses where that shell is at hand, and knows the commands."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from vendor_verifier.cli.main import COMMAND_NAMES, run_app


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_parses_and_names_every_command(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What is printed is a script of that shell, with every command in it."""
    assert run_app(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert [name for name in COMMAND_NAMES if name not in script] == []
    assert "webhook-env" in script
    tool = shutil.which(shell)
    if tool is not None:
        checked = subprocess.run([tool, "-n"], input=script, text=True, capture_output=True, check=False)
        assert checked.returncode == 0, checked.stderr


def test_an_unknown_shell_is_a_usage_error() -> None:
    """Exit code 2."""
    assert run_app(["completion", "tcsh"]) == 2
