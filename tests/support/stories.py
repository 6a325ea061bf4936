"""Scored runs of simulated vendors, without sockets or clocks."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from persona_records import Vendor, run_folder

from vendor_verifier.features.simulate.answer_key import known_answers
from vendor_verifier.loaders import read_dataset_file
from vendor_verifier.pipeline.bfcl.data import answered_rows
from vendor_verifier.pipeline.score import score_folder
from vendor_verifier.records.plan import Task
from vendor_verifier.records.request import Turn
from vendor_verifier.records.sample import Sample
from vendor_verifier.resources import shipped
from vendor_verifier.sample_store import open_lines
from vendor_verifier.scoring.scored_run import ScoredRun

CITY = {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1, "maximum": 7}}
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {"type": "object", "properties": CITY, "required": ["city", "days"]},
    },
}
CLOCK = {"type": "function", "function": {"name": "clock_now", "parameters": {"type": "object", "properties": {}}}}


def questions(count: int) -> list[Sample]:
    """Questions of different lengths about weather and time."""
    texts = (f"How is the weather in town {number}? {'Please. ' * (number % 40)}" for number in range(count))
    turns = (Turn(({"role": "user", "content": text},), (WEATHER, CLOCK)) for text in texts)
    return [Sample(f"s{number}", turn) for number, turn in enumerate(turns)]


def evaluation(suite: str) -> Sequence[Sample]:
    """The rows that ship with an evaluation."""
    if suite == "bfcl":
        return answered_rows("shipped")
    path = shipped(f"datasets/{suite}.jsonl")
    return read_dataset_file(open_lines(path), dataset=path.name, file=path).samples


def played(
    *personas: str, baseline: str | None = "faithful", repeats: int = 2, samples: int = 315, suite: str = "trigger"
) -> ScoredRun:
    """A scored run of these personas, labelled by their names, with the baseline ``official``.

    ``a=faithful`` labels the faithful one ``a``.
    """
    asked = questions(samples) if suite == "trigger" else evaluation(suite)
    key = known_answers([Task(suite, asked)])
    named = [(name.partition("=")[0], name.rpartition("=")[2]) for name in personas]
    vendors = [Vendor(label, persona, key=key, crowded=True) for label, persona in named]
    if baseline is not None:
        vendors.insert(0, Vendor("official", baseline, repeat=repeats, key=key))
    with tempfile.TemporaryDirectory() as place:
        folder = run_folder(Path(place) / "run", vendors, asked, suite, None if baseline is None else 0)
        return score_folder(folder)
