"""summary.md: the ranking for a CI job's summary page, kept below the size above which it would be refused whole.

GitHub refuses a step's summary above 1 MiB. Blocks are added in the order of their worth until one would not fit; what
is left out is said. All text of strangers is escaped as in report.md.
"""

from __future__ import annotations

from collections.abc import Iterator

from vendor_verifier.reports import cells, facts
from vendor_verifier.reports import markdown_tables as tables
from vendor_verifier.reports.escape import markdown
from vendor_verifier.values.score import ModelScore, Report

MAX_BYTES = 1_000_000
_MAX_WARNINGS = 20
_SIGNS = {"PASS": "✅", "FAIL": "❌", "UNDECIDED": "❔"}


def render(report: Report) -> str:
    """GitHub Markdown, at most 1,000,000 bytes of UTF-8, ending in one newline."""
    ending = "\n\nThis summary was shortened; the run's report.md holds everything.\n"
    text = ""
    for block in _blocks(report):
        longer = f"{text}\n\n{block}" if text else block
        if len((longer + ending).encode()) > MAX_BYTES:
            return text + ending
        text = longer
    return text + "\n"


def _blocks(report: Report) -> Iterator[str]:
    yield f"## Vendor verification: {tables.label(report.run)}"
    yield facts.summary(report, tables.label)
    cautions = facts.cautions(report)
    if cautions:
        shown = [f"> - {markdown(text)}" for text in cautions[:_MAX_WARNINGS]]
        shown += [f"> - and {len(cautions) - _MAX_WARNINGS} more"] if len(cautions) > _MAX_WARNINGS else []
        yield "\n".join(["> [!WARNING]", *shown])
    for model in report.models:
        if model.vendors:
            yield f"### {tables.label(model.model)}"
            yield "\n".join(tables.ranking(model))
            yield from facts.footnotes(model)
    for model in report.models:
        yield from _judged(model, report)
        yield from _failures(model)


def _judged(model: ModelScore, report: Report) -> Iterator[str]:
    verdict = report.verdicts.get(model.model)
    if verdict is None:
        return
    if verdict.gates:
        rows = [
            f"| {_SIGNS[gate.outcome]} {gate.outcome} | {tables.label(gate.label)} | {markdown(str(gate.threshold))} "
            f"| {markdown(gate.reason)} |"
            for gate in verdict.gates
        ]
        header = ["| Outcome | Vendor | Gate | Reason |", "|---|---|---|---|"]
        yield "\n".join([f"**Gates of {tables.label(model.model)}**", "", *header, *rows])
    if verdict.findings:
        lines = [f"- {tables.label(found.label)}: {markdown(found.statement)}" for found in verdict.findings]
        yield "\n".join([f"**Findings on {tables.label(model.model)}**", "", *lines])


def _failures(model: ModelScore) -> Iterator[str]:
    lines = [
        f"- {tables.label(vendor.label)}: {cells.tally(vendor.failures, tables.label)}"
        for vendor in model.vendors
        if vendor.failures
    ]
    if lines:
        yield "\n".join([f"**Failures of {tables.label(model.model)}**", "", *lines])
