"""Whole runs by the product's own command line against servers that nobody here wrote, and what they left."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from costs import PATIENCE_S
from world_servers import ROOT

TOOL = {
    "type": "function",
    "function": {
        "name": "look_up",
        "description": "Look up a record.",
        "parameters": {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]},
    },
}
_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@dataclass(frozen=True)
class Place:
    """A folder with a configuration, samples and runs."""

    folder: Path

    def configure(self, addresses: Mapping[str, str], settings: Mapping[str, Any] | None = None) -> None:
        """Entries by label; ``settings`` hold for each of them."""
        entries = [
            {"name": "simulated", "label": label, "model_id": "simulated-model", "url": url, "validator": "openai"}
            | {"is_baseline": place == 0, **(settings or {})}
            for place, (label, url) in enumerate(addresses.items())
        ]
        # JSON is YAML.
        text = json.dumps({"simulated-model": {"vendors": entries}})
        (self.folder / "config.yaml").write_text(text, encoding="utf-8")

    def samples(self, count: int, *, tools: bool = True) -> None:
        """Write ``count`` different questions."""
        with (self.folder / "samples.jsonl").open("w", encoding="utf-8") as out:
            for number in range(count):
                row = {"messages": [{"role": "user", "content": f"Please look up record {number}."}]}
                out.write(json.dumps(row | ({"tools": [TOOL]} if tools else {})) + "\n")

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        """Begin a run into the folder ``run``, without retries and with no proxy but a given one."""
        command = [
            sys.executable, "-m", "vendor_verifier.cli.main", "run", "--config-file-path", "config.yaml",
            "--test-file-path", "samples.jsonl", "-o", "run", "--quiet", "--history", "none",
            "--retries", "0", "--baseline-repeats", "1", *arguments,
        ]  # fmt: skip
        known = {name: value for name, value in os.environ.items() if name.lower() not in _PROXIES}
        return subprocess.Popen(
            command, cwd=self.folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**known, "PYTHONPATH": str(ROOT), **environment},
        )  # fmt: skip

    def run(self, *arguments: str, **environment: str) -> tuple[int, str]:
        """Run to the end: exit code, and all that was printed."""
        with self.start(*arguments, **environment) as process:
            try:
                out, err = process.communicate(timeout=3 * PATIENCE_S)
            finally:
                process.kill()
        return process.returncode, out + err

    def records(self) -> list[dict[str, Any]]:
        path = self.folder / "run" / "records.jsonl"
        return [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []

    def asked(self) -> dict[str, list[dict[str, Any]]]:
        """The messages that were sent, by sample."""
        lines = (self.folder / "run" / "samples" / "trigger.jsonl").read_bytes().splitlines()
        return {sample["id"]: sample["turn"]["messages"] for sample in map(json.loads, lines)}

    def attempts(self) -> list[dict[str, Any]]:
        """Every attempt of every record."""
        return [attempt for record in self.records() for turn in record["turns"] for attempt in turn["attempts"]]

    def failures(self) -> Counter[str]:
        """How many attempts failed, by kind."""
        return Counter(one["failure"]["kind"] for one in self.attempts() if one.get("failure"))

    def vendors(self) -> dict[str, Any]:
        """The figures of every vendor, by label."""
        found = json.loads((self.folder / "run" / "scores.json").read_text(encoding="utf-8"))
        vendors: dict[str, Any] = found["models"]["simulated-model"]["vendors"]
        return vendors
