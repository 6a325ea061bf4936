"""The manual page: every command and option is in it, and the formatter that `man` uses finds nothing odd."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from vendor_verifier import __version__
from vendor_verifier.cli.main import COMMANDS, EXAMPLES, run_app

FILE = Path(__file__).parents[1] / "man" / "agent-vendor-verifier.1"
PAGE = FILE.read_text(encoding="utf-8").replace("\\-", "-").replace("\\(aq", "'").replace("\\(ti", "~")


def test_every_command_has_a_section_with_its_examples() -> None:
    """By its name in capitals, in the order of the help; the page is this version's."""
    parts = re.split(r"^\.SH (.+)$", PAGE, flags=re.MULTILINE)
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    assert [name for name in sections if name.lower() in COMMANDS] == [name.upper() for name in COMMANDS]
    assert [words for name in COMMANDS for words in EXAMPLES[name] if words not in sections[name.upper()]] == []
    assert f'"{__version__}"' in parts[0]


@pytest.mark.parametrize("command", ["run", "check", "capacity"])
def test_every_option_of_the_help_is_in_it(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`--help-all` and the page say the same."""
    run_app([command, "--help-all"])
    flags = set(re.findall(r"^  (--[\w-]+)", capsys.readouterr().out, re.MULTILINE))
    assert flags
    assert {flag for flag in flags if flag not in PAGE} == set()


@pytest.mark.skipif(shutil.which("groff") is None, reason="there is no groff here")
def test_the_formatter_has_no_warning() -> None:
    """All of them switched on."""
    done = subprocess.run(
        ["groff", "-K", "utf8", "-man", "-Tutf8", "-ww", "-z", FILE], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
