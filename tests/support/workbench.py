"""A folder with a config, samples and runs, and the command line in it: in this process, or as a program of its own."""

from __future__ import annotations

import contextlib
import io
import json
import os
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from costs import PATIENCE_S

from vendor_verifier.cli.main import run_app

ROOT = Path(__file__).parents[2]
PROGRAM = (sys.executable, "-m", "vendor_verifier.cli.main")
# Further text of a config: every question is asked once.
ONCE = "run: {retries: 0, baseline_repeats: 1}\n"
TOOL = {
    "type": "function",
    "function": {
        "name": "look_up",
        "description": "Look up a record.",
        "parameters": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]},
    },
}


@dataclass(frozen=True)
class Bench:
    """A folder, and what is done and found in it."""

    folder: Path

    def write(self, name: str, content: str | Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> Path:
        """Write a file of text, a JSON object or JSON lines."""
        if isinstance(content, Mapping):
            content = json.dumps(content)
        elif not isinstance(content, str):
            content = "".join(json.dumps(row) + "\n" for row in content)
        path = self.folder / name
        path.write_text(content, encoding="utf-8")
        return path

    def configure(self, *vendors: str | Mapping[str, Any], extra: str = "", **settings: Any) -> Path:
        """Write config.yaml for ``label: persona``, ``label: URL`` or an entry's keys; the first is the baseline."""
        text = "simulated-model:\n  vendors:\n"
        for place, vendor in enumerate(vendors):
            entry: dict[str, Any] = {"name": "simulated", "label": "", "model_id": "simulated-model", "url": ""}
            if isinstance(vendor, str):
                label, persona = vendor.split(": ")
                vendor = {"label": label, "url": persona if "://" in persona else f"sim://{persona}"}
            entry |= {"validator": "openai", **vendor, **settings, **({} if place else {"is_baseline": True})}
            lines = [f"{key}: {value if isinstance(value, str) else json.dumps(value)}" for key, value in entry.items()]
            text += "    - " + "\n      ".join(lines) + "\n"
        return self.write("config.yaml", text + extra)

    def samples(self, count: int = 12, *, tools: bool = True) -> Path:
        """A sample file of simple questions, with one tool each."""
        rows = [{"messages": [{"role": "user", "content": f"Please look up record {n}."}]} for n in range(count)]
        return self.write("samples.jsonl", [row | ({"tools": [TOOL]} if tools else {}) for row in rows])

    def __call__(self, *arguments: str | Path) -> tuple[int, str, str]:
        """Exit code, stdout and stderr of one command."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = run_app([str(argument) for argument in arguments])
        return code, out.getvalue(), err.getvalue()

    def words(self, output: str | Path, *more: str | Path) -> list[str]:
        """The main job over this folder's config and samples, into the folder ``output``."""
        samples = self.folder / "samples.jsonl"
        file = ["--test-file-path", str(samples)] if samples.exists() else []
        config = ["--config-file-path", str(self.folder / "config.yaml")]
        return [*config, *file, "-o", str(self.folder / output), "-q", *map(str, more)]

    def run(self, *more: str | Path, output: str = "run") -> tuple[int, dict[str, Any]]:
        """Exit code and scores of the main job."""
        history = () if "--history" in more else ("--history", "none")
        code, _, err = self(*self.words(output, *history, *more))
        scores = self.folder / output / "scores.json"
        assert scores.exists(), err
        return code, json.loads(scores.read_text(encoding="utf-8"))

    def start(
        self, *more: str, output: str = "run", own_group: bool = False, **environment: str
    ) -> subprocess.Popen[str]:
        """Begin the main job as a program, without proxies but given ones, on request in its own process group."""
        known = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
        return subprocess.Popen(
            [*PROGRAM, *self.words(output, *more)], cwd=self.folder, text=True, start_new_session=own_group,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**known, "PYTHONPATH": str(ROOT), **environment},
        )  # fmt: skip

    def program(self, *more: str, output: str = "run", **environment: str) -> tuple[int, str]:
        """Exit code of the main job as a program, and all that it printed."""
        with self.start(*more, output=output, **environment) as process:
            try:
                out, err = process.communicate(timeout=3 * PATIENCE_S)
            finally:
                process.kill()
        return process.returncode, out + err

    def records(self, output: str = "run") -> list[dict[str, Any]]:
        path = self.folder / output / "records.jsonl"
        return [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []

    def failures(self) -> Counter[str]:
        """How many attempts of the run failed, by kind."""
        attempts = [one for record in self.records() for turn in record["turns"] for one in turn["attempts"]]
        return Counter(one["failure"]["kind"] for one in attempts if one.get("failure"))

    def kept(self, output: str = "run") -> int:
        path = self.folder / output / "records.jsonl"
        return path.read_bytes().count(b"\n") if path.exists() else 0

    def manifest(self, output: str = "run") -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / output / "manifest.json").read_text(encoding="utf-8"))
        return found

    def vendors(self, output: str = "run") -> dict[str, Any]:
        """The figures of every vendor of a run, by label."""
        scores = json.loads((self.folder / output / "scores.json").read_text(encoding="utf-8"))
        vendors: dict[str, Any] = scores["models"]["simulated-model"]["vendors"]
        return vendors


@contextlib.contextmanager
def simulated(speed: float = 10.0) -> Iterator[str]:
    """The base address of simulated vendors in a process of their own."""
    command = [*PROGRAM, "simulate", "--port", "0", "--seed", "7", "--speed", str(speed)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().removeprefix("simulated vendors at ").strip()
        finally:
            process.terminate()
            process.wait(timeout=PATIENCE_S)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
