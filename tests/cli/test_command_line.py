"""The command line itself: help, exit codes, messages; what the commands do is tested with the pipeline."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import vendor_verifier.cli.main as main_module
from vendor_verifier import __version__
from vendor_verifier.cli.commands import COMMAND_NAMES, EXAMPLES, EXIT_CODES, build_app
from vendor_verifier.cli.main import run_app
from vendor_verifier.resources import shipped

ROOT = Path(__file__).parents[2]
COMMANDS = "run demo init doctor score report import compare check history explain view capacity simulate".split()


def command(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "vendor_verifier", *arguments],
        capture_output=True, text=True, cwd=cwd, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("width", ["80", "120"])
def test_help_fits_the_terminal(
    width: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It lists the commands in the order of work, the exit codes and examples."""
    monkeypatch.setenv("COLUMNS", width)
    assert run_app(["--help"]) == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= int(width)
    assert list(COMMAND_NAMES) == COMMANDS
    places = [text.index(f"\n {name} ") for name in COMMANDS]
    assert places == sorted(places)
    assert " ".join(EXIT_CODES.split()) in " ".join(text.split())


@pytest.mark.parametrize(("name", "examples"), EXAMPLES.items())
def test_a_commands_help_ends_with_its_examples(
    name: str, examples: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each on one line of any terminal, with flags that the command takes."""
    monkeypatch.setenv("COLUMNS", "80")
    assert run_app([*name.split(), "--help"]) == 0
    text = capsys.readouterr().out
    assert examples
    assert text.rstrip().splitlines()[-len(examples) :] == [f"  agent-vendor-verifier {each}" for each in examples]
    for each in examples:
        assert not name or each.split()[0] == name
        build_app().parse_args(shlex.split(each), exit_on_error=False, print_error=False)


def test_version_is_the_packages(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_app(["--version"]) == 0
    assert __version__ in capsys.readouterr().out


def test_output_is_plain_text_when_piped(tmp_path: Path) -> None:
    """Results on stdout, progress on stderr, and not one escape sequence in either."""
    done = command("demo", "-n", "2", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "official" in done.stdout
    assert "22/22 done" in done.stderr
    assert "\x1b" not in done.stdout + done.stderr


def test_a_bug_of_ours_is_not_a_missed_gate(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An exception that nobody expected exits with 4, with its traceback for whoever mends it."""

    def broken(_: object) -> int:
        raise KeyError("surprise")

    monkeypatch.setattr(main_module, "run_app", broken)
    with pytest.raises(SystemExit) as exit_:
        main_module.main(["demo"])
    assert exit_.value.code == 4
    assert "KeyError: 'surprise'" in capsys.readouterr().err


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
