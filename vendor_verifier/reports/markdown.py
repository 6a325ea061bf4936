"""report.md: what to do, who matches and why not, then the figures and conditions behind it. No raw HTML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from vendor_verifier.records.results import FACETS, WORST_FIRST, FacetName, ModelResult, Status, VendorResult
from vendor_verifier.reports.escape import MAX_SENTENCE, markdown, markdown_code
from vendor_verifier.reports.formats import FACET_TITLES, STATUS_SIGNS, Table
from vendor_verifier.reports.tables import INCOMPLETE, ModelTables, conditions
from vendor_verifier.scoring.figures import ScoredRun
from vendor_verifier.text import listed

_MOST_LISTED = 200
_LABEL_LENGTH, _CELL_LENGTH = 80, 500


def render(scored: ScoredRun, models: Mapping[str, ModelTables]) -> str:
    """The whole page, ending in one newline."""
    report = scored.report
    lines = [f"# Run {markdown(report.run)}"]
    lines += [] if report.complete else ["", INCOMPLETE]
    for name, model in report.models.items():
        lines += ["", f"## {markdown(name)}", "", _sentence(model.choice.text) if model.vendors else "No vendors."]
        if model.vendors:
            lines += _model(models[name], model)
    lines += _block("## Warnings", _bullets(report.warnings))
    lines += _block("## Defects of the samples", _bullets(report.dataset))
    lines += _block("## Not run", _bullets(f"{name}: {why}" for name, why in report.not_run.items()))
    lines += _block("## Conditions of the run", _bullets(conditions(scored)))
    return "\n".join(lines) + "\n"


def _model(tables: ModelTables, model: ModelResult) -> list[str]:
    baseline = "There is no baseline." if model.baseline is None else f"The baseline is {markdown(model.baseline)}."
    lines = _block("### Verdict", [*_table(tables.verdicts()), "", *_reasons(model)], baseline)
    for table in (tables.ranking, *tables.sections):
        lines += _block(f"### {markdown(table.title)}", _table(table), table.note)
    return lines


def _table(table: Table) -> list[str]:
    """A GitHub table with everything escaped."""
    lines = [[markdown(text, _LABEL_LENGTH) for text in table.heads]]
    lines += [
        [markdown(name, _LABEL_LENGTH), *(markdown(text, _CELL_LENGTH) for text in texts)]
        for name, *texts in table.texts()
    ]
    drawn = ["| " + " | ".join(line) + " |" for line in lines]
    return [drawn[0], "|" + "---|" * len(lines[0]), *drawn[1:]]


def _reasons(model: ModelResult) -> list[str]:
    """A line for each reason of a facet, the worst first, with its vendors and the command that shows it."""
    found: dict[tuple[Status, FacetName, str], list[VendorResult]] = {}
    for vendor in model.vendors.values():
        for name, facet in vendor.verdict.facets.items():
            if facet.status not in ("matches", "reference"):
                found.setdefault((facet.status, name, facet.reason), []).append(vendor)
    lines = []
    for key in sorted(found, key=lambda key: (WORST_FIRST.index(key[0]), FACETS.index(key[1]))):
        (status, name, reason), vendors = key, found[key]
        who = listed([markdown(each.label) for each in vendors], most=10)
        line = f"- {STATUS_SIGNS[status]} {FACET_TITLES[name]} of {who}: {_sentence(reason)}"
        command = vendors[0].verdict.facets[name].command
        lines.append(f"{line} {markdown_code(command)}" if command else line)
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
