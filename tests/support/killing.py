"""What the tests of interrupted runs share: a bench with simulated vendors, and what two runs must have in common."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vendor_verifier.records.record import Record, supersedes
from vendor_verifier.store import RunFolder

HARNESS = Path(__file__).parent / "kill_harness.py"
# Vendors whose every answer at temperature 0 is a function of the question and the seed.
PERSONAS = ("faithful", "quantised")
_MEASURED_BY_CONTENT = ("f1", "success_rate", "schema_accuracy", "avg_tokens", "counts", "failures")


@contextmanager
def simulated() -> Iterator[str]:
    """The base address of simulated vendors in a process of their own."""
    command = [sys.executable, "-m", "vendor_verifier.cli.main", "simulate", "--port", "0", "--seed", "7"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().removeprefix("simulated vendors at ").strip()
        finally:
            process.terminate()
            process.wait(timeout=10)


@dataclass(frozen=True)
class Bench:
    """A folder with a config and samples for the main job."""

    folder: Path
    samples: int

    def prepare(self, base: str) -> None:
        """Write the config for the vendors at ``base``, and the samples."""
        lines = ["simulated-model:", "  vendors:"]
        for persona in PERSONAS:
            lines.append(
                f"    - {{name: {persona}, model_id: simulated-model, url: '{base}/{persona}/v1', validator: openai"
                + (", is_baseline: true}" if persona == "faithful" else "}")
            )
        (self.folder / "config.yaml").write_text("\n".join(lines) + "\n")
        (self.folder / "samples.jsonl").write_text("".join(map(_sample, range(self.samples))))

    def arguments(self, output: Path, *more: str) -> list[str]:
        """The main job into ``output``; goes on with a run that is there."""
        again = ["--incremental"] if (output / "manifest.json").exists() else []
        return [
            "--config-file-path", str(self.folder / "config.yaml"),
            "--test-file-path", str(self.folder / "samples.jsonl"),
            "-o", str(output), "--quiet", "--retries", "0", "--baseline-repeats", "1", "--history", "none",
            "--temperature", "0",
            *again, *more,
        ]  # fmt: skip

    @property
    def planned(self) -> int:
        return self.samples * len(PERSONAS)


def _sample(number: int) -> str:
    schema = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
    tool = {"type": "function", "function": {"name": "look_up", "parameters": schema}}
    asked = f"Please look up record {number}." if number % 4 else f"How are you, friend number {number}?"
    return json.dumps({"messages": [{"role": "user", "content": asked}], "tools": [tool]}) + "\n"


def play(warm: Sequence[str], jobs: Sequence[dict[str, Any]]) -> list[int]:
    """Exit codes of the jobs, in order, all from one process that ran ``warm`` first."""
    jobs = [{"arguments": list(warm)}, *jobs]
    done = subprocess.run(
        [sys.executable, str(HARNESS)], input=json.dumps(list(jobs)), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    codes: list[int] = json.loads(done.stdout)
    return codes[1:]


def final_records(folder: Path) -> dict[tuple[str, str, int], Record]:
    """The final record under each key, by (label, sample, repetition); every line must be readable."""
    bad: list[str] = []
    standing: dict[tuple[str, str, int], Record] = {}
    for record in RunFolder(folder).read_records(lambda line, reason: bad.append(f"{line}: {reason}")):
        key = (record.label, record.sample, record.repetition)
        if key not in standing or supersedes(record, standing[key]):
            standing[key] = record
    assert bad == []
    return standing


def outcome(folder: Path) -> dict[str, Any]:
    """All of a run that does not depend on time: answers, failures, and the scores taken from them."""
    answers = {}
    for key, record in final_records(folder).items():
        final = record.final
        assert final is not None
        said = final.response
        answers[key] = (
            final.failure.kind if final.failure else None,
            (said.text, said.reasoning, [(call.name, call.arguments) for call in said.tool_calls]) if said else None,
        )
    scores = json.loads((folder / "scores.json").read_text())
    figures = {
        label: {name: vendor[name] for name in _MEASURED_BY_CONTENT}
        for label, vendor in scores["models"]["simulated-model"]["vendors"].items()
    }
    return {"answers": answers, "figures": figures}
