"""The command line itself: help, exit codes, messages; what the commands do is tested with the pipeline."""

from __future__ import annotations

import shlex
import subprocess
import sys

import pytest
from workbench import PROGRAM, Bench

import vendor_verifier.cli.main as main_module
from vendor_verifier.cli.commands import COMMAND_NAMES, EXAMPLES, EXIT_CODES, build_app
from vendor_verifier.cli.main import run_app

COMMANDS = "run demo init doctor score report import compare check history explain view capacity simulate".split()


@pytest.mark.parametrize("width", ["80", "120"])
def test_help_fits_the_terminal(
    width: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_output_is_plain_text_when_piped(bench: Bench) -> None:
    """Results on stdout, progress on stderr, and not one escape sequence in either."""
    bench.configure("official: faithful")
    bench.samples(2)
    words = [word for word in bench.words("run", "--history", "none") if word != "-q"]
    done = subprocess.run([*PROGRAM, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "official" in done.stdout
    assert "4/4 done" in done.stderr
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


def test_a_platform_without_signals_is_named_at_the_start(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """An event loop that cannot receive signals (Windows) is exit 2 and a sentence, not a defect of this program."""
    monkeypatch.setattr(sys, "platform", "win32")
    code, _, err = bench("demo", "-n", "2")
    assert code == 2
    assert "error: Windows cannot handle signals in an event loop" in err
    assert "defect" not in err
    assert list(bench.folder.iterdir()) == []
