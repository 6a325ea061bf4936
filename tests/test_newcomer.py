"""A newcomer's first quarter of an hour: the wheel alone in an empty folder, on the oldest and the newest Python.

The wheel's dependencies come from whatever index pip is set up for here; where none can be reached this is skipped.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from pythons import oldest_and_newest

from vendor_verifier import __version__

ROOT = Path(__file__).parents[1]
# Said by pip when nobody answers. A version that nobody has is a failure of ours.
NO_INDEX = re.compile(
    r"NewConnectionError|ConnectTimeout|ProxyError|SSLError|Failed to establish|timed out|unreachable"
)


@dataclass(frozen=True, slots=True)
class Newcomer:
    """An empty folder, an environment with the wheel in it, and a home that nobody has used before."""

    folder: Path
    programs: Path

    @property
    def environ(self) -> dict[str, str]:
        """No variable of this machine but what every account has: no key, no proxy, no path to sources."""
        home = str(self.folder.parent / "home")
        return {"PATH": f"{self.programs}:/usr/bin:/bin", "HOME": home, "LANG": "C.UTF-8", "BROWSER": "false"}

    def command(self, *words: str) -> list[str]:
        """The installed program with its words."""
        return [str(self.programs / "agent-vendor-verifier"), *words]

    def types(self, *words: str, code: int = 0) -> str:
        """Standard output of a command that must end with ``code``."""
        done = subprocess.run(
            self.command(*words), cwd=self.folder, env=self.environ, capture_output=True, text=True, check=False
        )
        assert done.returncode == code, f"{words}\n{done.stdout}\n{done.stderr}"
        return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    target = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(target), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    return next(target.glob("*.whl"))


@pytest.fixture(scope="module", params=["oldest", "newest"])
def newcomer(request: pytest.FixtureRequest, wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Newcomer:
    """A fresh environment of one Python with the wheel and what the wheel asks for."""
    pythons = oldest_and_newest()
    if request.param == "newest" and len(pythons) == 1:
        pytest.skip("there is one Python here")
    python = pythons[0 if request.param == "oldest" else -1]
    base = tmp_path_factory.mktemp("newcomer")
    (base / "empty").mkdir()
    (base / "home").mkdir()
    subprocess.run([python, "-m", "venv", base / "venv"], check=True)
    made = Newcomer(base / "empty", base / "venv" / "bin")
    command = [made.programs / "python", "-m", "pip", "install", "--quiet", "--retries", "1", str(wheel)]
    without_sources = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, cwd=base, env=without_sources, capture_output=True, text=True, check=False)
    if done.returncode and NO_INDEX.search(done.stderr):
        pytest.skip(f"no index can be reached here: pip said {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    return made


@pytest.mark.slow  # installs the product and all it needs, twice
def test_a_newcomer_gets_from_the_wheel_to_the_evidence(newcomer: Newcomer) -> None:
    """Each command ends well and leaves what it promises, one after the other."""
    assert newcomer.types("--version").strip() == __version__
    newcomer.types("init")
    assert {"config.yaml", ".env", ".gitignore"} <= {path.name for path in newcomer.folder.iterdir()}
    # The third one breaks some of its calls, here the first.
    checked = json.loads(newcomer.types("doctor", "--json", code=1))["vendors"]
    assert [each["verdict"] for each in checked] == ["usable", "usable", "usable_with_reservations"]
    assert "nothing was sent" in newcomer.types("-n", "20", "--dry-run")
    assert "quantised" in newcomer.types("-n", "20")
    (run,) = [path for path in (newcomer.folder / "runs").iterdir() if not path.is_symlink()]
    assert {"records.jsonl", "report.html", "report.md", "ranking.csv"} <= {path.name for path in run.iterdir()}
    assert newcomer.types("report", "--open").strip() == f"runs/{run.name}/report.html"
    written = newcomer.types(
        "report", "runs/latest", "--format", "csv", "--table", "ranking,verdicts,findings"
    ).splitlines()
    assert [Path(name).name for name in written] == ["ranking.csv", "verdicts.csv", "findings.csv"]
    assert all((newcomer.folder / name).stat().st_size > 0 for name in written)
    assert newcomer.types("explain", "runs/latest", "--vendor", "reseller-a").startswith("verdict: ")


@pytest.mark.slow
def test_the_newcomer_takes_the_run_along_as_tables(newcomer: Newcomer) -> None:
    """Tables as CSV and JSON lines; a workbook needs an extra."""
    newcomer.types("demo", "-n", "3", "-o", "taken")
    files = newcomer.types("report", "taken", "--table", "ranking,verdicts,findings").split()
    assert files == [f"taken/export/{name}.csv" for name in ("ranking", "verdicts", "findings")]
    rows = (newcomer.folder / files[0]).read_text("utf-8-sig").splitlines()
    assert {"model", "place", "label", "verdict"} <= set(rows[0].split(","))
    assert len(rows) > 5
    (answers,) = newcomer.types("report", "taken", "--table", "records", "-o", "answers.jsonl").split()
    assert len((newcomer.folder / answers).read_text("utf-8").splitlines()) >= 15
    newcomer.types("report", "taken", "--format", "xlsx", code=2)


@pytest.mark.slow
def test_the_newcomer_looks_through_the_answers(newcomer: Newcomer) -> None:
    """``view`` serves the page of the last run at the address it prints, and ends well when it is told to."""
    newcomer.types("demo", "-n", "3", "-o", "runs/shown")
    command = newcomer.command("view", "--print")
    with subprocess.Popen(
        command, cwd=newcomer.folder, env=newcomer.environ, stderr=subprocess.PIPE, text=True
    ) as viewing:
        assert viewing.stderr is not None
        try:
            page = urllib.request.urlopen(_until_address(viewing.stderr), timeout=30).read().decode()
        finally:
            viewing.terminate()
        assert viewing.wait(30) == 0
    assert "<title>" in page


def _until_address(lines: Iterator[str]) -> str:
    read = []
    for line in lines:
        read.append(line)
        if found := re.search(r"http://127\.0\.0\.1:\d+/[\w-]+/", line):
            return found[0]
    raise AssertionError(f"view printed no address: {read}")
