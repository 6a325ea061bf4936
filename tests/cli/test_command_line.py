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
from vendor_verifier.cli.main import EXAMPLES, build_app, run_app
from vendor_verifier.cli.output import TABLE
from vendor_verifier.resources import shipped

ROOT = Path(__file__).parents[2]
FLAGS = """
--test-file-path --config-file-path --env-file --vendor-concurrency --request-concurrency --retries --timeout
--connect-timeout --first-token-timeout --idle-timeout --temperature --max-tokens --extra-body --repeat --limit -n
--request-rate --arrival --replay-schedule --ramp-up --warmup --duration --slo
--model --vendor --seed --output-dir -o --verbose -v --incremental --dry-run --quiet --json --version
""".split()
COMMANDS = (
    "run",
    "demo",
    "score",
    "report",
    "import",
    "doctor",
    "simulate",
    "explain",
    "capacity",
    "init",
    "compare",
    "check",
    "history",
    "view",
)


def command(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "vendor_verifier.cli.main", *arguments],
        capture_output=True, text=True, cwd=cwd, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False,
    )  # fmt: skip


def test_help_names_every_flag_every_command_the_exit_codes_and_three_examples(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The help lists everything."""
    assert run_app(["--help"]) == 0
    text = capsys.readouterr().out
    words = set(text.replace(",", " ").replace(":", " ").split())
    assert [flag for flag in FLAGS if flag not in words] == []
    assert [name for name in COMMANDS if f"\n  {name}: " not in text] == []
    assert " ".join(TABLE.split()) in " ".join(text.split())
    last = [line for line in text.splitlines() if line.strip()][-3:]
    assert all(line.startswith("  agent-vendor-verifier ") for line in last)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """--help works below every command and says what it does."""
    assert run_app([name, "--help"]) == 0
    assert len(capsys.readouterr().out) > 100


@pytest.mark.parametrize(
    ("name", "words"), [(name, words) for name, examples in EXAMPLES.items() for words in examples]
)
def test_the_examples_below_a_help_are_of_that_command(
    name: str, words: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each stands below its own command's help, on one line of any terminal, with flags that the command takes."""
    monkeypatch.setenv("COLUMNS", "80")
    assert run_app([*name.split(), "--help"]) == 0
    assert capsys.readouterr().out.count(f"\n  agent-vendor-verifier {words}\n") == 1
    assert not name or words.split()[0] == name
    arguments = shlex.split(words.partition(" > ")[0])
    build_app().parse_args(arguments, exit_on_error=False, print_error=False)


@pytest.mark.parametrize("wish", [None, "4"])
def test_a_command_reckons_on_one_core_unless_it_is_told_otherwise(wish: str | None) -> None:
    """A second thread of the matrix library would spin on the core that a vendor's bytes wait for."""
    name = "OPENBLAS_NUM_THREADS"
    environment = {key: value for key, value in os.environ.items() if key != name} | ({name: wish} if wish else {})
    code = "import atexit, os; from vendor_verifier.cli.main import main"
    code += f"; atexit.register(lambda: print(os.environ['{name}'])); main(['--version'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.split()[-1] == (wish or "1")


def test_version_is_the_package_s(capsys: pytest.CaptureFixture[str]) -> None:
    """--version prints what is installed."""
    assert run_app(["--version"]) == 0
    assert __version__ in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--no-such-flag"], "no-such-flag"),
        (["--temperature", "2.5"], "temperature"),
        (["--request-concurrency", "0"], "concurrency"),
        (["--extra-body", "[1]"], "JSON object"),
        (["--extra-body", "{"], "not JSON"),
        (["report", "nowhere"], "not a run folder"),
        (["score", "nowhere"], "not a run folder"),
        (["--incremental"], "config.yaml"),
        (["import", "--model", "m", "-o", "x"], "label=file"),
        (["import", "a", "a=b", "a=b", "--model", "m", "-o", "x"], "given twice"),
    ],
)
def test_a_user_s_mistake_is_exit_code_2_and_one_clear_message(
    arguments: list[str],
    words: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No traceback: the message names what was read."""
    monkeypatch.chdir(tmp_path)
    assert run_app(arguments) == 2
    message = capsys.readouterr().err
    assert words in message
    assert "Traceback" not in message


def test_no_config_says_how_to_make_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first thing a newcomer sees without a config is the way to one."""
    monkeypatch.chdir(tmp_path)
    assert run_app([]) == 2
    assert "agent-vendor-verifier init" in capsys.readouterr().err


def test_a_sample_file_that_is_missing_points_to_the_shipped_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command as README and help show it, where no such file is: without the flag there are samples."""
    monkeypatch.chdir(tmp_path)
    words = ["--test-file-path", "samples.jsonl", "--vendor-concurrency", "5"]
    assert run_app([*words, "--config-file-path", str(shipped("config_simulated.yaml"))]) == 2
    err = capsys.readouterr().err
    assert "samples.jsonl: there is no such file; leave --test-file-path out to take the shipped samples" in err
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_exit_code_4(tmp_path: Path) -> None:
    """A run folder that cannot be made is a storage problem, told in one line."""
    blocked = tmp_path / "file"
    blocked.write_text("")
    done = command("demo", "-n", "1", "-o", str(blocked / "run"), cwd=tmp_path)
    assert done.returncode == 4
    assert "cannot create the run folder" in done.stderr


def test_output_is_plain_text_when_piped(tmp_path: Path) -> None:
    """Results on stdout, progress on stderr, and not one escape sequence in either."""
    done = command("demo", "-n", "2", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "official" in done.stdout
    assert "samples to ask" in done.stderr
    assert "\x1b" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    "arguments", [("simulate", "--port", "99999"), ("simulate", "--port", "-1"), ("demo", "-n", "0")]
)
def test_numbers_out_of_range_are_a_usage_error(arguments: tuple[str, ...]) -> None:
    """No port and no count makes a traceback."""
    assert run_app(arguments) == 2


def test_a_defect_of_ours_is_not_a_missed_threshold(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An exception that nobody expected exits with 4, with its traceback for whoever mends it."""

    def broken(_: object) -> int:
        raise KeyError("surprise")

    monkeypatch.setattr(main_module, "run_app", broken)
    with pytest.raises(SystemExit) as exit_:
        main_module.main(["demo"])
    assert exit_.value.code == 4
    err = capsys.readouterr().err
    assert "KeyError: 'surprise'" in err
    assert "a defect of this program" in err
