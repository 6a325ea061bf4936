"""Runs of simulated vendors told as a buyer hears of them: the first line, the matrix, the exit code of a check."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from persona_records import Vendor, run_folder

from vendor_verifier.features.history.scheduled_check import judge_check
from vendor_verifier.features.simulate.answer_key import known_answers
from vendor_verifier.loaders import read_dataset_file
from vendor_verifier.pipeline.run import RunOutcome
from vendor_verifier.pipeline.score import score_folder
from vendor_verifier.pipeline.suites import rows_in
from vendor_verifier.records.plan import Task
from vendor_verifier.records.request import Turn
from vendor_verifier.records.sample import Sample
from vendor_verifier.records.score import Report
from vendor_verifier.reports.tables import markdown_lines
from vendor_verifier.reports.verdicts import SIGNS, first_line, matrix, reasons
from vendor_verifier.resources import shipped
from vendor_verifier.sample_store import open_lines
from vendor_verifier.store import RunFolder
from vendor_verifier.words import Texts

_ENGLISH = Texts()
_FACETS = ("model", "tool calls", "bill", "reliability", "speed")


CITY = {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1, "maximum": 7}}
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {"type": "object", "properties": CITY, "required": ["city", "days"]},
    },
}
CLOCK = {"type": "function", "function": {"name": "clock_now", "parameters": {"type": "object", "properties": {}}}}


@dataclass(frozen=True)
class Story:
    """All that a buyer reads first, as it is shown: ``matrix`` is verdict and facets by vendor, without signs.

    ``excerpt`` is the same as Markdown, with what speaks against whom.
    """

    first_line: str
    matrix: Mapping[str, Mapping[str, str]]
    exit_code: int
    excerpt: str

    def verdict(self, label: str) -> str:
        return self.matrix[label]["verdict"]

    def blemishes(self, label: str) -> dict[str, str]:
        """The facets that are anything else than as sold."""
        return {facet: word for facet, word in self.matrix[label].items() if facet in _FACETS and word != "as sold"}


def told(report: Report, folder: RunFolder) -> Story:
    """The story of a scored run of one model."""
    [model] = report.models
    shown = matrix(model, report.advice[model.model], _ENGLISH)
    words = {
        row.head: {
            title.lower(): cell.text.partition(" ")[2] for title, cell in zip(shown.titles, row.cells, strict=True)
        }
        for row in shown.rows
    }
    checked = judge_check(RunOutcome(folder, report), (), None, ())
    line = first_line(report, _ENGLISH, str)
    against = [
        f"- {verdict.label}, {_ENGLISH(f'facet_{facet.name}')}: {SIGNS[facet.status]} "
        f"{_ENGLISH(f'status_{facet.status}')}: {facet.reason}"
        for verdict, facet, _ in reasons(report.advice[model.model], "run")
    ]
    excerpt = "\n".join([f"> {line}", "", *markdown_lines(shown), *([""] if against else []), *against])
    return Story(line, words, checked.exit_code, excerpt)


def questions(count: int) -> list[Sample]:
    """Questions of different lengths about weather and time."""
    texts = (f"How is the weather in town {number}? {'Please. ' * (number % 40)}" for number in range(count))
    turns = (Turn(({"role": "user", "content": text},), (WEATHER, CLOCK)) for text in texts)
    return [Sample(f"s{number}", turn) for number, turn in enumerate(turns)]


def evaluation(suite: str) -> Sequence[Sample]:
    """The rows that ship with an evaluation."""
    if suite == "bfcl":
        return rows_in("shipped")
    path = shipped(f"datasets/{suite}.jsonl")
    return read_dataset_file(open_lines(path), dataset=path.name, file=path).samples


def played(
    *personas: str, baseline: str | None = "faithful", repeats: int = 2, samples: int = 120, suite: str = "trigger"
) -> Story:
    """The story of a run of these personas, labelled by their names, beside the baseline ``official``.

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
        return told(score_folder(folder), folder)
