"""report.md: the page's ranking per model, then everything needed to doubt it. GitHub Markdown without raw HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from vendor_verifier.reports import markdown_tables as tables
from vendor_verifier.reports import sentences
from vendor_verifier.reports.escape import markdown
from vendor_verifier.reports.markdown_judgement import parts as judged_parts
from vendor_verifier.reports.markdown_tables import regions
from vendor_verifier.reports.run_conditions import clock_lines, load_lines, pace_lines
from vendor_verifier.values.score import ModelScore, Report

_MAX_LISTED = 200
_CHECKS_NOTE = (
    "Not offered: the protocol has no word for it, or the vendor refuses it and answers without it. Not measurable: "
    "nothing was shown. Neither counts."
)
_GOODPUT_NOTE = (
    "Requests whose own figures keep every SLO ÷ seconds from the first send to the last end. A failed request keeps "
    "none; one that could not be measured is not good, and counted apart. The last columns: requests that kept each."
)
_REGIONS_NOTE = (
    "Where a record's worker says it stood. Success is of the records made there; TTFT and end to end are milliseconds "
    "of successes, n says of how many, and hold the way from that region to the vendor."
)
_RESENT_NOTE = (
    "A kept connection ended within a moment of sending and before any byte of an answer: the request went out once "
    "more, on a new connection. It is neither a failure nor a retry; the vendor may have read, and billed, both."
)
_MEASURED_NOTE = "Each metric: how many of the planned samples it was taken over."


def render(report: Report) -> str:
    """The whole page, ending in one newline."""
    lines = [f"# Vendor verification: {tables.label(report.run)}", "", sentences.summary(report, tables.label)]
    lines += _section("## Warnings", _bullets(sentences.cautions(report)))
    for model in report.models:
        lines += _model(model, report)
    lines += _section("## Defects of the samples themselves", _bullets(report.dataset))
    lines += _section("## How far to trust the clock", _bullets(clock_lines(report)))
    lines += _section("## How to read this", _bullets(_reading(report), escape=False))
    return "\n".join(lines) + "\n"


def _section(title: str, body: Sequence[str], note: str | None = None) -> list[str]:
    """A titled block with blank lines around its parts; nothing at all without a body."""
    if not body:
        return []
    return ["", title, "", *([note, ""] if note else []), *body]


def _bullets(texts: Iterable[str], *, escape: bool = True) -> list[str]:
    texts = list(texts)
    lines = [f"- {markdown(text) if escape else text}" for text in texts[:_MAX_LISTED]]
    if len(texts) > _MAX_LISTED:
        lines.append(f"- and {len(texts) - _MAX_LISTED} more, in scores.json")
    return lines


def _model(model: ModelScore, report: Report) -> list[str]:
    if not model.vendors:
        return _section(f"## {tables.label(model.model)}", ["No vendors."])
    notes = sentences.footnotes(model)
    verdict = report.verdicts.get(model.model)
    lines = _section(f"## {tables.label(model.model)}", tables.ranking(model), _baseline(model))
    # A paragraph each: a line break in Markdown would need trailing spaces that editors strip.
    lines += [line for note in notes for line in ("", note)]
    for title, body in judged_parts(model, verdict):
        lines += _section(f"### {title}", body)
    lines += _section("### Ranks behind the IRF", tables.ranks(model, report))
    lines += _section("### How much was measured", tables.measured(model), _MEASURED_NOTE)
    lines += _section("### Sent again", tables.sent_again(model), _RESENT_NOTE)
    lines += _section("### Triggering against the baseline", tables.triggering(model), _trigger_note(report))
    lines += _section("### Tool-call arguments", tables.arguments(model), _schema_note(report))
    lines += _section("### Speed", tables.speed(model))
    lines += _section("### Goodput", tables.goodput(model), _GOODPUT_NOTE)
    load = [*load_lines(model, report, tables.label), *pace_lines(model, tables.label)]
    lines += _section("### Load", [f"- {line}" for line in load])
    lines += _section("### Latency by region", regions(model), _REGIONS_NOTE)
    lines += _section("### Distributions", tables.distributions(model))
    for suite in tables.suite_names(model):
        lines += _section(f"### Evaluation {tables.label(suite)}", tables.suite_values(model, suite))
        lines += _section(f"#### {tables.label(suite)} by group", tables.suite_groups(model, suite))
        lines += _section(f"#### {tables.label(suite)} by check", tables.feature_checks(model, suite), _CHECKS_NOTE)
    lines += _section("### Failures and anomalies", tables.behaviour(model))
    lines += _section("### Who answered", tables.identity(model))
    return lines


def _baseline(model: ModelScore) -> str:
    return f"Baseline: {tables.label(model.baseline)}." if model.baseline is not None else "Baseline: none."


def _trigger_note(report: Report) -> str:
    how = "counts against it as a miss" if report.undecided == "missed" else "drops the pair"
    note = f"A failed, truncated or otherwise undecided answer of the vendor {how} (`--undecided {report.undecided}`). "
    note += "A pair whose baseline is undecided or missing is dropped."
    if report.repeat > 1:
        note += " Counts are summed over all ordered pairs (baseline run, vendor run); F1 is the mean of their F1s."
    return note


def _schema_note(report: Report) -> str:
    return f"The ranking uses the {report.schema_policy} policy, per call."


def _reading(report: Report) -> list[str]:
    """Formulas in the words of docs/metrics.md; nothing here comes from a vendor."""
    names = ", ".join(f"`{name}`" for name in report.rank_metrics if name.isidentifier())
    return [
        f"**IRF** = Σ over the metrics a vendor has of 1 ÷ (rank + {report.k}). Rank 1 is best, tied vendors share the "
        f"average rank. Ranked here: {names or 'nothing'}. Compare IRFs only within one model and one run: they depend "
        "on who else was measured.",
        "**Success rate** = succeeded ÷ planned, after retries; the first-attempt rate counts no retried sample.",
        "**F1** = 2·P·R ÷ (P + R), P = TP ÷ (TP + FP), R = TP ÷ (TP + FN); positive = a complete tool call. It "
        "measures agreement with the baseline about *when* to call, and a rerun of the baseline itself would not "
        "reach 1.",
        "**Schema accuracy** = valid calls ÷ calls. Lenient reads empty arguments as `{}` and leaves out calls "
        "whose schema is itself unusable; strict charges both to the vendor.",
        "**Avg tokens** = mean of input + output tokens over answers that reported usage. Vendors count with their own "
        "tokenizers, and less is ranked better even when a vendor under-reports.",
        "**TTFT** = request sent → first non-empty text, reasoning or tool-call piece, successful attempts only.",
        "**TPS** = Σ (output tokens − those of the first chunk) ÷ Σ (last − first token time). Answers that came in "
        "one piece or were buffered are not measured.",
        "“–” was never measured. It is not zero and is not ranked.",
    ]
