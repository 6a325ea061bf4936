"""The folder of the GitHub action is whole: it can be published as it is, and installs nothing by a bare name."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

FOLDER = Path(__file__).parents[2] / "deploy" / "github-action"
README = (FOLDER / "README.md").read_text(encoding="utf-8")
ACTION: dict[str, Any] = yaml.safe_load((FOLDER / "action.yml").read_text(encoding="utf-8"))
INSTALL = next(step for step in ACTION["runs"]["steps"] if step.get("name") == "Install")


def test_the_readme_tells_every_input_as_the_action_has_it() -> None:
    """Names and defaults, in the action's order."""
    rows = re.findall(r"^\| `([\w-]+)` \| (?:`([^`]+)`)? *\| .+ \|$", README, re.MULTILINE)
    assert rows == [(name, each["default"]) for name, each in ACTION["inputs"].items()]


def test_the_readme_s_links_stay_inside_the_folder() -> None:
    """So that they lead somewhere when the folder is a repository of its own."""
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", README)
    assert links
    assert [link for link in links if link.startswith("..") or not (FOLDER / link).exists()] == []


def test_the_readme_s_workflow_fits_the_published_schema(tmp_path: Path) -> None:
    """What people copy is a workflow, and its ``with`` has inputs of this action only."""
    (block,) = re.findall(r"^```yaml\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
    (tmp_path / "vendors.yml").write_text(block, encoding="utf-8")
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows"]
    done = subprocess.run([*command, tmp_path / "vendors.yml"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    step = yaml.safe_load(block)["jobs"]["check"]["steps"][-1]
    assert set(step["with"]) <= set(ACTION["inputs"])


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
