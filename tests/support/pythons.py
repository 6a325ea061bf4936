"""The Pythons of this machine that the package takes: our own, those on the path, and those that pyenv keeps."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
Version = tuple[int, int, int]
# One that cannot make environments is of no use here.
_ASK = "import sys, venv, ensurepip; print(*sys.version_info[:3])"
_NEWEST_MINOR = 30


@cache
def oldest_and_newest() -> list[Path]:
    """The interpreters of the first and the last version that can be found; one where there is one."""
    found = dict(_working())
    return [found[version] for version in sorted({min(found), max(found)})]


def _working() -> Iterator[tuple[Version, Path]]:
    least = _least()
    for python in _candidates(least[1]):
        done = subprocess.run([python, "-I", "-c", _ASK], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            major, minor, micro = (int(word) for word in done.stdout.split())
            if (major, minor) >= least:
                yield (major, minor, micro), python


def _candidates(least_minor: int) -> Iterator[Path]:
    """Programs that may be Python: our own, those on the path by version, those that pyenv keeps."""
    yield Path(getattr(sys, "_base_executable", sys.executable))
    for minor in range(least_minor, _NEWEST_MINOR):
        if found := shutil.which(f"python3.{minor}"):
            yield Path(found)
    for home in (os.environ.get("PYENV_ROOT"), Path.home() / ".pyenv"):
        if home:
            yield from sorted(Path(home).glob("versions/3.*/bin/python"))


def _least() -> tuple[int, int]:
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["requires-python"]
    major, minor = wanted.removeprefix(">=").split(".")
    return int(major), int(minor)
