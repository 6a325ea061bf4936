"""CONTRIBUTING's tables of packages and dependencies against pyproject.toml, the folders and the imports."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "vendor_verifier"
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
# Distributions that are imported by another name than theirs, and one that comes with another's extra.
MODULES = {"backports.zstd": "backports", "python-dotenv": "dotenv", "pyyaml": "yaml", "httpx2[socks]": "socksio"}
# `test` is too long a list to explain; its row says so.
UNLISTED = {"test"}


def _table(head: str) -> list[list[str]]:
    """The rows of the table that begins with this heading, each as its cells."""
    body = PAGE.split(f"| {head} |", 1)[1].split("\n\n", 1)[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in body.splitlines()[2:]]


def _names(requirements: list[str]) -> list[str]:
    return [re.split(r"[<>=; ]", line)[0] for line in requirements]


def _coded(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


DEPENDENCIES = {_coded(row[0])[0]: row for row in _table("dependency")}
OPTIONAL = {_coded(row[0])[0]: row for row in _table("extra")}


def _imported(file: Path) -> set[str]:
    """The packages that a module imports, by statement or by name."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "find_spec")):
            found |= {arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)}
    return found


def _module(name: str) -> str:
    return MODULES.get(name, name.replace("-", "_"))


def test_every_dependency_has_a_row() -> None:
    """And every row is a dependency, in the order of the alphabet."""
    assert list(DEPENDENCIES) == sorted(_names(PROJECT["dependencies"]))


def test_every_extra_has_a_row_with_all_it_brings() -> None:
    """And every row is an extra."""
    assert set(OPTIONAL) == set(EXTRAS)
    brought = {name: _names(lines) for name, lines in EXTRAS.items() if name not in UNLISTED}
    assert {name: _coded(OPTIONAL[name][1]) for name in brought} == brought


@pytest.mark.parametrize("name", sorted(DEPENDENCIES))
def test_the_place_of_a_dependency_imports_it(name: str) -> None:
    """Whoever looks where the row says finds it used, and the row says what for."""
    _, purpose, place = DEPENDENCIES[name]
    assert len(purpose) > 10
    assert _module(name) in _imported(PACKAGE / _coded(place)[0])


@pytest.mark.parametrize("name", sorted(OPTIONAL))
def test_the_place_of_an_extra_imports_it(name: str) -> None:
    """One of what it brings is imported there; ``docs`` and ``test`` are used by no module."""
    place = _coded(OPTIONAL[name][3])[0]
    if not place.endswith(".py"):
        assert (ROOT / place).exists()
        return
    assert {_module(each) for each in _names(EXTRAS[name])} & _imported(PACKAGE / place)


def test_every_folder_of_the_package_has_its_row() -> None:
    """And every feature stands in the row of the features."""
    rows = _table("package")
    named = {word.rstrip("/") for row in rows for word in _coded(row[0])}
    folders = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    assert named == folders
    (features,) = (row[1] for row in rows if "features/" in row[0])
    there = {path.stem for path in (PACKAGE / "features").iterdir() if not path.name.startswith("_")}
    assert set(re.split(r", | and ", features.split(": ", 1)[1])) == there


def test_tests_and_scripts_import_what_is_declared() -> None:
    """deptry over both, with the extras `test` and `docs`; what tests share by name is our own."""
    ours = ["vendor_verifier", "vendors", *(path.stem for path in (ROOT / "tests" / "support").glob("*.py"))]
    command = [sys.executable, "-m", "deptry", "scripts", "tests", "--ignore", "DEP002,DEP004"]
    known = [word for name in ours for word in ("--known-first-party", name)]
    done = subprocess.run([*command, *known], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
