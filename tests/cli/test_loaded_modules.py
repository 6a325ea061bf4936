"""Commands load what they use: by name, for what loading costs depends on the machine."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
RUN = ("-c", str(ROOT / "config_simulated.yaml"), "--model", "simulated-model", "--vendor", "official", "-n", "1")
# Each costs milliseconds at every start: other people's libraries, and what is large of the standard one.
HEAVY = frozenset(
    "numpy pandas scipy jinja2 rich.console genai_prices httpx2 openai anthropic dask distributed huggingface_hub "
    "pydantic transformers yaml anyio asyncio httptools aiohappyeyeballs tenacity jsonschema_rs filelock "
    "platformdirs dotenv backports sqlite3 multiprocessing".split()
)
# The settings of a run are a pydantic model, next to the words for problems of a file.
HELP = {"rich.console", "pydantic", "yaml"}
READING = {"filelock", "jsonschema_rs", "yaml", "pydantic"}
SENDING = READING | {"anyio", "asyncio", "httptools", "aiohappyeyeballs"}
SCORING = {"numpy", "pandas", "scipy"}
_HISTORY = {"sqlite3", "platformdirs"}
MAY_LOAD = {
    "--help": HELP,
    "init --list": {"yaml", "pydantic"},
    "RUN --dry-run": SENDING,
    "RUN --history none -q -o stored": SENDING | SCORING | {"tenacity", "jinja2", "rich.console"},
    "report stored --format md,json": READING | SCORING,
    "score stored": READING | SCORING | {"jinja2", "rich.console"} | _HISTORY,
}
_PROGRAM = """
import sys
from vendor_verifier.cli.main import run_app
code = run_app(sys.argv[1:])
print(code, *sys.modules, file=sys.stderr)
"""


def loaded(folder: Path, *arguments: str) -> set[str]:
    """The modules in memory after a command that is given in a process of its own and succeeds."""
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, *arguments],
        capture_output=True, text=True, cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False,
    )  # fmt: skip
    code, *modules = done.stderr.splitlines()[-1].split()
    assert code == "0", done.stderr
    return set(modules)


def test_a_command_loads_no_heavy_library_that_it_does_not_use(tmp_path: Path) -> None:
    """Nothing that only other commands, other options or other vendors need. The first run is what others read."""
    for words, allowed in MAY_LOAD.items():
        arguments = [part for word in words.split() for part in (RUN if word == "RUN" else (word,))]
        assert loaded(tmp_path, *arguments) & HEAVY <= allowed, words
