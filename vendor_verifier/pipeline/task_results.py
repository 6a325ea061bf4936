"""``results.json``: every answer of a run as its evaluation judges it, with the fields of the evaluation's page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vendor_verifier.records.record import Record, Score
from vendor_verifier.records.sample import Sample
from vendor_verifier.store import RunFolder
from vendor_verifier.suites import suite_kind

if TYPE_CHECKING:
    from vendor_verifier.scoring.figures import ScoredRun

NAME = "results.json"
_GROUPS = ("category", "difficulty", "call_type")


def results_file(output: Path | None) -> Path | None:
    """The file of results that ``-o`` names: one that ends in ``.json`` and is no folder; else None."""
    return output if output is not None and output.suffix == ".json" and not output.is_dir() else None


def run_folder(output: Path | None) -> Path | None:
    """The run folder that ``-o`` names, if it names one and no file of results."""
    return output if results_file(output) is None else None


def scores_tasks(suite: str) -> bool:
    """Whether the evaluation gives every answer a score of its own."""
    kind = suite_kind(suite)
    return kind is not None and kind.ranks_by is not None and not kind.diagnostic


class TaskResults:
    """The rows of a run, taken one by one; of several records under one key a success replaces a failure."""

    def __init__(self) -> None:
        # (suite, line, sample, repetition, model, label) → (succeeded, the row as JSON)
        self._rows: dict[tuple[str, int, str, int, str, str], tuple[bool, bytes]] = {}

    def take(self, record: Record, sample: Sample, score: Score) -> None:
        """Add one record of the plan."""
        line = sample.source.line if sample.source else 0
        key = (record.suite, line, record.sample, record.repetition, record.model, record.label)
        known = self._rows.get(key)
        if known is None or (record.succeeded and not known[0]):
            self._rows[key] = record.succeeded, json.dumps(_row(record, sample, score), default=str).encode()

    def write(self, folder: RunFolder, scored: ScoredRun, also: Path | None = None) -> None:
        """Write the file into the folder, and the same to another file if one is named.

        Raises:
            StorageError: the disk refused.
        """
        folder.write(NAME, self._pieces(scored))
        if also is not None:
            other = RunFolder(also.absolute().parent)
            other.create()
            other.write(also.name, self._pieces(scored))

    def _pieces(self, scored: ScoredRun) -> Iterator[bytes]:
        head = {"run": scored.report.run, "complete": scored.report.complete, "summary": _summary(scored)}
        yield json.dumps(head, indent=1).encode().removesuffix(b"\n}") + b',\n "tasks": ['
        for at, key in enumerate(sorted(self._rows)):
            yield (b",\n  " if at else b"\n  ") + self._rows[key][1]
        yield b"\n ]\n}\n"


def _row(record: Record, sample: Sample, score: Score) -> dict[str, Any]:
    failure = next((each.failure for each in record.finals if each.failure is not None), None)
    own = sample.tags.get("id")
    return {
        "task_id": record.sample if own is None else str(own),
        "sample": record.sample,
        "repetition": record.repetition,
        "model": record.model,
        "vendor": record.label,
        "suite": record.suite,
        **{name: sample.tags[name] for name in _GROUPS if isinstance(sample.tags.get(name), str)},
        "succeeded": record.succeeded,
        **({} if failure is None else {"failure": failure.kind}),
        "decision": score.decision,
        **({"calls": [[call.tool, call.verdict] for call in score.calls]} if score.calls else {}),
        **score.values,
        **score.details,
    }


def _summary(scored: ScoredRun) -> list[dict[str, Any]]:
    from vendor_verifier.scoring.breakdowns import group_scores

    groups = group_scores(scored.evaluations, scored.records)
    return [
        {
            "model": name,
            "vendor": label,
            "suite": suite,
            "tasks": result.planned,
            "judged": result.judged,
            **result.values,
            "groups": groups.get((name, label, suite), {}),
        }
        for name, model in scored.report.models.items()
        for label, vendor in model.vendors.items()
        for suite, result in vendor.suites.items()
    ]
