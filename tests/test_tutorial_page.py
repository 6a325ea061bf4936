"""The tutorial: what it tells to type works, one line after the other, in an empty folder."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from vendor_verifier.cli.main import build_app, run_app

PAGE = (Path(__file__).parents[1] / "docs" / "tutorial.md").read_text(encoding="utf-8")
COMMANDS = [
    shlex.split(line, comments=True)[1:] for line in re.findall(r"^    (agent-vendor-verifier .*)$", PAGE, re.MULTILINE)
]
# These open a browser or ask real vendors.
NOT_RUN = {"open", "view", "doctor", "-n", "check"}


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_line_is_a_command(words: list[str]) -> None:
    """Its flags are known to it."""
    build_app().parse_args(words, exit_on_error=False, print_error=False)


@pytest.mark.slow
def test_the_lines_run_one_after_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The gates of the promise fail, everything else ends well; so does the Python block after them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    codes = {words[0]: run_app(words) for words in COMMANDS if words[0] not in NOT_RUN}
    assert codes == {"demo": 0, "explain": 0, "score": 1, "init": 0, "plan": 0}
    (block,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(block, "docs/tutorial.md", "exec"), {})
