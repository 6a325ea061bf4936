"""report.md: the page's ranking per model, then the figures and conditions behind it. No raw HTML."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from vendor_verifier.records.judgement import Finding
from vendor_verifier.records.score import ModelScore, Report
from vendor_verifier.records.verdict import Advice
from vendor_verifier.reports import sentences, vendor_tables
from vendor_verifier.reports.escape import MAX_SENTENCE, markdown
from vendor_verifier.reports.judged import judged_sections
from vendor_verifier.reports.number_format import suites_of
from vendor_verifier.reports.ranking import ranking
from vendor_verifier.reports.run_conditions import clock_lines, load_lines, pace_lines
from vendor_verifier.reports.tables import Section, Table, markdown_label, markdown_lines
from vendor_verifier.reports.verdicts import advised, first_line, markdown_reasons, matrix
from vendor_verifier.words import Texts

_MAX_LISTED = 200
_MAX_FINDINGS = 100
_JUDGED = ("stability", "noise", "gates", "money", "blame", "findings")
_READING = ("irf", "success", "f1", "schema", "tokens", "ttft", "tps")


def render(report: Report) -> str:
    """The whole page, ending in one newline."""
    t = Texts("wide")
    lines = [f"# {t('md_title', run=markdown_label(report.run))}", "", first_line(report, t, markdown_label)]
    for model, advice in advised(report):
        lines += _verdicts(model, advice, report, t)
    lines += _block(f"## {t('warnings')}", _bullets(sentences.cautions(report, t), t))
    for model in report.models:
        lines += _model(model, report, t)
    lines += _block(f"## {t('dataset')}", _bullets((defect for defect in report.dataset), t))
    lines += _block(f"## {t('clock')}", _bullets(clock_lines(report, t), t))
    names = ", ".join(f"`{name}`" for name in report.rank_metrics if name.isidentifier()) or t("nothing_ranked")
    reading = [t(f"reading_{name}", k=report.k, metrics=names) for name in _READING]
    lines += _block(
        f"## {t('method')}",
        [f"- {line}" for line in (*reading, *sentences.usual_lines(report, t), t("method_missing"))],
    )
    return "\n".join(lines) + "\n"


def _verdicts(model: ModelScore, advice: Advice, report: Report, t: Texts) -> list[str]:
    """The matrix of one model, and below it what speaks against a vendor with the command that shows it."""
    against = markdown_reasons(advice, report, t)
    title = f"## {t('verdict')}: {markdown_label(model.model)}"
    body = markdown_lines(matrix(model, advice, t))
    return _block(title, [*body, "", *against] if against else body)


def _block(title: str, body: Sequence[str], note: str | None = None) -> list[str]:
    """A titled block with blank lines around its parts; nothing at all without a body."""
    if not body:
        return []
    return ["", title, "", *([note, ""] if note else []), *body]


def _bullets(texts: Iterable[str], t: Texts, most: int = _MAX_LISTED) -> list[str]:
    texts = list(texts)
    lines = [f"- {markdown(text, MAX_SENTENCE)}" for text in texts[:most]]
    return [*lines, f"- {t('and_more', n=len(texts) - most)}"] if len(texts) > most else lines


def _model(model: ModelScore, report: Report, t: Texts) -> list[str]:
    title = f"## {markdown_label(model.model)}"
    if not model.vendors:
        return _block(title, [t("no_vendors")])
    baseline = t("baseline_none") if model.baseline is None else t("baseline_is", label=markdown_label(model.baseline))
    lines = _block(title, markdown_lines(ranking(report, [model], t)), baseline)
    # A paragraph each: a line break in Markdown would need trailing spaces that editors strip.
    notes = [*sentences.footnotes(model, t), *sentences.band_lines(model, t, markdown_label)]
    lines += [line for note in notes for line in ("", note)]
    judged = judged_sections(model, report.verdicts.get(model.model), t, markdown_label)
    for section in sorted(judged, key=lambda section: _JUDGED.index(section.id)):
        lines += _section(section, report.verdicts[model.model].findings, t)
    for table, note in _measurements(model, report, t):
        lines += _block(f"### {table.caption}", markdown_lines(table), note)
        if table.caption == t("goodput"):
            load = [*load_lines(model, report, t, markdown_label), *pace_lines(model, t, markdown_label)]
            lines += _block(f"### {t('load')}", [f"- {line}" for line in load])
    for suite in suites_of(model):
        name = {"name": markdown_label(suite)}
        lines += _block(f"### {t('evaluation', **name)}", markdown_lines(vendor_tables.suite_values(model, suite, t)))
        lines += _block(f"#### {t('by_group', **name)}", markdown_lines(vendor_tables.suite_groups(model, suite, t)))
        checks = markdown_lines(vendor_tables.feature_checks(model, suite, t))
        lines += _block(f"#### {t('by_check', **name)}", checks, t("checks_note"))
    for table in (vendor_tables.behaviour(model, t), vendor_tables.identity(model, t)):
        lines += _block(f"### {table.caption}", markdown_lines(table))
    return lines


def _measurements(model: ModelScore, report: Report, t: Texts) -> Iterator[tuple[Table, str | None]]:
    """The tables of measurements, each with a note for reading it."""
    pairs = t("trigger_pairs") if report.repeat > 1 else ""
    undecided = t("trigger_note", how=t(f"undecided_{report.undecided}"), option=report.undecided)
    yield vendor_tables.ranks(model, report, t), None
    yield vendor_tables.amounts(model, t), t("amounts_note")
    yield vendor_tables.sent_again(model, t), t("sent_again_note")
    yield vendor_tables.triggering(model, t), undecided + pairs
    yield vendor_tables.arguments(model, t), t("arguments_note", policy=report.schema_policy)
    yield vendor_tables.speed(model, t), None
    yield vendor_tables.goodput(model, t), t("goodput_note")
    yield vendor_tables.regions(model, t), t("regions_note")
    yield vendor_tables.distributions(model, t), None


def _section(section: Section, findings: Sequence[Finding], t: Texts) -> list[str]:
    """Sentences as a list, then tables; findings as a list, because each is a sentence."""
    body = [f"- {line}" for line in section.lines]
    for table in section.tables:
        body += [*([""] if body else []), *markdown_lines(table)]
    if section.id == "findings":
        statements = [f"{found.label}: {found.statement}" for found in findings]
        body = [
            f"{line} (`{found.name}`)"
            for line, found in zip(_bullets(statements, t, _MAX_FINDINGS), findings, strict=False)
        ]
        if len(findings) > _MAX_FINDINGS:
            body.append(f"- {t('and_more', n=len(findings) - _MAX_FINDINGS)}")
    return _block(f"### {section.title}", body, section.note)
