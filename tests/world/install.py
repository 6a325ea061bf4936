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
DEBIAN = {"nginx": "nginx-light", "haproxy": "haproxy"}
PYPI = {
    "llama": [["xllamacpp", "gguf"]],
    "litellm": [["litellm[proxy]"]],
    "mcp": [["mcp-server-time"]],
    # Its own list of dependencies wants every vendor's SDK.
    "bfcl": [["mpmath==1.3.0"], ["--no-deps", "bfcl-eval==2026.3.23"]],
}
LONGEST_S = 900
# Neither questions nor services of Debian's packages.
QUIET = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}


def done(what: str, commands: list[list[str]]) -> bool:
    """Whether all of these commands succeeded; the first that does not is reported."""
    for command in commands:
        try:
            subprocess.run(command, capture_output=True, text=True, check=True, timeout=LONGEST_S, env=QUIET)
        except (OSError, subprocess.SubprocessError) as error:
            words = str(getattr(error, "stderr", None) or error).strip().splitlines()
            print(f"not installed: {what}: {words[-1]}")
            return False
    return True


def main() -> None:
    path = f"{os.environ['PATH']}:/usr/sbin"
    if missing := [package for command, package in DEBIAN.items() if not shutil.which(command, path=path)]:
        install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *missing]
        done(", ".join(missing), [["apt-get", "update", "-qq"], install])
    for name, packages in PYPI.items():
        folder = WORLD / name
        pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet"]
        if not (folder / ".installed").exists():
            if done(name, [[sys.executable, "-m", "venv", str(folder)], *([*pip, *each] for each in packages)]):
                (folder / ".installed").touch()
            else:
                shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
