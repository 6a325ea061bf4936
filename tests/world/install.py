"""Installs what `make test-world` can have of the servers of others; what it cannot, it says, and fails nothing.

nginx and haproxy come from Debian (as root); a llama.cpp server (xllamacpp, with gguf to write a model), LiteLLM, an
MCP server and bfcl_eval, with which verdicts are compared, from PyPI, each in an environment of its own under .world.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

WORLD = Path(__file__).parents[2] / ".world"
# Its own list of dependencies wants every vendor's SDK.
BFCL = ("bfcl-eval==2026.3.23", "mpmath==1.3.0")
WITHOUT_DEPENDENCIES = ("bfcl-eval",)
DEBIAN = {"nginx": "nginx-light", "haproxy": "haproxy"}
PYPI = {
    "llama": ("xllamacpp", "gguf"),
    "litellm": ("litellm[proxy]",),
    "mcp": ("mcp-server-time",),
    "bfcl": BFCL,
}
LONGEST_S = 900


def said(command: list[str], **environment: str) -> str | None:
    """The last line of a command that failed; None when it did not."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=LONGEST_S, env={**os.environ, **environment}
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if not done.returncode:
        return None
    return (done.stderr or done.stdout).strip().splitlines()[-1] if done.stderr or done.stdout else "no word why"


def from_debian() -> None:
    missing = [
        package
        for command, package in DEBIAN.items()
        if not shutil.which(command, path=f"{os.environ['PATH']}:/usr/sbin")
    ]
    if not missing:
        return
    if not shutil.which("apt-get") or os.getuid() != 0:
        print(f"not installed, for want of apt-get or root: {', '.join(missing)}")
        return
    # Neither questions nor services of the packages' own.
    quiet = {"DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
    said(["apt-get", "update", "-qq"], **quiet)
    for package in missing:
        if trouble := said(["apt-get", "install", "-y", "-qq", "--no-install-recommends", package], **quiet):
            print(f"not installed: {package}: {trouble}")


def from_pypi() -> None:
    for name, packages in PYPI.items():
        folder = WORLD / name
        if (folder / ".installed").exists():
            continue
        python = str(folder / "bin" / "python")
        trouble = said([sys.executable, "-m", "venv", str(folder)])
        bare = [package for package in packages if package.startswith(WITHOUT_DEPENDENCIES)]
        whole = [package for package in packages if package not in bare]
        if whole:
            trouble = trouble or said([python, "-m", "pip", "install", "--quiet", *whole])
        if bare:
            trouble = trouble or said([python, "-m", "pip", "install", "--quiet", "--no-deps", *bare])
        if trouble:
            shutil.rmtree(folder, ignore_errors=True)
            print(f"not installed: {', '.join(packages)}: {trouble}")
        else:
            (folder / ".installed").touch()


if __name__ == "__main__":
    from_debian()
    from_pypi()
