"""failed_samples.jsonl: a line for every failed answer and its cause, which scores.json only counts."""

from __future__ import annotations

import json
from collections.abc import Iterator

from vendor_verifier.records.score import Report


def render(report: Report) -> str:
    """ASCII JSON lines by model, vendor and cause; empty where nothing failed."""
    return "".join(json.dumps(row) + "\n" for row in rows(report))


def rows(report: Report) -> Iterator[dict[str, object]]:
    """``model``, ``vendor`` (its label), ``cause``, ``sample`` and ``repetition`` of every failed answer."""
    for model, verdict in report.verdicts.items():
        for label, counts in verdict.blame.items():
            for cause, units in counts.samples.items():
                for sample, repetition in units:
                    yield {
                        "model": model,
                        "vendor": label,
                        "cause": cause,
                        "sample": sample,
                        "repetition": repetition,
                    }
