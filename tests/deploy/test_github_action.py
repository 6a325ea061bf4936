"""The folder of the GitHub action is whole: it can be published as it is, and installs nothing by a bare name."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

FOLDER = Path(__file__).parents[2] / "deploy" / "github-action"
README = (FOLDER / "README.md").read_text(encoding="utf-8")
ACTION: dict[str, Any] = yaml.safe_load((FOLDER / "action.yml").read_text(encoding="utf-8"))
INSTALL = next(step for step in ACTION["runs"]["steps"] if step.get("name") == "Install")


@pytest.mark.parametrize(
    ("source", "is_checkout", "installed"),
    [
        ("./a.whl", True, ["-m pip install --quiet ./a.whl"]),
        (
            "",
            True,
            ["-m pip install --quiet --constraint CHECKOUT/constraints.txt CHECKOUT"],
        ),
        ("", False, []),
    ],
)
def test_what_is_installed(source: str, is_checkout: bool, installed: list[str], tmp_path: Path) -> None:
    """What the input names; else the checkout around it; else nothing, with a word what is missing."""
    checkout, programs = tmp_path / "checkout", tmp_path / "bin"
    checkout.mkdir()
    programs.mkdir()
    if is_checkout:
        (checkout / "constraints.txt").touch()
    (programs / "python").write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/said\n')
    (programs / "python").chmod(0o755)
    environ = {"PATH": f"{programs}:/usr/bin:/bin", "SOURCE": source, "CHECKOUT": str(checkout)}
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", INSTALL["run"]], env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == (0 if installed else 2), done.stderr
    said = tmp_path / "said"
    lines = said.read_text().replace(str(checkout), "CHECKOUT").splitlines() if said.exists() else []
    assert lines == installed
    assert installed or "set the input 'source'" in done.stdout
