"""docs/architecture.md draws the package as it is: its folders, and the modules that it names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "vendor_verifier"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
MODULES = sorted(set(re.findall(r"`([\w/]+\.py)`", PAGE)))


def drawn() -> Iterator[tuple[str, str]]:
    """Each folder of the tree below the package, with its sentence."""
    (tree,) = re.findall(r"```tree\nvendor_verifier/\n(.*?)```", PAGE, re.DOTALL)
    above: list[str] = []
    for line in tree.splitlines():
        indent, name, sentence = re.fullmatch(r"( +)(\w+)/ +(.*)", line).groups()  # type: ignore[union-attr]
        above = [*above[: len(indent) // 4 - 1], name]
        yield "/".join(above), sentence


def folders(within: str = ".") -> set[str]:
    """The packages directly in a folder of the package."""
    found = (path.parent for path in (PACKAGE / within).glob("*/__init__.py"))
    return {str(path.relative_to(PACKAGE)) for path in found}


def test_the_tree_is_the_package_s() -> None:
    """Every folder that is drawn is there, and of the package, its features and its protocols every one is drawn."""
    names = [name for name, _ in drawn()]
    assert [name for name in names if not (PACKAGE / name / "__init__.py").exists()] == []
    assert folders() | folders("features") | folders("wire") <= set(names)
    assert len(names) == len(set(names))


def test_every_folder_says_what_it_is() -> None:
    """One phrase each, and none twice."""
    sentences = [sentence for _, sentence in drawn()]
    assert all(len(sentence) > 10 for sentence in sentences)
    assert len(sentences) == len(set(sentences))


@pytest.mark.parametrize("module", MODULES)
def test_a_module_that_is_named_is_there(module: str) -> None:
    """The walk and the theory of operation lead to files that can be opened."""
    assert (PACKAGE / module).is_file()


def test_the_hard_parts_are_told() -> None:
    """Limiter, lease server, work queue and fast reader have a theory of operation each."""
    theory = PAGE.partition("## Theory of operation")[2]
    named = re.findall(r"^### .*`([\w/]+\.py)`$", theory, re.MULTILINE)
    assert named == [
        "run/rate_limiter.py", "run/cluster/lease_server.py", "run/work_queue.py", "wire/openai_chat/fast_reader.py",
    ]  # fmt: skip


# What is tested of the repository beside the package, what concerns all of it, and what tests share.
BESIDE = {"benchmarks", "datasets", "deploy", "faults", "scripts", "stories", "support", "world"}


def test_the_tests_lie_as_the_package_does() -> None:
    """A folder of tests is named after the folder of the package that they test, at any depth."""
    tests = ROOT / "tests"
    places = {path.relative_to(tests).parent for path in tests.rglob("test_*.py")}
    assert len(places) > 20
    assert [str(place) for place in places if not BESIDE & set(place.parts) and not (PACKAGE / place).is_dir()] == []
