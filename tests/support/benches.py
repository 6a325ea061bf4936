"""Runs of the main job on simulated vendors, in a folder of their own."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from vendor_verifier.cli.main import run_app


@dataclass(frozen=True)
class Bench:
    """A folder with a config, and the command line in it."""

    folder: Path
    capsys: pytest.CaptureFixture[str]

    def configure(self, *vendors: str, extra: str = "") -> Path:
        """Write config.yaml for ``label: persona`` pairs; the first is the baseline."""
        lines = ["simulated-model:", "  vendors:"]
        for number, vendor in enumerate(vendors):
            label, persona = vendor.split(": ")
            lines += [
                "    - name: simulated",
                f"      label: {label}",
                "      model_id: simulated-model",
                f"      url: sim://{persona}",
                "      validator: openai",
            ]
            lines += ["      is_baseline: true"] if number == 0 else []
        path = self.folder / "config.yaml"
        path.write_text("\n".join(lines) + "\n" + extra, encoding="utf-8")
        return path

    def samples(self, count: int = 12) -> Path:
        """A sample file of simple questions with one tool each."""
        path = self.folder / "samples.jsonl"
        path.write_text("".join(_sample(number) for number in range(count)), encoding="utf-8")
        return path

    def __call__(self, *arguments: str | Path) -> tuple[int, str, str]:
        """Exit code, stdout and stderr of one command."""
        self.capsys.readouterr()
        code = run_app([str(argument) for argument in arguments])
        out, err = self.capsys.readouterr()
        return code, out, err

    def run(self, *arguments: str | Path, output: str = "run") -> tuple[int, dict[str, Any]]:
        """Run the main job over this folder's config; exit code and scores."""
        paths: list[str | Path] = ["--config-file-path", self.folder / "config.yaml", "-o", self.folder / output, "-q"]
        if (self.folder / "samples.jsonl").exists():
            paths += ["--test-file-path", self.folder / "samples.jsonl"]
        code, _, err = self(*paths, *arguments)
        scores = self.folder / output / "scores.json"
        assert scores.exists(), err
        return code, json.loads(scores.read_text(encoding="utf-8"))


def _sample(number: int) -> str:
    tool = {
        "type": "function",
        "function": {
            "name": "look_up",
            "parameters": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]},
        },
    }
    body = {"messages": [{"role": "user", "content": f"Please look up record {number}."}], "tools": [tool]}
    return json.dumps(body) + "\n"


@pytest.fixture
def bench(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.chdir(tmp_path)
    return Bench(tmp_path, capsys)
