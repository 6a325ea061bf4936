"""Install lines name the distribution that is meant: extras come from a checkout until there is a release."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from vendor_verifier import errors

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
INSTALLS = re.compile(r"(?:pip3?|pipx|uv tool|uv pip)\s+install\s+(?=[-\S])([^\n`#|&;\\]*)")
# Other people's distributions, which are really meant by their names.
OTHERS = {"bfcl-eval", "mpmath", "atheris", "uv"} | {
    re.split(r"[<>=;\[ ]", line)[0] for each in (PROJECT["dependencies"], *EXTRAS.values()) for line in each
}
WITH_VALUE = {"--constraint", "-c", "--requirement", "-r"}


def _texts() -> Iterator[Path]:
    """Everything that speaks to users: docs, deploy files, README, the change log, make and the package's sources."""
    for folder, pattern in (
        ("docs", "*.md"),
        ("deploy", "**/*"),
        ("vendor_verifier", "**/*.py"),
        ("scripts", "**/*.py"),
    ):
        yield from sorted(path for path in (ROOT / folder).glob(pattern) if path.is_file())
    for name in (
        "README.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "Makefile",
        "config_example.yaml",
        "config_simulated.yaml",
        "datasets/README.md",
    ):
        yield ROOT / name


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="ignore") if "__pycache__" not in path.parts else ""


def test_no_line_installs_this_product_from_the_index() -> None:
    """The index has the older 0.1.0 under the name, so a requirement that names it fetches the wrong program."""
    wrong = re.compile(r"agent-vendor-verifier\[|install\s+['\"]?agent[-_]vendor[-_]verifier")
    assert [path.name for path in _texts() if wrong.search(_read(path))] == []


def test_every_install_line_names_a_known_distribution() -> None:
    """A path, `.[extra]` with an extra that there is, or a distribution that this project really uses."""
    texts = [path for path in _texts() if path.suffix != ".py"]
    lines = [(path, line[1]) for path in texts for line in INSTALLS.finditer(_read(path))]
    assert len(lines) > 10, "the lines are not found any more"
    assert [(path.name, word) for path, line in lines for word in _requirements(line) if not _is_meant(word)] == []


@pytest.mark.parametrize("extra", sorted(set(EXTRAS) - {"test"}))
def test_the_line_of_an_extra_names_it(extra: errors.Extra) -> None:
    """Every extra of the project has a line, from a checkout."""
    assert errors.install_line(extra).startswith(f"pip install '.[{extra}]' in a checkout")


def _requirements(line: str) -> Iterator[str]:
    words = iter(shlex.split(line))
    for word in words:
        if word in WITH_VALUE:
            next(words, None)
        elif not word.startswith("-"):
            yield word


def _is_meant(word: str) -> bool:
    extras = re.fullmatch(r"\.(?:\[([\w,]+)\])?", word)
    if extras:
        return all(name in EXTRAS for name in (extras[1] or "fast").split(","))
    return word.startswith(("$", ".$", "./", "/")) or re.split(r"[<>=;\[]", word)[0] in OTHERS
