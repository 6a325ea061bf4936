"""What the tests of interrupted runs share: their config, jobs in forked children, and what two runs have in common."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from workbench import ONCE, Bench

from vendor_verifier.records.record import Record, supersedes
from vendor_verifier.store import RunFolder

HARNESS = Path(__file__).parent / "kill_harness.py"
# Vendors whose every answer at temperature 0 is a function of the question and the seed.
PERSONAS = ("faithful", "quantised")
_MEASURED_BY_CONTENT = ("f1", "success_rate", "schema_accuracy", "avg_tokens", "counts", "failures")


def prepare(bench: Bench, base: str, samples: int) -> int:
    """Write the config for the vendors at ``base``, and the samples; the number of records to come."""
    bench.configure(*(f"{persona}: {base}/{persona}/v1" for persona in PERSONAS), extra=ONCE, temperature=0)
    bench.samples(samples)
    return samples * len(PERSONAS)


def job(bench: Bench, output: Path, *more: str) -> list[str]:
    """The main job into ``output``; goes on with a run that is there."""
    again = ["--incremental"] if (output / "manifest.json").exists() else []
    return bench.words(output, "--history", "none", *again, *more)


Play = Callable[[Sequence[dict[str, Any]]], list[int]]


@contextmanager
def harness(*warm: str) -> Iterator[Play]:
    """A function that plays jobs in order and gives their exit codes, all from one process that ran ``warm`` first."""
    command = [sys.executable, str(HARNESS), *warm]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def play(jobs: Sequence[dict[str, Any]]) -> list[int]:
            print(json.dumps(jobs), file=process.stdin, flush=True)
            codes: list[int] = json.loads(process.stdout.readline())  # type: ignore[union-attr]
            return codes

        yield play
        process.stdin.close()


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
