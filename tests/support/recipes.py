"""Does in a copy of the package what a recipe of CONTRIBUTING.md says, word by word."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_BLOCK = re.compile(r"^```(?:python|text|toml) (\S+\.(?:py|toml))(?: (\w+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_BESIDE = ("datasets", "config_example.yaml", "config_simulated.yaml")


@dataclass(frozen=True, slots=True)
class Copy:
    """A checkout in which a recipe was followed."""

    home: Path

    def run(self, *words: str) -> str:
        """The output of a command of the copy.

        Raises:
            AssertionError: it failed; with what it said.
        """
        command = [sys.executable, "-m", "vendor_verifier", *words]
        environ = {**os.environ, "PYTHONPATH": str(self.home)}
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.home, env=environ, check=False)
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        return done.stdout + done.stderr


def follow(recipe: str, home: Path) -> Copy:
    """A copy of the package in ``home`` with the files and lines that the recipe under this heading gives."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.split(f"## {recipe}\n", 1)[1].split("\n## ", 1)[0]
    for name in ("vendor_verifier", "vendors"):
        shutil.copytree(ROOT / name, home / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in _BESIDE:
        (home / name).symlink_to(ROOT / name)
    blocks = _BLOCK.findall(section)
    assert blocks, f"{recipe} gives no code"
    for place, into, code in blocks:
        if place.endswith(".toml"):
            _add_text(home / place, into, code)
        elif into == "import":
            _add_import(home / place, code)
        elif into:
            _add_line(home / place, into, code)
        else:
            assert not (home / place).exists(), f"{place} is there already"
            (home / place).parent.mkdir(exist_ok=True)
            (home / place).write_text(code, encoding="utf-8")
    return Copy(home)


def _add_import(file: Path, line: str) -> None:
    """Add an import before the first of the package's own."""
    before, start, after = file.read_text(encoding="utf-8").partition("\nfrom vendor_verifier")
    assert start, f"{file} imports nothing of the package"
    file.write_text(f"{before}\n{line.rstrip()}{start}{after}", encoding="utf-8")


def _add_line(file: Path, name: str, line: str) -> None:
    """Add a line at the end of a tuple or dictionary of the module, which ends with a bracket on a line of its own."""
    assert line.count("\n") == 1, f"{line} is more than a line"
    before, start, after = file.read_text(encoding="utf-8").partition(f"\n{name}")
    assert start, f"{file} has no {name}"
    end = re.search(r"\n[)}]\n", after)
    assert end
    inside, rest = after[: end.start()], after[end.start() :]
    file.write_text(f"{before}{start}{inside}\n{line.rstrip()}{rest}", encoding="utf-8")


def _add_text(file: Path, name: str, lines: str) -> None:
    """Add lines to one table of a TOML file, right below its name, or new tables at the end of the file."""
    text = file.read_text(encoding="utf-8")
    if name:
        assert text.count(f"\n[{name}]\n") == 1, f"{file} has no [{name}]"
        text = text.replace(f"\n[{name}]\n", f"\n[{name}]\n{lines}")
    else:
        text = f"{text}\n{lines}"
    file.write_text(text, encoding="utf-8")
