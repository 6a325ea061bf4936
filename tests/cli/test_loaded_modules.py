"""Commands load what they use: by name, for what loading costs depends on the machine."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
RUN = f"-c {ROOT}/config_simulated.yaml --model simulated-model --vendor official -n 1"
# Each costs milliseconds at every start: other people's libraries, and what is large of the standard one.
HEAVY = frozenset(
    "numpy pandas scipy jinja2 rich.console genai_prices httpx2 openai anthropic dask distributed huggingface_hub "
    "pydantic transformers yaml anyio asyncio httptools aiohappyeyeballs tenacity jsonschema_rs filelock "
    "platformdirs dotenv backports sqlite3 multiprocessing".split()
)
# The settings of a run are a pydantic model, next to the words for problems of a file.
READING = {"filelock", "jsonschema_rs", "yaml", "pydantic"}
SENDING = READING | {"anyio", "asyncio", "httptools", "aiohappyeyeballs"}
SCORING = {"numpy", "pandas", "scipy"}
# What the commands of one process may have loaded, one after the other; what a run has stored is read by another one.
MAY_LOAD = (
    {
        "init --list": {"yaml", "pydantic"},
        "RUN --dry-run": SENDING,
        "--help": SENDING | {"rich.console"},
        "RUN --history none -q -o stored": SENDING | SCORING | {"tenacity", "jinja2", "rich.console"},
    },
    {
        "report stored --format md,json": READING | SCORING,
        "score stored": READING | SCORING | {"jinja2", "rich.console", "sqlite3", "platformdirs"},
    },
)
_PROGRAM = """
import sys
from vendor_verifier.cli.main import run_app
for line in sys.argv[1:]:
    code = run_app(line.split())
    print("loaded", code, *sys.modules, file=sys.stderr)
"""


def test_a_command_loads_no_heavy_library_that_it_does_not_use(tmp_path: Path) -> None:
    """Nothing that only other commands, other options or other vendors need."""
    for commands in MAY_LOAD:
        done = subprocess.run(
            [sys.executable, "-c", _PROGRAM, *(words.replace("RUN", RUN) for words in commands)],
            capture_output=True, text=True, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False,
        )  # fmt: skip
        told = [line.split()[1:] for line in done.stderr.splitlines() if line.startswith("loaded ")]
        for (words, allowed), (code, *modules) in zip(commands.items(), told, strict=True):
            assert code == "0", done.stderr
            assert set(modules) & HEAVY <= allowed, words
