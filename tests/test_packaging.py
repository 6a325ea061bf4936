"""The wheel works away from the checkout: a newcomer gets from it to the evidence."""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

from vendor_verifier import __version__

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.slow  # builds, makes an environment and runs the program in it


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the sdist of this checkout."""
    target = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(target), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    return target


def test_a_newcomer_gets_from_the_wheel_to_the_evidence(built: Path, tmp_path: Path) -> None:
    """Plugins, samples and configuration are found inside the wheel; each command leaves what it promises.

    Dependencies are lent by a path file, so that nothing is downloaded; it does not lead to our own checkout.
    """
    programs, folder = tmp_path / "venv" / "bin", tmp_path / "empty"
    folder.mkdir()

    def types(*words: str, code: int = 0, program: str = "agent-vendor-verifier") -> str:
        """Standard output of a command that must end with ``code``, without any variable of this machine."""
        environ = {"PATH": f"{programs}:/usr/bin:/bin", "HOME": str(folder), "BROWSER": "false"}
        command = [str(programs / program), *words]
        done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)
        assert done.returncode == code, f"{words}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    site = types("-c", "import sysconfig; print(sysconfig.get_path('purelib'))", program="python").strip()
    Path(site, "lent.pth").write_text(sysconfig.get_path("purelib") + "\n")
    types("-m", "pip", "install", "--no-deps", "--no-index", str(next(built.glob("*.whl"))), program="python")
    assert types("--version").strip() == __version__
    for module in ("vendor_verifier", "agent_vendor_verifier"):
        assert types("-m", module, "--version", program="python").strip() == __version__
    types("init")
    assert {"config.yaml", ".env", ".gitignore"} <= {path.name for path in folder.iterdir()}
    # The third one breaks some of its calls, here the first.
    checked = json.loads(types("doctor", "--json", code=1))["vendors"]
    assert [each["verdict"] for each in checked] == ["usable", "usable", "usable_with_reservations"]
    assert "nothing was sent" in types("-n", "3", "--dry-run")
    assert "quantised" in types("-n", "3")
    (run,) = [path for path in (folder / "runs").iterdir() if not path.is_symlink()]
    assert {"records.jsonl", "report.html", "report.md", "ranking.csv"} <= {path.name for path in run.iterdir()}
    assert types("report", "--open").strip() == f"runs/{run.name}/report.html"
    written = types("report", "runs/latest", "--format", "csv", "--table", "ranking,verdicts").split()
    assert [Path(name).name for name in written] == ["ranking.csv", "verdicts.csv"]
    assert all((folder / name).stat().st_size > 0 for name in written)
    assert types("explain", "runs/latest", "--vendor", "reseller-a").startswith("verdict: ")


def test_the_wheel_puts_its_two_names_into_site_packages(built: Path) -> None:
    """The package, and the module that 0.1.0 was begun by; ``datasets`` would shadow Hugging Face's, .env be a leak."""
    with zipfile.ZipFile(next(built.glob("*.whl"))) as wheel:
        names = wheel.namelist()
    tops = {name.split("/")[0] for name in names}
    kept = {top for top in tops if not top.endswith((".dist-info", ".data"))}
    assert kept == {"vendor_verifier", "agent_vendor_verifier.py"}
    assert "vendor_verifier/py.typed" in names
    with tarfile.open(next(built.glob("*.tar.gz"))) as source:
        names += source.getnames()
    assert [name for name in names if name.endswith(("/.env", "/config.yaml")) or "/runs/" in name] == []
