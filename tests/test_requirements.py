"""requirements.lock: what a plain install brings, for every Python that the package takes, by version and by digest."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LINES = [line for line in LOCK.replace(" \\\n", " ").splitlines() if not line.startswith("#")]
PINNED = [Requirement(line.split(" --hash=")[0].strip()) for line in LINES]
CONSTRAINTS = dict(
    line.split("==") for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines() if "==" in line
)


def environment(python: str, system: str) -> dict[str, str]:
    """What a marker asks of a machine with this Python."""
    systems = {"linux": ("posix", "Linux"), "darwin": ("posix", "Darwin"), "win32": ("nt", "Windows")}
    os_name, platform_system = systems[system]
    return {
        "python_version": python, "python_full_version": f"{python}.0", "sys_platform": system, "os_name": os_name,
        "platform_system": platform_system, "implementation_name": "cpython",
        "platform_python_implementation": "CPython", "extra": "",
    }  # fmt: skip


def needed(machine: dict[str, str]) -> set[str]:
    """Every distribution that a plain install brings there, by what the installed ones say they need."""
    found: set[str] = set()
    waiting = [Requirement(line) for line in PROJECT["dependencies"]]
    while waiting:
        asked = waiting.pop()
        name = canonicalize_name(asked.name)
        if name in found or (asked.marker and not asked.marker.evaluate(machine)):
            continue
        found.add(name)
        for line in requires(name) or ():
            below = Requirement(line)
            if any(below.marker is None or below.marker.evaluate(machine | {"extra": e}) for e in {"", *asked.extras}):
                waiting.append(Requirement(f"{below.name}{_extras(below)}"))
    return found


def _extras(requirement: Requirement) -> str:
    return f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""


def test_the_lock_names_no_index_and_no_host() -> None:
    """Names, versions, markers and digests, and nothing else."""
    assert LINES
    one = re.compile(r"[a-z0-9.-]+==[\w.+!-]+(?: ; [\w\s'\"<>=!.()]+?)?(?: +--hash=sha256:[0-9a-f]{64})+")
    assert [line for line in LINES if not one.fullmatch(line)] == []
    assert not re.search(r"://|--(?:index|extra-index|find-links|trusted)", LOCK)


@pytest.mark.parametrize("system", ["linux", "darwin", "win32"])
@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13", "3.14"])
def test_the_lock_has_everything_that_an_install_brings(python: str, system: str) -> None:
    """Dependencies of dependencies, too; `make lock` writes it anew."""
    machine = environment(python, system)
    there = {canonicalize_name(each.name) for each in PINNED if each.marker is None or each.marker.evaluate(machine)}
    assert needed(machine) - there == set()


def test_the_versions_are_those_that_everything_is_tested_with() -> None:
    """One version of a distribution in both files."""
    tested = {canonicalize_name(name): version for name, version in CONSTRAINTS.items()}
    assert {each.name: str(each.specifier) for each in PINNED if each.marker is None} == {
        each.name: f"=={tested.get(canonicalize_name(each.name))}" for each in PINNED if each.marker is None
    }


def test_every_dependency_is_within_what_the_project_allows() -> None:
    """A lower bound that was raised asks for a new lock."""
    pinned = {canonicalize_name(each.name): str(each.specifier).removeprefix("==") for each in PINNED}
    asked = [Requirement(line) for line in PROJECT["dependencies"]]
    assert [each.name for each in asked if not each.specifier.contains(pinned[canonicalize_name(each.name)])] == []
