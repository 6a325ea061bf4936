"""The wheel works away from the checkout: installed with the source out of reach, it runs the demonstration."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from vendor_verifier import __version__

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the sdist of this checkout."""
    target = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(target), str(ROOT)],
        check=True, capture_output=True,
    )  # fmt: skip
    return target


@pytest.mark.slow  # builds, makes an environment and runs the program in it
def test_the_installed_wheel_runs_the_demonstration(built: Path, tmp_path: Path) -> None:
    """Plugins, samples and example configuration are found inside the wheel, with no checkout in sight."""
    wheel = next(built.glob("*.whl"))
    home = tmp_path / "venv"
    venv.create(home, with_pip=True)
    python = home / "bin" / "python"
    # The dependencies of the test environment are lent by path, so that nothing is downloaded; our own editable install
    # is not among them, because a path file named in a path file is not followed.
    site = Path(
        subprocess.run(
            [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
    )
    (site / "lent.pth").write_text(sysconfig.get_path("purelib") + "\n")
    subprocess.run(
        [python, "-m", "pip", "install", "--no-deps", "--no-index", str(wheel)], check=True, capture_output=True
    )
    away = tmp_path / "away"
    away.mkdir()
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    where = subprocess.run(
        [python, "-c", "import vendor_verifier; print(vendor_verifier.__file__)"],
        check=True,
        capture_output=True,
        text=True,
        cwd=away,
        env=environment,
    )
    assert str(home) in where.stdout
    done = subprocess.run(
        [home / "bin" / "agent-vendor-verifier", "demo", "-n", "3", "--json", "-o", "out"],
        capture_output=True,
        text=True,
        cwd=away,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    vendors = json.loads(done.stdout)["models"]["simulated-model"]["vendors"]
    assert len(vendors) >= 5
    assert (away / "out" / "report.md").exists()
    for module in ("vendor_verifier", "agent_vendor_verifier"):
        words = [home / "bin" / "python", "-m", module, "--version"]
        version = subprocess.run(words, capture_output=True, text=True, cwd=away, env=environment, check=False)
        assert (version.returncode, version.stdout.strip()) == (0, __version__), version.stderr


def test_the_wheel_puts_its_two_names_into_site_packages(built: Path) -> None:
    """The package, and the module that 0.1.0 was begun by; ``datasets`` would shadow Hugging Face's, .env be a leak."""
    with zipfile.ZipFile(next(built.glob("*.whl"))) as wheel:
        names = wheel.namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith((".dist-info", ".data"))} == {
        "vendor_verifier",
        "agent_vendor_verifier.py",
    }
    for shipped in ("vendors/chat_completions.py", "datasets/samples.jsonl", "config_simulated.yaml", ".env.example"):
        assert f"vendor_verifier/_shipped/{shipped}" in names
    assert "vendor_verifier/py.typed" in names
    with tarfile.open(next(built.glob("*.tar.gz"))) as source:
        names += source.getnames()
    assert [name for name in names if name.endswith(("/.env", "/config.yaml")) or "/runs/" in name] == []


def test_an_installed_plugin_package_is_found_and_asked(tmp_path: Path) -> None:
    """A pip package with the entry-point group is a vendor like the shipped ones; one that breaks is listed."""
    project = tmp_path / "project"
    (project / "nebula_vendor").mkdir(parents=True)
    (project / "nebula_vendor" / "__init__.py").write_text(
        "from vendor_verifier.vendor import OpenAICompatible\n\n\n"
        "class Nebula(OpenAICompatible):\n    name = 'nebula'\n    base_url = 'https://api.nebula.example/v1'\n"
    )
    (project / "nebula_vendor" / "broken.py").write_text("raise RuntimeError('not today')\n")
    (project / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n\n'
        '[project]\nname = "nebula-vendor"\nversion = "1.0"\n\n'
        '[project.entry-points."vendor_verifier.vendors"]\n'
        'nebula = "nebula_vendor:Nebula"\nbroken = "nebula_vendor.broken:Broken"\n'
    )
    site = tmp_path / "site"
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation",
         "--target", str(site), str(project)],
        check=True, capture_output=True,
    )  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "vendor_verifier.cli.main", "init", "--list"],
        capture_output=True, text=True, check=True, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{site}{os.pathsep}{ROOT}"},
    )  # fmt: skip
    assert "\nnebula " in done.stdout
    assert "not today" in done.stdout
