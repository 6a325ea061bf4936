"""Every command that a page or a help shows is typed in a folder made for it, and ends as it should."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from command_world import build, typed
from page_blocks import PROGRAM, of_kind

from vendor_verifier.cli.commands import EXAMPLES

pytestmark = pytest.mark.slow

EXAMPLE_LINES = [f"{PROGRAM} {words}" for examples in EXAMPLES.values() for words in examples]
PAGE_LINES = [line for block in of_kind("sh") for line in block.lines() if line.startswith(f"{PROGRAM} ")]
LINES = list(dict.fromkeys([*PAGE_LINES, *EXAMPLE_LINES]))
# What they need beyond a folder, by a part of the line. `test_page_blocks.py` parses them all the same.
NEEDS = {
    "--bfcl-data installed": "a package with other people's data",
    "capacity --by rate": "minutes, as every level lasts; tests/features/capacity searches by rate",
    "--workers tls:": "a cluster with certificates; tests/deploy/test_dask_files.py has one",
}
# Vendors that depart, found by these words in the line.
ENDS_WITH = {"doctor --config-file-path config_simulated.yaml": 1}


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the world is or will be; it is built by the first test, under the fixtures that hold for every test."""
    return tmp_path_factory.mktemp("commands") / "world"


@pytest.fixture
def world(filled: Path, tmp_path: Path) -> Path:
    """A copy for one command."""
    if not filled.exists():
        filled.mkdir()
        build(filled)
    return Path(shutil.copytree(filled, tmp_path / "world", symlinks=True))


@pytest.mark.parametrize("line", LINES)
def test_the_command_ends_as_it_should(line: str, world: Path) -> None:
    """With 0, unless a vendor departs; nobody is told of a mistake."""
    for part, what in NEEDS.items():
        if part in line:
            pytest.skip(f"it needs {what}")
    done = typed(line, world)
    wanted = next((code for part, code in ENDS_WITH.items() if part in line), 0)
    # A busy machine may be too slow for a level, which is no failure of the command.
    busy = {3} if " capacity" in line else set()
    assert done.code in {wanted, *busy}, f"{done.out[-2000:]}\n{done.err[-2000:]}"
    assert "error:" not in done.err


def test_every_command_has_an_example_among_them() -> None:
    """Commands without one would be typed by nobody."""
    assert all(examples for examples in EXAMPLES.values())
    assert [part for part in (*NEEDS, *ENDS_WITH) if not any(part in line for line in LINES)] == []
