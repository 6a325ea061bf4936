"""Commands load what they use: by name, for what loading costs depends on the machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RUN = ("-c", str(ROOT / "config_simulated.yaml"), "--model", "simulated-model", "--vendor", "official", "-n", "1")
# Each costs milliseconds at every start: other people's libraries, and what is large of the standard one.
HEAVY = frozenset(
    "numpy pandas scipy jinja2 rich genai_prices httpx2 openai anthropic dask distributed huggingface_hub pydantic "
    "transformers yaml anyio asyncio ssl httptools aiohappyeyeballs tenacity jsonschema_rs filelock platformdirs "
    "dotenv backports sqlite3 multiprocessing".split()
)
READING = {"filelock", "jsonschema_rs", "yaml"}
SENDING = READING | {"pydantic", "anyio", "asyncio", "ssl", "httptools", "aiohappyeyeballs"}
SCORING = {"numpy", "pandas", "scipy"}
_HISTORY = {"sqlite3", "platformdirs"}
MAY_LOAD = {
    "--help": {"rich"},
    "run --help": {"rich"},
    "--version": {"rich"},
    "init --list": {"yaml"},
    "RUN --dry-run": SENDING,
    "RUN --no-history -q -o new": SENDING | SCORING | {"tenacity", "jinja2", "rich"},
    "report stored --format md,json": READING | SCORING,
    "report stored --format html": READING | SCORING | {"jinja2"},
    "score stored": READING | SCORING | {"jinja2", "rich"} | _HISTORY,
}
_PROGRAM = """
import sys
from vendor_verifier.cli.main import run_app
code = run_app(sys.argv[1:])
print(code, *sys.modules, file=sys.stderr)
"""


def loaded(folder: Path, *arguments: str, program: str = _PROGRAM) -> set[str]:
    """The modules in memory after a command that is given in a process of its own and succeeds."""
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True, text=True, cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False,
    )  # fmt: skip
    code, *modules = done.stderr.splitlines()[-1].split()
    assert code == "0", done.stderr
    return set(modules)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the stored run ``stored``."""
    folder = tmp_path_factory.mktemp("loaded")
    loaded(folder, *RUN, "--no-history", "-q", "-o", "stored")
    return folder


@pytest.mark.parametrize("words", MAY_LOAD)
def test_a_command_loads_no_heavy_library_that_it_does_not_use(words: str, folder: Path) -> None:
    """Nothing that only other commands, other options or other vendors need."""
    arguments = [part for word in words.split() for part in (RUN if word == "RUN" else (word,))]
    assert loaded(folder, *arguments) & HEAVY <= MAY_LOAD[words]


def test_help_loads_neither_configuration_nor_modules_of_the_work(tmp_path: Path) -> None:
    """Help is quick because of what it does not load: no plugins, no samples, no numbers."""
    modules = loaded(tmp_path, "--help")
    assert "vendor_verifier.cli.main" in modules
    ours = ("config", "registry", "suites", "loaders", "run", "transport", "scoring", "store")
    assert modules & {f"vendor_verifier.{name}" for name in ours} == set()


def test_a_stored_run_is_scored_without_what_sends(folder: Path) -> None:
    """Neither sockets nor a loop."""
    modules = loaded(folder, "report", "stored", "--format", "html")
    assert "vendor_verifier.pipeline.score" in modules
    sending = (
        "pipeline.plan",
        "pipeline.execute",
        "run.conversation",
        "transport.connect",
        "features.history.database",
    )
    assert modules & {f"vendor_verifier.{name}" for name in sending} == set()


def test_a_run_without_a_history_does_not_load_its_database(folder: Path) -> None:
    """Nor the modules of an evaluation that was not asked."""
    modules = loaded(folder, *RUN, "--no-history", "-q", "-o", "unremembered")
    assert "vendor_verifier.reports.html.page" in modules
    unused = ("features.history.database", "suites.bfcl.suite")
    assert modules & {f"vendor_verifier.{name}" for name in unused} == set()


def test_a_real_run_loads_no_statistics_before_it_has_sent_and_no_price_list_at_all(tmp_path: Path) -> None:
    """What plans, sends and records needs no statistics and templates; a server on this machine has no list price."""
    vendor = {"name": "mine", "model_id": "m", "url": "http://127.0.0.1:9/v1", "validator": "openai"}
    (tmp_path / "config.yaml").write_text(json.dumps({"m": {"vendors": [vendor]}}))
    (tmp_path / "mine.jsonl").write_text(json.dumps({"messages": [{"role": "user", "content": "Hello."}]}))
    program = """
import sys
from vendor_verifier.cli.main import run_app
from vendor_verifier.pipeline import run

send = run._send

def stop(*asked):
    sent = send(*asked)
    print(0, *sys.modules, file=sys.stderr)
    raise SystemExit(0)

run._send = stop
run_app(sys.argv[1:])
"""
    words = "--test-file-path mine.jsonl -n 1 --retries 0 --no-history -q -o run"
    modules = loaded(tmp_path, *words.split(), program=program)
    assert "vendor_verifier.transport.client" in modules
    assert (tmp_path / "run" / "records.jsonl").stat().st_size > 0
    assert modules & HEAVY <= SENDING | {"tenacity"}
