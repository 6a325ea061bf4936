"""The files of deploy/ are what their systems take, as far as a machine without those systems can tell."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from vendor_verifier import __version__
from vendor_verifier.cli.main import run_app

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
# Clusters have a page and tests of their own.
FILES = sorted(path for path in DEPLOY.rglob("*") if path.is_file() and "dask" not in path.relative_to(DEPLOY).parts)
PAGE = (ROOT / "docs" / "nightly.md").read_text(encoding="utf-8")


def text(name: str) -> str:
    return (DEPLOY / name).read_text(encoding="utf-8")


@pytest.fixture
def check_help(capsys: pytest.CaptureFixture[str]) -> str:
    assert run_app(["check", "--help"]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_flag_is_known_to_check_and_no_file_holds_a_key(path: Path, check_help: str) -> None:
    """Arguments behind `check` are its own; nothing looks like a key."""
    content = path.read_text(encoding="utf-8")
    for command in re.findall(r"agent-vendor-verifier(?:\S*)? check(.*(?:\\\n.*)*)", content):
        for name in re.findall(r"(?<!\S)--[a-z][a-z-]+", command.split("| tee")[0]):
            assert re.search(rf"{name}\b", check_help), name
    assert not re.search(r"(?<![a-z])sk-[A-Za-z0-9]{8}|AIza|xox[bp]-", content)


def test_the_action_s_script_passes_arguments_on(tmp_path: Path) -> None:
    """Run with a stand-in command: words are split once, the code reaches output and exit, its report the page."""
    steps = yaml.safe_load(text("github-action/action.yml"))["runs"]["steps"]
    script = next(step["run"] for step in steps if step.get("id") == "check")
    stand_in = tmp_path / "bin" / "agent-vendor-verifier"
    stand_in.parent.mkdir()
    stand_in.write_text(
        "#!/bin/sh\nmkdir -p runs/1; sleep 0.02; touch runs/1/check.json; echo '# a report' > runs/1/report.md\n"
        'printf "%s\\n" "$@"\nexit 3\n'
    )
    older = tmp_path / "runs" / "0" / "check.json"
    older.parent.mkdir(parents=True)
    older.touch()
    os.utime(older, (1, 1))
    stand_in.chmod(stand_in.stat().st_mode | stat.S_IEXEC)
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", script],
        cwd=tmp_path,
        env={
            "PATH": f"{stand_in.parent}:/usr/bin:/bin",
            "CONFIG": "my config.yaml",
            "ARGUMENTS": "--gate f1>=0.9 --model a;b",
            "KEEP": "90d",
            "RUNNER_TEMP": str(tmp_path),
            "GITHUB_OUTPUT": str(tmp_path / "output"),
            "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
        },
        capture_output=True,
        text=True,
        check=False,
    )
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
    assert not re.search(r"(?i)(key|token|secret|password)\s*=", text("Dockerfile"))


def test_the_image_has_all_that_the_wheel_is_built_from() -> None:
    """What pyproject.toml forces into the wheel is copied into the build."""
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"][
        "wheel"
    ]
    copied = {word for line in text("Dockerfile").replace("\\\n", " ").splitlines() for word in line.split()[1:-1]}
    for name in wheel["force-include"]:
        assert {name, name.split("/")[0]} & copied, name


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
    steps = yaml.safe_load(text("github-action/action.yml"))["runs"]["steps"]
    install = next(step for step in steps if step.get("name") == "Install")
    checkout, programs = tmp_path / "checkout", tmp_path / "bin"
    checkout.mkdir()
    programs.mkdir()
    if is_checkout:
        (checkout / "constraints.txt").touch()
    (programs / "python").write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/said\n')
    (programs / "python").chmod(0o755)
    environ = {"PATH": f"{programs}:/usr/bin:/bin", "SOURCE": source, "CHECKOUT": str(checkout)}
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", install["run"]], env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == (0 if installed else 2), done.stderr
    said = tmp_path / "said"
    lines = said.read_text().replace(str(checkout), "CHECKOUT").splitlines() if said.exists() else []
    assert lines == installed
    assert installed or "set the input 'source'" in done.stdout
