"""What a hosting service reads of the repository fits the schemas it publishes, and names only what is there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
FORMS = sorted(path for path in (GITHUB / "ISSUE_TEMPLATE").glob("*.yml") if path.name != "config.yml")


@pytest.mark.parametrize(
    ("schema", "files"),
    [
        ("github-workflows", [*WORKFLOWS, ROOT / "deploy/github-action/example-workflow.yml"]),
        ("github-actions", [ROOT / "deploy/github-action/action.yml"]),
        ("github-issue-forms", FORMS),
        ("github-issue-config", [GITHUB / "ISSUE_TEMPLATE/config.yml"]),
        ("dependabot", [GITHUB / "dependabot.yml"]),
        ("gitlab-ci", [ROOT / "deploy/gitlab-ci.yml"]),
    ],
)
def test_files_fit_the_published_schemas(schema: str, files: list[Path]) -> None:
    """The schemas come with check-jsonschema: nothing is fetched."""
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_may_only_read_and_run_what_there_is(path: Path) -> None:
    """No right but reading, no input pasted into a script, each target of make and each script exists."""
    workflow = read(path)
    assert workflow["permissions"] == {"contents": "read"}
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for job in workflow["jobs"].values():
        assert "timeout-minutes" in job
        for step in job["steps"]:
            script = step.get("run", "")
            assert "${{" not in script
            for target in re.findall(r"^make (\S+)", script, re.MULTILINE):
                assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
            assert ".ci/run" not in script or (ROOT / ".ci/run").exists()


def test_every_promise_of_security_names_a_test_that_is_there() -> None:
    """The table's paths exist."""
    named = re.findall(r"`(tests/[\w/.]+)`", (ROOT / "SECURITY.md").read_text(encoding="utf-8"))
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []


def read(path: Path) -> dict[str, Any]:
    """A YAML file; 'on' of a workflow is read as True by YAML 1.1, which nothing here asks for."""
    found = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found
