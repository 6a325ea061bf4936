"""Shell completion: each shell's script is made, parses where that shell is at hand, and knows the commands."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

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


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["tre"], ["trend"]),
        (["check", "--webh"], ["--webhook-env"]),
        (["check", "--notify", ""], ["failure", "always"]),
        (["completion", ""], ["bash", "zsh", "fish"]),
        (["score", "./my-r"], ["./my-run"]),
    ],
    ids=" ".join,
)
def test_bash_completes_commands_flags_words_and_files(
    words: list[str], expected: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The function that bash would call on Tab, called by bash with what it would be given."""
    run_app(["completion", "bash"])
    (tmp_path / "completion.bash").write_text(capsys.readouterr().out)
    (tmp_path / "my-run").touch()
    script = r"""
        source completion.bash
        [[ $(complete -p agent-vendor-verifier) =~ -F\ ([^ ]+) ]]
        COMP_WORDS=(agent-vendor-verifier "$@"); COMP_CWORD=$#; COMP_LINE="${COMP_WORDS[*]}"; COMP_POINT=${#COMP_LINE}
        "${BASH_REMATCH[1]}" agent-vendor-verifier "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
        printf '%s\n' "${COMPREPLY[@]}"
    """
    done = subprocess.run(
        ["bash", "-c", script, "bash", *words], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == expected, done.stderr


def test_an_unknown_shell_is_a_usage_error() -> None:
    """Exit code 2."""
    assert run_app(["completion", "tcsh"]) == 2
