"""Every command that a page or a help shows is typed in a folder made for it, and ends as it should."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import re
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from dataset_rows import ROWS
from page_blocks import PROGRAM, ROOT, of_kind

from vendor_verifier.cli.commands import COMMAND_NAMES, EXAMPLES
from vendor_verifier.cli.main import run_app
from vendor_verifier.features.explain.view import ViewServer
from vendor_verifier.features.simulate import command as simulate_command

_VENDORS = ("official", "novita", "reseller", "substitute")
_ENTRY = """\
    - {{name: simulated, label: {label}, model_id: kimi-k2.5, url: "sim://faithful", is_baseline: {first}}}
"""
# Runs by the names that examples give them: how the first is made, the others are copies of it.
_RUNS = {
    "--limit 20 -o": ("tuesday", "monday", "today", "kimi", "demo", "20261122T020000Z"),
    "--suite trigger --suite tool_correctness --suite toolbench --suite mcptoolbench -n 3 -o": ("latest",),
}
# Every run is made as short as this, and no port is anybody's.
_SHORT = {"-n": "3", "--duration": "2", "--warmup": "2", "--sweep": "1,2", "--port": "0"}
_FEW = {"run": ["-n", "3"], "demo": ["-n", "3"], "check": ["-n", "3"], "capacity": ["-n", "3"]}
# Vendors of an example that are no simulated ones.
_REAL = re.compile(r"=https://\S+/v1")
_ITS_OWN = {"-n", "--limit", "--sample"}


@dataclass(frozen=True, slots=True)
class Typed:
    code: int
    out: str
    err: str


def build(folder: Path) -> None:
    _write_files(folder)
    (folder / "runs").mkdir()
    for words, (first, *others) in _RUNS.items():
        done = typed(f"{PROGRAM} {words} runs/{first}", folder)
        assert done.code == 0, done.err
        for name in others:
            _copy(folder / "runs" / first, folder / "runs" / name)


def _copy(run: Path, copy: Path) -> None:
    """The run again under a name of its own: it is another run, with the same answers."""
    shutil.copytree(run, copy)
    manifest = copy / "manifest.json"
    if manifest.exists():
        raw = json.loads(manifest.read_text(encoding="utf-8"))
        manifest.write_text(json.dumps({**raw, "run": f"{raw['run']}-{copy.name}"}), encoding="utf-8")


def _write_files(folder: Path) -> None:
    entries = "".join(
        _ENTRY.format(label=label, first=str(not number).lower()) for number, label in enumerate(_VENDORS)
    )
    (folder / "config.yaml").write_text(f"kimi-k2.5:\n  vendors:\n{entries}", encoding="utf-8")
    (folder / ".env").touch(0o600)
    for name in ("config_example.yaml", "config_simulated.yaml", ".env.example", "datasets", "deploy"):
        (folder / name).symlink_to(ROOT / name)
    (folder / "bfcl_data").symlink_to(ROOT / "datasets" / "bfcl")
    rows = (ROOT / "datasets" / "samples.jsonl").read_text(encoding="utf-8").splitlines()[:20]
    job, row = (block.text for block in of_kind("json") if "files_url" in block.text or "messages" in block.text)
    answers = [_result(json.loads(row), number) for number, row in enumerate(rows, 1)]
    files: dict[str, list[Any]] = {
        "samples.jsonl": [json.loads(each) for each in rows],
        "rows.jsonl": [json.loads(row)],
        "job.json": [json.loads(job)],
        "in.jsonl": [ROWS["openbmb"]],
        "cases.jsonl": [ROWS["tool_correctness"]],
        "a.jsonl": answers,
    }
    for name, content in files.items():
        (folder / name).write_text("".join(json.dumps(each) + "\n" for each in content), encoding="utf-8")
    for copy, name in (("own", "samples"), ("b", "a")):
        shutil.copy(folder / f"{name}.jsonl", folder / f"{copy}.jsonl")
    (folder / "b.jsonl.gz").write_bytes(gzip.compress((folder / "b.jsonl").read_bytes()))


def _result(request: dict[str, Any], number: int) -> dict[str, Any]:
    """A row of a result file as K2-Vendor-Verifier writes it."""
    message = {"role": "assistant", "content": "I do not know.", "tool_calls": None}
    response = {"choices": [{"index": 0, "finish_reason": "stop", "message": message}], "usage": None}
    return {
        "data_index": number, "request": request, "response": response, "status": "success", "finish_reason": "stop",
        "tool_calls_valid": None, "duration_ms": 10, "hash": str(number), "extra_body": {},
    }  # fmt: skip


def typed(line: str, folder: Path) -> Typed:
    """Type a command line; no browser is started, and what would serve until Ctrl-C serves for no time."""
    command, redirected = line, ""
    for sign in (" >> ", " > "):
        if sign in command:
            command, _, redirected = command.partition(sign)
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"HOME": folder, "XDG_DATA_HOME": folder, "RUN": "runs/latest"}.items():
            patch.setenv(name, str(value))
        patch.setattr("webbrowser.open", lambda _: True)
        patch.setattr(ViewServer, "serve_forever", lambda viewing, **_: viewing.server_close())
        patch.setattr(simulate_command, "serve", _serve_for_no_time)
        command = _REAL.sub("=sim://faithful", command)
        words = _shortened([_expanded(word) for word in shlex.split(command, comments=True)[1:]])
        with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            if "-o" in words:
                shutil.rmtree(words[words.index("-o") + 1], ignore_errors=True)
            code = run_app(words)
            if redirected:
                target = Path(_expanded(redirected.strip('"')))
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(out.getvalue(), encoding="utf-8")
    return Typed(code, out.getvalue(), err.getvalue())


async def _serve_for_no_time(*_: object) -> None:
    """In place of the simulated vendors."""


def _shortened(words: list[str]) -> list[str]:
    name = words[0] if words and words[0] in COMMAND_NAMES else "run"
    more = [] if _ITS_OWN & set(words) else _FEW.get(name, [])
    if name == "capacity" and "--sweep" not in words:
        more = [*more, "--sweep", "1,2"]
    if "probes" in words:
        more = [*more, "--set", "probes.questions=3", "--set", "probes.repeats=2"]
    return [*(_SHORT.get(before, word) for before, word in zip(["", *words], words, strict=False)), *more]


def _expanded(word: str) -> str:
    word = os.path.expandvars(word)
    return str(Path(word).expanduser()) if word.startswith("~") else word


pytestmark = pytest.mark.slow

EXAMPLE_LINES = [f"{PROGRAM} {words}" for examples in EXAMPLES.values() for words in examples]
PAGE_LINES = [line for block in of_kind("sh") for line in block.lines() if line.startswith(f"{PROGRAM} ")]
LINES = list(dict.fromkeys([*PAGE_LINES, *EXAMPLE_LINES]))
# What they need beyond a folder, by a part of the line. `test_pages.py` parses them all the same.
NEEDS = {
    "--bfcl-data installed": "a package with other people's data",
    "capacity --sweep 1,5,20": "minutes, for every vendor is swept",
    "--workers": "processes or a cluster; tests/run/test_dask.py and tests/deploy/test_dask_files.py have them",
}
# Vendors that depart, found by these words in the line.
ENDS_WITH = {"doctor --config-file-path config_simulated.yaml": 1}


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the world is or will be; it is built by the first test, under the fixtures that hold for every test."""
    return tmp_path_factory.mktemp("commands") / "world"


@pytest.fixture
def world(filled: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    if not filled.exists():
        request.getfixturevalue("pages")
        filled.mkdir()
        build(filled)
    return Path(shutil.copytree(filled, tmp_path / "world", symlinks=True))


@pytest.mark.parametrize("line", LINES)
def test_the_command_ends_as_it_should(line: str, world: Path) -> None:
    """With 0, unless a vendor departs; no mistake is reported."""
    for part, what in NEEDS.items():
        if part in line:
            pytest.skip(f"it needs {what}")
    done = typed(line, world)
    wanted = next((code for part, code in ENDS_WITH.items() if part in line), 0)
    # A busy machine may be too slow for a level, or read a stream in one piece: no failure of the command.
    busy = {3} if " capacity" in line else {1} if " doctor" in line else set()
    assert done.code in {wanted, *busy}, f"{done.out[-2000:]}\n{done.err[-2000:]}"
    assert "error:" not in done.err


def test_every_command_has_an_example_among_them() -> None:
    """Commands without one would be typed by nobody."""
    assert all(examples for examples in EXAMPLES.values())
    assert [part for part in (*NEEDS, *ENDS_WITH) if not any(part in line for line in LINES)] == []
