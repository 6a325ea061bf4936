"""The files of deploy/ and .github/ are what their systems take, as far as a machine without those systems can tell."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import check_jsonschema
import pytest
import yaml

from vendor_verifier import __version__
from vendor_verifier.cli.main import run_app

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
# Clusters have a page and tests of their own.
FILES = sorted(path for path in DEPLOY.rglob("*") if path.is_file() and "dask" not in path.relative_to(DEPLOY).parts)


def text(name: str) -> str:
    return (DEPLOY / name).read_text(encoding="utf-8")


STEPS = yaml.safe_load(text("github-action/action.yml"))["runs"]["steps"]


def stand_in(program: Path, script: str) -> None:
    """A program of a step that is a shell script."""
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{script}")
    program.chmod(0o755)


def step(script: str, folder: Path, **environment: object) -> subprocess.CompletedProcess[str]:
    """Run a step of the action in ``folder``, whose ``bin`` has the programs."""
    known = {"PATH": f"{folder}/bin:/usr/bin:/bin", **{name: str(value) for name, value in environment.items()}}
    command = ["bash", "-e", "-o", "pipefail", "-c", script]
    return subprocess.run(command, cwd=folder, env=known, capture_output=True, text=True, check=False)


def test_every_flag_is_known_to_check_and_no_file_holds_a_key(capsys: pytest.CaptureFixture[str]) -> None:
    """Arguments behind `check` are its own; nothing looks like a key."""
    assert run_app(["check", "--help"]) == 0
    check_help = capsys.readouterr().out
    for path in FILES:
        content = path.read_text(encoding="utf-8")
        for command in re.findall(r"agent-vendor-verifier(?:\S*)? check(.*(?:\\\n.*)*)", content):
            for name in re.findall(r"(?<!\S)--[a-z][a-z-]+", command.split("| tee")[0]):
                assert re.search(rf"{name}\b", check_help), (path, name)
        assert not re.search(r"(?<![a-z])sk-[A-Za-z0-9]{8}|AIza|xox[bp]-", content), path


def test_the_action_s_script_passes_arguments_on(tmp_path: Path) -> None:
    """Run with a stand-in command: words are split once, the code reaches output and exit, its report the page."""
    script = next(step["run"] for step in STEPS if step.get("id") == "check")
    stand_in(
        tmp_path / "bin" / "agent-vendor-verifier",
        "mkdir -p runs/1; sleep 0.02; touch runs/1/check.json; echo '# a report' > runs/1/report.md\n"
        'printf "%s\\n" "$@"\nexit 3\n',
    )
    older = tmp_path / "runs" / "0" / "check.json"
    older.parent.mkdir(parents=True)
    older.touch()
    os.utime(older, (1, 1))
    done = step(
        script, tmp_path, CONFIG="my config.yaml", ARGUMENTS="--gate f1>=0.9 --model a;b", KEEP="90d",
        RUNNER_TEMP=tmp_path, GITHUB_OUTPUT=tmp_path / "output", GITHUB_STEP_SUMMARY=tmp_path / "summary",
    )  # fmt: skip
    assert done.returncode == 3, done.stderr
    words = done.stdout.splitlines()
    assert words[:3] == ["check", "--config-file-path", "my config.yaml"]
    assert words[-4:] == ["--gate", "f1>=0.9", "--model", "a;b"]
    assert (tmp_path / "output").read_text() == "exit-code=3\n"
    summary = (tmp_path / "summary").read_text()
    assert summary.startswith("    check\n    --config-file-path\n")
    assert summary.endswith("\n\n# a report\n")


def test_systemd_units_verify(tmp_path: Path) -> None:
    """`systemd-analyze verify` finds nothing, with a stand-in for the installed command."""
    tool = shutil.which("systemd-analyze")
    if tool is None:
        pytest.skip("systemd-analyze is not installed here")
    for unit in (DEPLOY / "systemd").iterdir():
        content = unit.read_text(encoding="utf-8").replace("/usr/local/bin/agent-vendor-verifier", "/bin/true")
        (tmp_path / unit.name).write_text(content)
    units = sorted(str(path) for path in tmp_path.iterdir())
    done = subprocess.run([tool, "verify", "--man=no", *units], capture_output=True, text=True, check=False)
    ours = [line for line in done.stderr.splitlines() if "agent-vendor-verifier" in line]
    assert ours == []
    calendar = re.search(r"OnCalendar=(.*)", text("systemd/agent-vendor-verifier.timer"))
    assert calendar is not None
    assert subprocess.run([tool, "calendar", calendar.group(1)], capture_output=True, check=False).returncode == 0


def test_every_file_names_the_image_of_this_version() -> None:
    """What is built, run and scheduled is one version: the one that is checked out."""
    named = {tag for path in (*FILES, DEPLOY.parent / "docs" / "nightly.md")
             for tag in re.findall(r"agent-vendor-verifier:([\w.]+)", path.read_text(encoding="utf-8"))}  # fmt: skip
    assert named == {__version__}


def test_the_dockerfile_ends_as_a_user_without_rights() -> None:
    """Pinned base, no ADD, no secret in ENV or ARG, only checked-in sources, exec form, the volume and the user."""
    lines = re.sub(r"\\\n", " ", text("Dockerfile")).splitlines()
    words = [line.split() for line in lines if line and not line.startswith("#")]
    assert [row[0] for row in words if row[0] in ("ADD", "ARG")] == []
    assert all(re.fullmatch(r"python:3\.\d+-slim", row[1]) for row in words if row[0] == "FROM")
    users = [row[1] for row in words if row[0] == "USER"]
    assert users == ["10001:10001"]
    assert ["VOLUME", "/data/runs"] in words
    assert ["ENTRYPOINT", '["agent-vendor-verifier"]'] in words
    sources = [name for row in words if row[0] == "COPY" and "--from" not in row[1] for name in row[1:-1]]
    assert [name for name in sources if not (ROOT / name).exists()] == []
    allowed = {line[1:] for line in text("Dockerfile.dockerignore").splitlines() if line.startswith("!")}
    assert set(sources) == allowed
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    for name in project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]:
        assert {name, name.split("/")[0]} & allowed, name
    assert not re.search(r"(?i)(key|token|secret|password)\s*=", text("Dockerfile"))


@pytest.mark.parametrize(
    ("source", "is_checkout", "installed"),
    [
        ("./a.whl", True, ["-m pip install --quiet ./a.whl"]),
        ("", True, ["-m pip install --quiet --constraint CHECKOUT/constraints.txt CHECKOUT"]),
        ("", False, []),
    ],
)
def test_what_is_installed(source: str, is_checkout: bool, installed: list[str], tmp_path: Path) -> None:
    """What the input names; else the checkout around it; else nothing, with a word what is missing."""
    script = next(step["run"] for step in STEPS if step.get("name") == "Install")
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    if is_checkout:
        (checkout / "constraints.txt").touch()
    stand_in(tmp_path / "bin" / "python", f'echo "$@" >> {tmp_path}/said\n')
    done = step(script, tmp_path, SOURCE=source, CHECKOUT=checkout)
    assert done.returncode == (0 if installed else 2), done.stderr
    said = tmp_path / "said"
    lines = said.read_text().replace(str(checkout), "CHECKOUT").splitlines() if said.exists() else []
    assert lines == installed
    assert installed or "set the input 'source'" in done.stdout


# --- what a hosting service reads of the repository

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
def test_files_fit_the_published_schemas(schema: str, files: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    """The schemas come with check-jsonschema: nothing is fetched."""
    with pytest.raises(SystemExit) as ended:
        check_jsonschema.main(["--builtin-schema", f"vendor.{schema}", *map(str, files)])
    assert ended.value.code == 0, capsys.readouterr()


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_may_only_read_and_run_what_there_is(path: Path) -> None:
    """No right but reading, no input pasted into a script, each target of make and each script exists."""
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
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
