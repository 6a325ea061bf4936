"""report.md: what to do, who matches and why not, then the figures and conditions behind it. No raw HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from vendor_verifier.records.results import ModelResult
from vendor_verifier.reports import formats, tables
from vendor_verifier.reports.escape import MAX_SENTENCE, markdown, markdown_code
from vendor_verifier.reports.table import markdown_lines
from vendor_verifier.scoring.scored_run import ScoredRun

_MOST_LISTED = 200


def render(scored: ScoredRun) -> str:
    """The whole page, ending in one newline."""
    report = scored.report
    lines = [f"# Run {markdown(report.run)}"]
    lines += [] if report.complete else ["", tables.INCOMPLETE]
    for name, model in report.models.items():
        lines += ["", f"## {markdown(name)}", "", _sentence(model.choice.text) if model.vendors else "No vendors."]
        if model.vendors:
            lines += _model(scored, name, model)
    lines += _block("## Warnings", _bullets(report.warnings))
    lines += _block("## Defects of the samples", _bullets(report.dataset))
    lines += _block("## Not run", _bullets(f"{name}: {why}" for name, why in report.not_run.items()))
    lines += _block("## Conditions of the run", _bullets(tables.conditions(scored)))
    return "\n".join(lines) + "\n"


def _model(scored: ScoredRun, name: str, model: ModelResult) -> list[str]:
    baseline = "There is no baseline." if model.baseline is None else f"The baseline is {markdown(model.baseline)}."
    lines = _block("### Verdict", [*markdown_lines(tables.verdicts(model)), "", *_reasons(model)], baseline)
    for table in (tables.ranking(model), *tables.sections(scored, name)):
        lines += _block(f"### {markdown(table.title)}", markdown_lines(table), table.note)
    return lines


def _reasons(model: ModelResult) -> list[str]:
    """A line for each facet that has something to say, the worst vendor first, with the command that shows it."""
    lines = []
    for vendor in reversed(tables.by_verdict(model)):
        for name, facet in vendor.verdict.facets.items():
            if facet.status in ("matches", "reference"):
                continue
            title = f"{formats.STATUS_SIGNS[facet.status]} {markdown(vendor.label)}, {formats.FACET_TITLES[name]}"
            command = f" {markdown_code(facet.command)}" if facet.command else ""
            lines.append(f"- {title}: {formats.STATUS_WORDS[facet.status]}. {_sentence(facet.reason)}{command}")
    return lines


def _sentence(text: str) -> str:
    return markdown(text, MAX_SENTENCE)


def _bullets(texts: Iterable[str]) -> list[str]:
    found = list(texts)
    lines = [f"- {_sentence(text)}" for text in found[:_MOST_LISTED]]
    return [*lines, f"- … {len(found) - _MOST_LISTED} more"] if len(found) > _MOST_LISTED else lines


def _block(title: str, body: Sequence[str], note: str = "") -> list[str]:
    """A titled block with blank lines around its parts; nothing without a body."""
    if not body:
        return []
    return ["", title, "", *([note, ""] if note else []), *body]
